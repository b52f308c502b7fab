"""Cells of a recipe: what names their series and memory, what they are given, and in which order they run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from schemas.problem import Limits, Problem
from streams.engine.policies import NoPolicy, find
from streams.producing.sources import SourceLine
from streams.research.bench import matching
from streams.research.bench.matching import matched_limits
from streams.research.bench.plan import (
    Cell,
    Options,
    Planner,
    Source,
    has_traits,
    problem_of,
    sources,
    waits_for,
    with_limits,
)
from streams.research.bench.recipe import BadRecipe, Matched, Recipe
from streams.research.bench.speed import SPEED
from streams.runtime.embedded.intake import scope_of
from tests.streams.bench.worlds import always

STEADY = always(SPEED)
"""Finds the same policy under every name, of a version that stays."""
GAMES: dict[str, Any] = {"g": {"source": "game24:901-903"}}


def recipe(runs: Mapping[str, Any], data: Mapping[str, Any] = GAMES, **more: Any) -> Recipe:
    return Recipe.model_validate({"recipe": "r", "seeds": [3], "data": data, "runs": runs, **more})


def planner(
    made: Recipe, options: Options | None = None, *, by: Any = STEADY, backbones: str = "m"
) -> Planner:
    options = options or Options()
    return Planner(made, sources(made, options), options, by, backbones)


def one(run: Mapping[str, Any] | None = None, *, backbones: str = "m", options: Options | None = None,
        data: Mapping[str, Any] = GAMES, by: Any = STEADY, **more: Any) -> Cell:  # fmt: skip
    """The only cell of a recipe of one run."""
    made = recipe({"a": {"policy": "speed", **(run or {})}}, data, **more)
    [cell] = planner(made, options, by=by, backbones=backbones).cells()
    return cell


# ── What a cell is called by ─────────────────────────────────────────────────────────────────


def test_a_cell_has_the_same_name_in_every_build() -> None:
    """A bench goes on from its log alone: under another name it would be paid for again."""
    assert (one().plan.memory, one().series) == ("mc98cc8edba49", "mc98cc8edba49.1")


def test_all_that_an_outcome_hangs_on_is_in_a_cell_s_name() -> None:
    other = replace(SPEED, version="2")
    cells = [
        one(),
        one(backbones="n"),
        one(by=always(other)),
        one({"settings": {"rounds": 2}}),
        one({"limits": {"calls": 2}}),
        one({"order": "shuffled"}),
        one({"per_data": {"g": {"rounds": 3}}}),
        one(seeds=[4]),
        one(profile="service"),
        one(limits={"tokens": 5}),
        one(data={"g": {"source": "game24:901-904"}}),
        one(data={"g": {"source": "game24:902-904"}}),
        one(options=Options(problems=2)),
        one(data={"g": {"source": "game24:901-903", "perturb": "S5"}}),
    ]
    assert [cell.plan.perturb for cell in cells[-2:]] == [None, "S5"]
    assert len({cell.plan.memory for cell in cells}) == len(cells)


def test_nothing_else_is_in_it() -> None:
    plain = one()
    for alike in (
        one({"note": "Noted."}),
        one({"audit": True}),
        one({"per_data": {"g": {}}}),
        one(about="About.", paper="P"),
        one(data={"other": {"source": "game24:901-903", "note": "x"}}),
        one(options=Options(calls=None, seeds=5)),
    ):
        assert (alike.plan.memory, alike.series) == (plain.plan.memory, plain.series)
    twice = planner(recipe({"a": {"policy": "speed", "passes": 2}})).cells()
    assert [cell.series for cell in twice] == [f"{plain.plan.memory}.{at}" for at in (1, 2)]
    assert {cell.plan.memory for cell in twice} == {plain.plan.memory}, "passes share a memory"


def test_whose_tokens_are_the_limit_is_in_it() -> None:
    def memory(matched: Any, samples: int) -> str:
        runs = {
            "a": {"policy": "speed", "matched": matched},
            "b": {"policy": "speed", "settings": {"rounds": samples}},
        }
        return planner(recipe(runs)).cells()[0].plan.memory

    names = [
        memory(None, 1),
        memory({"run": "b"}, 1),
        memory({"run": "b"}, 2),
        memory({"run": "b", "of": "calls"}, 1),
    ]
    assert len({*names}) == 4
    assert memory(None, 1) == memory(None, 2)


def test_all_of_the_run_that_a_limit_is_taken_from_is_in_it() -> None:
    def memory(**of: Any) -> str:
        runs = {
            "a": {"policy": "speed", "matched": {"run": "b"}},
            "b": {"policy": "speed", **of},
        }
        return planner(recipe(runs), by=here).cells()[0].plan.memory

    def here(name: str) -> Any:
        if name != "speed":
            raise NoPolicy(name)
        return SPEED

    ways: tuple[Any, ...] = ({}, {"limits": {"calls": 2}}, {"order": "shuffled"}, {"passes": 2})
    assert len({memory(**each) for each in ways}) == len(ways)
    assert memory() == memory(note="in other words")
    assert memory(policy="own.py:P") != memory(), "also where its policy is not in this build"


def test_passes_of_the_run_before_are_in_the_name_of_what_goes_on_with_it() -> None:
    def series(passes: int, **how: Any) -> str:
        runs = {"b": {"policy": "speed", "passes": passes}, "a": {"policy": "speed", **how}}
        return planner(recipe(runs)).cells()[-1].series

    before = {"run": "b", "data": "g"}
    for how in ("continues", "warm_from"):
        assert series(1, **{how: before}) != series(3, **{how: before})
    assert series(1) == series(3)


# ── What is produced ─────────────────────────────────────────────────────────────────────────


def test_a_cell_s_plan_holds_what_the_recipe_says() -> None:
    run = {
        "settings": {"rounds": 2}, "per_data": {"g": {"rounds": 5}}, "limits": {"calls": 7}, "order": "shuffled",
    }  # fmt: skip
    cell = one(run, profile="service", limits={"tokens": 99, "calls": 9})
    plan = cell.plan
    assert (plan.source, plan.policy, plan.profile, plan.domain) == (
        "game24:901-903", "speed", "service", "game24",
    )  # fmt: skip
    assert (plan.values, plan.limits) == ({"rounds": 5}, Limits(calls=7, tokens=99))
    assert (plan.seed, plan.walk, plan.order) == (3, 1, "shuffled")
    posed = Problem(
        id="x", problem="y", domain="game24", profile="service", settings={"rounds": 5},
        memory=plan.memory, policy="speed",
    )  # fmt: skip
    assert cell.scope == scope_of(SPEED, posed)


@pytest.mark.parametrize(
    ("own", "most", "limit"),
    [
        ({}, None, None),
        ({}, 5, 5),
        ({"calls": 9}, 5, 5),
        ({"calls": 3}, 5, 3),
        ({"calls": 9}, None, 9),
    ],
)
def test_the_command_line_only_lowers_a_limit(
    own: dict[str, int], most: int | None, limit: int | None
) -> None:
    assert one({"limits": own | {"tokens": 8}}, options=Options(calls=most)).plan.limits == Limits(
        calls=limit, tokens=8
    )


@pytest.mark.parametrize(
    ("policy", "limits", "most"),
    [("cot", {}, 1), ("cot", {"calls": 9}, 1), ("speed", {}, None), ("speed", {"calls": 9}, 9),
     ("self_consistency", {"calls": 2}, 2)],
)  # fmt: skip
def test_a_problem_takes_at_most_what_settings_and_limit_allow(
    policy: str, limits: dict[str, int], most: int | None
) -> None:
    by = STEADY if policy == "speed" else find
    made = planner(recipe({"a": {"policy": policy, "limits": limits}}), by=by)
    [cell] = made.cells()
    assert made.most_calls(cell) == most


def test_what_others_learned_comes_with_a_cell() -> None:
    data = {"g": {"source": "game24:901-903"}, "h": {"source": "game24:1-3"}}
    before = {"run": "first", "data": "h"}
    runs = {
        "first": {"policy": "speed", "data": ["h"]},
        "on": {"policy": "speed", "data": ["g"], "continues": before},
        "warm": {"policy": "speed", "data": ["g"], "warm_from": before},
        "cold": {"policy": "speed", "data": ["g"]},
    }
    made = planner(recipe(runs, data, seeds=[3, 4]))
    cells = {(cell.run, cell.seed): cell for cell in made.cells()}
    assert len(cells) == 8
    for seed in (3, 4):
        first, on, warm, cold = (cells[name, seed] for name in runs)
        assert on.plan.memory == first.plan.memory
        assert len({first.series, on.series, warm.series, cold.series}) == 4
        assert not on.series.startswith(first.plan.memory or "?")
        assert warm.plan.values == {"warm_start": first.scope}
        assert warm.plan.memory not in (first.plan.memory, cold.plan.memory)
        assert (on.plan.values, cold.plan.values) == ({}, {})


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"rollouts": 4}, "rollouts"), ({"rollouts": 4, "base": "mc2"}, "rollouts, base"), ({}, "")],
)
def test_a_run_goes_on_with_the_memory_that_it_names_or_not_at_all(
    settings: dict[str, Any], why: str
) -> None:
    """A setting that one of them spells out, be it at its default, made the other go on with an empty memory."""
    data = {"g": {"source": "game24:901-903"}, "h": {"source": "game24:1-3"}}
    built = {"phase": "build", "neighbours": 3}
    runs = {
        "built": {"policy": "graph_memory", "data": ["h"], "settings": built | settings},
        "used": {
            "policy": "graph_memory",
            "data": ["g"],
            "settings": {"neighbours": 3, "principles_shown": 1},
            "continues": {"run": "built", "data": "h"},
        },
    }
    made = planner(recipe(runs, data, seeds=[3]), by=find)
    if not why:
        assert len({cell.scope for cell in made.cells()}) == 1, "what is not learned by may differ"
        return
    with pytest.raises(BadRecipe, match=rf"runs\.used\.continues: .* for {why} keeps them apart"):
        made.cells()


def test_another_policy_s_memory_is_no_memory_to_go_on_with() -> None:
    data = {"g": {"source": "game24:901-903"}}
    runs = {
        "one": {"policy": "mc2"},
        "two": {"policy": "cascade", "continues": {"run": "one", "data": "g"}},
    }
    with pytest.raises(BadRecipe, match="for the policy keeps them apart"):
        planner(recipe(runs, data, seeds=[3]), by=find).cells()


def test_cells_come_in_the_recipe_s_order_where_policy_and_data_are_here(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text('{"id": "a", "problem": "p"}\n')
    data = {
        "g": {"source": "game24:901"},
        "away": {"source": "gsm8k"},
        "own": {"source": "jsonl", "domain": "mine"},
    }
    runs = {
        "one": {"policy": "speed", "passes": 2, "data": ["own", "away", "g"]},
        "gone": {"policy": "nope"},
        "side": {"policy": "speed", "beside": "one"},
        "two": {"policy": "speed"},
        "waits": {"policy": "speed", "data": ["g"], "warm_from": {"run": "two", "data": "away"}},
    }

    def by(name: str) -> Any:
        if name == "nope":
            raise NoPolicy(name)
        return SPEED

    options = Options(files={"own": str(tmp_path / "own.jsonl")}, seeds=2)
    made = planner(recipe(runs, data, seeds=[5, 6, 7]), options, by=by)
    assert made.absent == {"nope"}
    assert [(c.run, c.data, c.seed, c.walk) for c in made.cells()] == [
        *(("one", data, seed, walk) for data in ("own", "g") for seed in (5, 6) for walk in (1, 2)),
        *(("two", data, seed, 1) for data in ("g", "own") for seed in (5, 6)),
    ]
    assert {c.data: c.plan.domain for c in made.cells()} == {"g": "game24", "own": "mine"}
    assert (made.waits_for("waits"), made.waits_for("two")) == ("away", None)


def test_what_others_hang_on_runs_first() -> None:
    named = {"run": "first", "data": "g"}
    runs = {
        "late": {"policy": "speed", "continues": {"run": "mid", "data": "g"}},
        "mid": {"policy": "speed", "warm_from": named},
        "first": {"policy": "speed"},
        "other": {"policy": "speed", "settings": {"rounds": 9}},
        "side": {"policy": "speed", "beside": "late"},
    }
    stages = planner(recipe(runs)).stages()
    assert [[cell.run for cell in stage] for stage in stages] == [
        ["first", "other"],
        ["mid"],
        ["late"],
    ]
    circle = {
        "a": {"policy": "speed", "matched": {"run": "b"}}, "b": {"policy": "speed", "matched": {"run": "a"}},
        "c": {"policy": "speed"},
    }  # fmt: skip
    with pytest.raises(BadRecipe, match=r"^runs a, b wait for each other$"):
        planner(recipe(circle)).stages()


# ── Data sets ────────────────────────────────────────────────────────────────────────────────


def test_a_set_that_is_not_here_says_how_to_give_it() -> None:
    data = {
        "math": {"source": "math500:1-5", "hub": "a/b#c/test", "note": "Half of it."},
        "plain": {"source": "gsm8k"},
        "g": {"source": "game24:901-903"},
    }
    found = sources(recipe({}, data), Options())
    assert found["math"] == Source(
        "math", "math500:1-5", None, note="not here; give --data math=PATH (hub:a/b#c/test). Half of it."
    )  # fmt: skip
    assert found["plain"].note == "not here; give --data plain=PATH."
    assert (found["plain"].problems, found["plain"].sha256) == (0, None)
    assert (found["g"].note, found["g"].problems, found["g"].is_read) == ("", 3, True)
    instead = sources(recipe({}, data), Options(stand_in=True))
    assert (instead["math"].read, instead["math"].stands_in, instead["math"].is_read) == (
        "game24:1-2", True, False,
    )  # fmt: skip
    assert (instead["math"].problems, instead["math"].file) == (2, None)
    assert instead["math"].note.startswith("not here; give")
    assert (instead["g"].read, instead["g"].stands_in) == ("game24:901-903", False)


def test_what_stands_in_has_none_of_the_traits_that_were_wanted() -> None:
    data = {"math": {"source": "math500", "only": {"level": "5"}}}
    found = sources(recipe({}, data), Options(stand_in=True))["math"]
    assert (found.read, found.problems, found.only) == ("game24:1-2", 2, {})


def test_a_set_s_digest_is_that_of_the_lines_that_are_read(tmp_path: Path) -> None:
    lines = [{"id": f"{at}", "problem": f"What is {at}?"} for at in range(4)]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    data = {"own": {"source": "jsonl", "note": "n", "domain": "mine"}}
    whole, half = (
        sources(recipe({}, data), Options(files={"own": str(file)}, problems=most))["own"]
        for most in (None, 2)
    )
    assert (whole.problems, half.problems) == (4, 2)
    assert (whole.read, whole.file, whole.note, whole.domain) == (str(file), None, "n", "mine")
    assert whole.sha256 != half.sha256
    assert [problem_of(line) for line in half.lines()] == ["What is 0?", "What is 1?"]
    assert len([*half.every()]) == 4
    file.write_text("".join(json.dumps(each) + "\n" for each in lines[:2]))
    again = sources(recipe({}, data), Options(files={"own": str(file)}))["own"]
    assert again.sha256 == half.sha256
    assert again.traits() == {}, "lines of one's own have none"


def test_problems_of_some_traits_are_chosen_and_told_by_them(tmp_path: Path) -> None:
    items = [
        {"problem": f"p{at}", "answer": "1", "level": at % 3 + 1, "unique_id": f"u{at}"}
        for at in range(6)
    ]
    file = tmp_path / "m.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in items))
    data = {"m": {"source": "math500", "only": {"level": "1,3"}}}
    [found] = sources(recipe({}, data), Options(files={"math500": str(file)})).values()
    assert [problem_of(line) for line in found.lines()] == ["p0", "p2", "p3", "p5"]
    levels = [each["level"] for each in found.traits().values()]
    assert levels == ["1", "2", "3", "1", "2", "3"]
    assert found.file == str(file)


def test_a_sample_holds_each_problem_once_however_often_the_set_does(tmp_path: Path) -> None:
    lines = [{"id": f"{at}", "problem": f"p{at % 3}"} for at in range(9)]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    data = {"d": {"source": "jsonl", "sample": {"count": 2, "seed": 1}}}
    [found] = sources(recipe({}, data), Options(files={"d": str(file)})).values()
    assert (found.problems, len({problem_of(line) for line in found.lines()})) == (2, 2)


@pytest.mark.parametrize(
    ("only", "has"),
    [({}, True), ({"a": "1"}, True), ({"a": "2,1"}, True), ({"a": "11"}, False), ({"b": "1"}, False),
     ({"a": "1", "c": "x"}, True), ({"a": "1", "c": "y"}, False)],
)  # fmt: skip
def test_a_problem_has_traits_if_it_has_all_of_them(only: dict[str, str], has: bool) -> None:
    assert has_traits({"a": "1", "c": "x"}, only) is has


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'{"problem": " a\\n  b "}', "a b"),
        (b'{"problem": 5}', "5"),
        (b'{"x": 1}', ""),
        (b"{", ""),
        (b"[1]", ""),
    ],
)
def test_a_problem_is_known_by_its_words(raw: bytes, text: str) -> None:
    assert problem_of(SourceLine(1, raw)) == text


def test_a_run_is_less_than_the_recipe_by_what_was_changed() -> None:
    assert Options().changed == {}
    assert Options(files={"a": "b"}, problems=2, seeds=1, calls=12, stand_in=True).changed == {
        "problems": 2, "seeds": 1, "calls": 12, "stand_in": True,
    }  # fmt: skip


def test_what_is_learned_from_further_back_must_be_here_too() -> None:
    data = {name: {"source": "game24:901"} for name in "abc"}
    runs = {
        "a": {"policy": "speed", "data": ["a"]},
        "b": {"policy": "speed", "data": ["b"], "warm_from": {"run": "a", "data": "a"}},
        "c": {"policy": "speed", "data": ["c"], "continues": {"run": "b", "data": "b"}},
    }
    made = recipe(runs, data)
    here = {name: Source(name, "game24:901", "game24:901") for name in data}
    assert waits_for(made, here, "c") is None
    assert waits_for(made, here | {"a": Source("a", "gsm8k", None)}, "c") == "a"
    assert waits_for(made, here | {"b": Source("b", "gsm8k", None)}, "c") == "b"
    assert waits_for(made, here | {"c": Source("c", "gsm8k", None)}, "c") is None


# ── Limits of each problem ───────────────────────────────────────────────────────────────────


def test_each_problem_has_its_own_limit_where_it_has_one() -> None:
    lines = [
        SourceLine(at, b'{"id":"%s","problem":"p"}' % name) for at, name in ((1, b"a"), (2, b"b"))
    ]
    lines += [
        SourceLine(3, b'{"id":"a","problem":"p","domain":"other"}'),
        SourceLine(4, b"{"),
        SourceLine(5, b"[]"),
    ]
    *made, another, broken, no_object = with_limits(
        iter(lines), {"sums/a": Limits(tokens=7)}, "sums"
    )
    # Of another domain it is another problem, and what is no problem is refused by whoever produces it.
    assert [another, broken, no_object] == lines[2:]
    assert [(line.number, orjson.loads(line.raw)) for line in made] == [
        (1, {"id": "a", "problem": "p", "limits": {"tokens": 7}}),
        (2, {"id": "b", "problem": "p"}),
    ]


@pytest.mark.parametrize(("of", "found"), [("tokens", {"p1": 40}), ("calls", {"p1": 2, "p2": 3})])
def test_a_limit_is_what_the_other_run_spent_under_the_same_seed(
    of: Any, found: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cases() -> Iterator[Any]:
        for name, series, calls, tokens in (
            ("p1", "theirs", 2, 40), ("p2", "theirs", 3, None), ("p3", "theirs", 0, 0), ("p4", "else", 9, 9),
        ):  # fmt: skip
            usage = SimpleNamespace(calls=calls, tokens=tokens)
            posed = SimpleNamespace(series=series)
            yield SimpleNamespace(about=name, problem=posed, closed=SimpleNamespace(usage=usage))

    def cell(run: str, series: str, **more: Any) -> Any:
        return SimpleNamespace(
            **{"run": run, "data": "d", "seed": 1, "walk": 1, "series": series, **more}
        )

    cells = [
        cell("b", "theirs"), cell("a", "else"), cell("b", "else", seed=2), cell("b", "else", walk=2),
        cell("b", "else", data="e"),
    ]  # fmt: skip
    monkeypatch.setattr(matching, "read", always(SimpleNamespace(cases=cases)))
    wanted = {name: Limits(**{of: spent}) for name, spent in found.items()}
    taken = Matched(run="b", of=of)
    assert matched_limits(None, taken, cell("a", "mine"), cells) == wanted  # type: ignore[arg-type]
    # A later pass than the other run has is held to its last.
    second = cell("a", "mine", walk=2)
    assert matched_limits(None, taken, second, [cells[0], *cells[1:3]]) == wanted  # type: ignore[arg-type]
    assert matched_limits(None, taken, second, cells) == {"p4": Limits(**{of: 9})}  # type: ignore[arg-type]
