"""A report's values in worlds set by hand: what each run is, what it learned and spent, who beats whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from handlers.answers.grade import grade_reference
from handlers.policies.base import Trace
from schemas.events.base import Event
from schemas.events.episode import Completed, Recalled
from schemas.events.reasoning import ControllerActed
from schemas.outcome import Outcome
from schemas.usage import Usage
from state.folds.costs import Spent
from streams.research.analysis.cases import Reading
from streams.research.analysis.statistics import mcnemar
from streams.research.bench import results as results_module
from streams.research.bench.compare import (
    batch_of,
    by_data,
    frontier,
    mcnemar_matrix,
    paired,
    progress,
    recalls,
)
from streams.research.bench.recipe import Place, Recipe
from streams.research.bench.report import OUTCOMES, report, simulated
from streams.research.bench.results import Episode, Results, accuracy_interval, gather, rates
from tests.streams.bench.worlds import case

OUT: Mapping[str, Outcome] = {"+": "right", "-": "wrong", "?": "unknown", "0": "withheld"}


def walk(
    marks: str,
    *,
    seed: int = 0,
    number: int = 1,
    run: str = "a",
    usage: Usage | None = None,
    events: Sequence[Event] = (),
    first: int = 0,
) -> list[Episode]:
    """One problem a mark, each with its outcome and usage."""
    cell: Any = SimpleNamespace(seed=seed, walk=number, data="d", run=run, series=f"s-{run}")
    each = usage or Usage(calls=2, prompt_tokens=100, completion_tokens=10)
    return [
        Episode(cell, case(str(at), OUT[mark], events, seed=seed, usage=each))
        for at, mark in enumerate(marks, first)
    ]


# ── Runs beside each other ───────────────────────────────────────────────────────────────────


def test_problems_of_one_id_in_two_domains_are_two() -> None:
    here, there = walk("+-"), walk("--")
    moved = [
        replace(
            one, case=replace(one.case, problem=one.case.problem.model_copy(update={"domain": "e"}))
        )
        for one in there
    ]
    assert rates([*here, *moved]) == {"d/0": 1.0, "d/1": 0.0, "e/0": 0.0, "e/1": 0.0}


def test_a_problem_is_solved_that_most_seeds_solved() -> None:
    two = [*walk("++-?", seed=0), *walk("+-+?", seed=1)]
    assert rates(two) == {"d/0": 1.0, "d/1": 0.5, "d/2": 0.5}
    found = mcnemar_matrix({"a": two, "b": walk("---?+"), "c": walk("+-?-")})
    assert found["a"]["b"] == {"wins": 1, "losses": 0, "p": 1.0, "left_out": 1}
    assert found["b"]["a"] == {"wins": 0, "losses": 1, "p": 1.0, "left_out": 1}
    assert found["a"]["c"] == {"wins": 0, "losses": 0, "p": 1.0, "left_out": 2}
    assert {run: [*row] for run, row in found.items()} == {
        "a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"],
    }  # fmt: skip


def test_each_pair_is_told_once_the_later_over_the_earlier() -> None:
    groups = {
        "a": walk("+----"),
        "b": walk("++++-", usage=Usage(calls=5, prompt_tokens=None)),
        "c": walk("?", first=9),
    }
    [pair, other, last] = paired(groups)
    assert [(each["run"], each["over"]) for each in (pair, other, last)] == [
        ("b", "a"), ("c", "a"), ("c", "b"),
    ]  # fmt: skip
    assert (pair["only_run"], pair["only_over"], pair["left_out"]) == (3, 0, 0)
    assert pair["p"] == mcnemar(3, 0) == 0.25
    assert (pair["accuracy"]["value"], pair["calls"]["value"], pair["tokens"]) == (60.0, 3.0, None)
    assert [other[name] for name in ("accuracy", "calls", "tokens")] == [None] * 3


def test_nobody_is_beaten_by_a_run_whose_cost_or_worth_is_unknown() -> None:
    cheap = Usage(calls=1, prompt_tokens=1, completion_tokens=1)
    unpriced = Usage(calls=1, prompt_tokens=None)
    groups = {
        "dear": walk("+++-"),
        "worse": walk("++--?0"),
        "part": [*walk("+-?", usage=cheap), *walk("+", usage=unpriced, first=3)],
        "unpriced": walk("++++", usage=unpriced),
        "ungraded": walk("??", usage=cheap),
    }
    found = frontier(groups, "tokens")
    head = ("run", "tokens", "accuracy", "coverage", "unknown", "problems", "best")
    assert {tuple(each) for each in found} == {head}
    assert [tuple(each.values()) for each in found] == [
        ("dear", 110.0, 75.0, 100.0, 0, 4, True),
        ("worse", 110.0, 40.0, 83.333333, 0, 6, False),
        ("part", 2.0, 66.666667, 75.0, 1, 4, True),
    ]
    assert [each["run"] for each in frontier(groups, "calls")] == [
        "dear", "worse", "part", "unpriced",
    ]  # fmt: skip


def test_experience_is_told_step_by_step_with_its_trend() -> None:
    def acted(action: Any) -> list[Event]:
        return [ControllerActed(round=0, action=action, source="x")]

    steps = [
        *walk("+++?", number=3, events=acted("restart")),
        *walk("----", number=1, events=acted("accept")),
        *walk("++--", number=2, events=acted("restart")),
    ]
    assert progress(steps, lambda one: one.cell.walk) == {
        "points": [
            {"at": 1, "problems": 4, "graded": 4, "accuracy": 0.0, "restarts": 0.0, "calls": 2.0},
            {"at": 2, "problems": 4, "graded": 4, "accuracy": 50.0, "restarts": 100.0, "calls": 2.0},
            {"at": 3, "problems": 4, "graded": 3, "accuracy": 100.0, "restarts": 100.0, "calls": 2.0},
        ],
        "accuracy": {"slope": 50.0, "p": 0.0},
        "restarts": {"slope": 50.0, "p": pytest.approx(1 / 3)},
    }  # fmt: skip
    assert progress(walk("+-", number=2), lambda one: one.cell.walk) is None


def test_a_step_that_nobody_graded_leaves_a_hole_in_the_line() -> None:
    marks = ("+-", "??", "++", "-+")
    parts = [one for at, each in enumerate(marks, 1) for one in walk(each, number=at)]
    found = progress(parts, lambda one: one.cell.walk) or {}
    assert [each["accuracy"] for each in found["points"]] == [50.0, None, 100.0, 50.0]
    assert found["accuracy"]["slope"] == pytest.approx(50 / 14, abs=1e-9), "of 1, 3 and 4"
    assert found["restarts"] is None


def test_a_batch_is_known_by_the_memory_that_it_could_know() -> None:
    opened: Any = SimpleNamespace(memory_version=4)
    one: Any = SimpleNamespace(case=SimpleNamespace(opened=opened))
    assert batch_of(one) == 5


def test_episodes_that_asked_a_memory_are_told_from_those_that_it_helped() -> None:
    """A graph of 72 principles held nothing for any of 150 episodes, and its row passed for what it learned."""
    nothing = Recalled(asked="Recall 1", memory_version=3, items=())
    something = Recalled(asked="Recall 2", memory_version=3, items=(("r1", "d", 0.5),))
    assert recalls(walk("+-")) is None, "who never asks has none"
    assert recalls(walk("+-", events=[nothing, nothing])) == {"asked": 2, "found": 0}
    [one] = walk("+", events=[nothing])
    opened: Any = SimpleNamespace(policy="meta_reasoner")
    assert recalls([replace(one, case=replace(one.case, opened=opened))]) is None, "arms"
    both = [
        *walk("+", events=[nothing, something]),
        *walk("-", events=[nothing], first=1),
        *walk("+", first=2),
    ]
    assert recalls(both) == {"asked": 2, "found": 1}


def test_only_first_passes_of_runs_of_their_own_stand_beside_each_other() -> None:
    first, second = walk("+-"), walk("++", number=2)
    results = Results(
        (),
        groups={
            ("a", "d"): [*second, *first],
            ("b", "d"): walk("+"),
            ("b", "e"): walk("-"),
            ("c", "d"): second,
            ("side", "d"): walk("+"),
            ("none", "d"): [],
        },
        beside=frozenset({"side"}),
    )
    found = by_data(results)
    assert {data: [*runs] for data, runs in found.items()} == {"d": ["a", "b"], "e": ["b"]}
    assert found["d"]["a"] == first


# ── Episodes that a place stands for ─────────────────────────────────────────────────────────


def test_a_place_stands_for_its_pass_and_its_traits() -> None:
    results = Results(
        (),
        groups={("a", "d"): [*walk("+-+"), *walk("--", number=2)]},
        traits={"d": {"0": {"level": "1"}, "1": {"level": "2"}, "2": {"level": "3"}}},
    )

    def marks(**place: Any) -> list[tuple[str, str]]:
        chosen = results.chosen(Place(**place))
        return [(each.case.problem.id, each.case.outcome) for each in chosen]

    assert marks(run="a", data="d") == [("0", "right"), ("1", "wrong"), ("2", "right")]
    assert marks(run="a", data="d", walk=2) == [("0", "wrong"), ("1", "wrong")]
    assert marks(run="a", data="d", only={"level": "1,3"}) == [("0", "right"), ("2", "right")]
    assert marks(run="a") == marks(data="d") == marks(run="b", data="d") == []


def test_a_case_is_of_every_run_that_its_series_was_worked_on_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posed = [case(name) for name in ("x", "y", "z", "w")]
    series = ("s1", "s2", "else", None)
    cases = [
        replace(each, problem=each.problem.model_copy(update={"series": name}))
        for each, name in zip(posed, series, strict=True)
    ]
    asked: list[Any] = []

    def read(log: Any, grade: Any) -> Any:
        asked.append((log, grade))
        return SimpleNamespace(cases=lambda: cases)

    cells: Any = [
        SimpleNamespace(run=run, data=data, series=name)
        for run, data, name in (
            ("a", "d", "s1"),
            ("b", "d", "s1"),
            ("a", "e", "s2"),
            ("c", "d", "s3"),
        )
    ]
    traits = {"x": {"level": "1"}}
    here: Any = {"d": SimpleNamespace(traits=lambda: traits), "e": SimpleNamespace(traits=dict)}
    monkeypatch.setattr(results_module, "read", read)
    log, grade = object(), object()
    found = gather(log, cells, here, grade)  # type: ignore[arg-type]
    assert asked == [(log, grade)]
    assert {at: [one.case.problem.id for one in group] for at, group in found.groups.items()} == {
        ("a", "d"): ["x"], ("b", "d"): ["x"], ("a", "e"): ["y"], ("c", "d"): [],
    }  # fmt: skip
    assert [found.groups[at][0].cell for at in (("a", "d"), ("b", "d"))] == cells[:2]
    assert (found.cells, found.traits) == (cells, {"d": traits, "e": {}})
    gather(log, cells, here)  # type: ignore[arg-type]
    assert asked[1] == (log, grade_reference)


# ── The whole report ─────────────────────────────────────────────────────────────────────────

RECIPE: dict[str, Any] = {
    "recipe": "r", "claims": ["c-1"], "paper": "P", "about": "About.", "differs": "Differs.", "profile": "service",
    "limits": {"calls": 8},
    "data": {"d": {"source": "jsonl"}, "away": {"source": "jsonl"}},
    "runs": {
        "a": {"policy": "cot"},
        "b": {
            "policy": "rest_mcts", "settings": {"x": 1}, "limits": {"calls": 4, "tokens": 900}, "note": "N",
            "passes": 2, "order": "shuffled", "matched": {"run": "a", "of": "calls"}, "audit": True,
            "per_data": {"d": {"x": 2}}, "continues": {"run": "a", "data": "d"},
            "warm_from": {"run": "a", "data": "away"},
        },
        "side": {"policy": "cot", "beside": "a"},
        "idle": {"policy": "cot"},
    },
    "tables": [{
        "title": "T", "model": "M", "note": "Noted.",
        "columns": {
            "right": {"data": "d", "metric": "accuracy"},
            "p": {"data": "d", "metric": "p_value", "less": ["side"]},
        },
        "rows": {"A": {"run": "a", "paper": [40, 0.5]}, "B": {"run": "b", "paper": ["–", None]},
                 "C": {"run": "idle", "paper": [1, 2]}},
    }],
}  # fmt: skip


def made() -> dict[str, Any]:
    reply = Completed(asked="complete thinker x", text="t", finish="stop", model="m2")
    a, b = walk("+-", run="a", events=[reply]), walk("++", run="b", usage=Usage(calls=5))
    reading = Reading(
        learning={"one": Spent(3, 40), "two": Spent(4, 60), "other": Spent(50, 1)},
        consolidated={"one": Counter(said=2), "two": Counter(kept=1, fallback=1)},
        scopes={"s-b": {"two", "one", "none"}},
        probes={a[1].case.episode: [Usage(calls=6), Usage(calls=1, prompt_tokens=5)]},
    )
    cells: Any = [each[0].cell for each in (a, b)]
    groups = {("a", "d"): a, ("b", "d"): b[:1], ("side", "d"): walk("--", run="side")}
    results = Results(
        cells, groups, reading=reading, absent=frozenset({"z", "y"}), beside=frozenset({"side"})
    )
    source: dict[str, Any] = {"note": "few", "sha256": "0" * 64, "wanted": "jsonl", "problems": 2}
    source |= {"answerable": lambda: 2}
    here: Any = {
        "d": SimpleNamespace(name="d", read="f.jsonl", stands_in=False, **source),
        "away": SimpleNamespace(name="away", read="game24", stands_in=True, **source),
    }
    recipe = Recipe.model_validate(RECIPE)
    return report(recipe, results, here, {"command": "bench", "models": "overwritten"})


def test_a_report_begins_with_what_the_recipe_says_and_how_it_was_made() -> None:
    said = made()
    plain = ("recipe", "claims", "paper", "about", "differs", "profile", "absent", "unfinished")
    assert [said[name] for name in plain] == [
        "r", ["c-1"], "P", "About.", "Differs.", "service", ["y", "z"], 1,
    ]  # fmt: skip
    data = {"wanted": "jsonl", "problems": 2, "sha256": "0" * 64, "note": "few"}
    assert said["provenance"] == {
        "command": "bench",
        "models": ["m2"],
        "data": [
            {**data, "name": "d", "read": "f.jsonl", "stands_in": False},
            {**data, "name": "away", "read": "game24", "stands_in": True},
        ],
    }


def test_a_run_s_line_holds_what_it_does_and_nothing_that_it_does_not() -> None:
    runs = made()["runs"]
    assert runs["a"] == {
        "policy": "cot",
        "settings": {},
        "limits": {"calls": 8},
        "note": "",
        "passes": 1,
        "order": "released",
    }
    assert runs["b"] == {
        "policy": "rest_mcts",
        "settings": {"x": 1},
        "limits": {"calls": 4, "tokens": 900},
        "note": "N",
        "matched": "calls of a, problem by problem",
        "audit": True,
        "per_data": {"d": {"x": 2}},
        "continues": "a on d",
        "warm_from": "a on away",
        "passes": 2,
        "order": "shuffled",
    }
    assert runs["side"]["beside"] == "a"


def test_a_table_has_ours_beside_the_paper_s_and_how_far_they_are_apart() -> None:
    [table] = made()["tables"]
    head = {name: table[name] for name in ("title", "model", "note", "columns")}
    assert head == {"title": "T", "model": "M", "note": "Noted.", "columns": ["right", "p"]}
    assert table["used"] == {
        "a": {"calls": 2.0, "granted": 8},
        "b": {"calls": 5.0, "granted": 4},
    }
    assert [*table["simplified"]] == ["b"]
    mine, p = table["rows"][0]["cells"]
    assert [row["name"] for row in table["rows"]] == ["A", "B", "C"]
    assert [cell["ours"] for cell in table["rows"][2]["cells"]] == [None, None]
    assert (mine["paper"], mine["ours"]["value"], mine["difference"]["value"]) == (40, 50.0, 10.0)
    assert (p["paper"], p["ours"]["value"], p["difference"]) == (0.5, 1.0, None)
    away = table["rows"][1]["cells"][0]
    assert (away["paper"], away["ours"], away["difference"]) == ("–", None, None)
    assert away["why"] == "not measured: away, which it learns from, is not here"


def test_what_learning_and_side_runs_cost_stands_apart() -> None:
    a, b = made()["measured"]
    assert [(each["data"], each["run"], each["episodes"]) for each in (a, b)] == [
        ("d", "a", 2), ("d", "b", 1),
    ]  # fmt: skip
    assert (a["series"], b["series"]) == (["s-a"], ["s-b"])
    assert a["learning"] == {"calls": 0, "tokens": 0, "consolidations": {}}
    came = {"fallback": 1, "kept": 1, "said": 2}
    assert b["learning"] == {"calls": 7, "tokens": 100, "consolidations": came}
    assert [*b["learning"]["consolidations"]] == [*came], "in one order"
    assert a["probes"] == {"episodes": 2, "calls": 7, "tokens": None}
    assert b["probes"] == {"episodes": 0, "calls": 0, "tokens": 0}
    assert (a["backbones"], simulated({"measured": [a]})) == ("m", False)
    assert simulated({"measured": [a, b | {"backbones": "x SIMULATED"}]})


def test_what_was_measured_has_every_figure_by_its_name() -> None:
    a = made()["measured"][0]
    assert [*a["outcomes"]] == [*OUTCOMES]
    assert a["outcomes"]["right"] == a["outcomes"]["commission"] == 1
    assert a["ended_by"] == {"answered": 2}
    assert a["accuracy_interval"] == accuracy_interval(walk("+-"))
    figures = {
        name: (None if each is None else each["value"]) for name, each in a["metrics"].items()
    }
    assert figures["accuracy"] == 50.0
    assert figures["tokens"] == 110.0
    assert (a["batches"], a["passes"], a["arms"], a["rewards"], a["confidence"]) == (
        None, None, None, [], {},
    )  # fmt: skip


def test_runs_of_a_data_set_are_compared_in_four_ways() -> None:
    said = made()["comparisons"]
    assert [*said] == ["d"]
    assert [*said["d"]] == ["by_calls", "by_tokens", "mcnemar", "pairs"]
    assert [each["run"] for each in said["d"]["by_calls"]] == ["a", "b"]
    assert [each["run"] for each in said["d"]["by_tokens"]] == ["a"]
    assert said["d"]["mcnemar"]["a"]["b"]["left_out"] == 0
    [pair] = said["d"]["pairs"]
    assert (pair["run"], pair["over"]) == ("b", "a")


def test_a_trace_is_read_for_the_models_that_answered() -> None:
    events = [
        Completed(asked=f"complete {role} x", text="t", finish="stop", model=model)
        for role, model in (("thinker", "z"), ("judge", "y"), ("thinker", "z"))
    ]
    results = Results(
        (),
        groups={("a", "d"): walk("+", events=events), ("b", "d"): walk("-")},
        reading=Reading(
            scopes={"s-a": {"one"}}, makers={"one": {("writer", "w")}, "two": {("x", "v")}}
        ),
    )
    assert isinstance(results.groups["a", "d"][0].case.trace, Trace)
    assert results.models() == ["y", "z"]
    assert results.answered("a") == {("thinker", "z"), ("judge", "y"), ("writer", "w")}
    assert results.answered("b") == {("writer", "w")}, "of the same series"
