"""A forecast in a world set by hand: what is left to pay, as what is on the log went, and what stays unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeOpened
from schemas.events.search import NodePruned
from schemas.outcome import Outcome
from schemas.problem import Limits
from schemas.usage import Usage
from state.folds.costs import Spent
from state.folds.grades import Known, Word
from streams.engine.policies import find
from streams.research.analysis.cases import Reading
from streams.research.bench import besides
from streams.research.bench.forecast import forecast, lines
from streams.research.bench.recipe import Recipe
from streams.research.bench.results import Episode, Results
from tests.streams.bench.worlds import always, case

OUT: Mapping[str, Outcome] = {"+": "right", "-": "wrong", "?": "unknown", "0": "withheld"}
CALLS = Usage(calls=2, prompt_tokens=100, completion_tokens=20, cost=0.5)


def cell(run: str, data: str = "d", series: str = "s") -> Any:
    return SimpleNamespace(run=run, data=data, seed=0, walk=1, series=series)


def walk(
    run: str, marks: str, data: str = "d", *, usage: Usage = CALLS, events: Sequence[Event] = ()
) -> list[Episode]:
    """One closed episode a mark; of ``!`` a grader could not decide the answer."""
    made: list[Episode] = []
    for at, mark in enumerate(marks):
        found = case(f"{run}{data}{at}", OUT.get(mark, "unknown"), events, usage=usage)
        if mark == "!":
            found = replace(found, known=Known(feedback=Word("unknown", "exact@2", person=False)))
        made.append(Episode(cell(run, data), found))
    return made


def recipe(runs: Mapping[str, Any], **more: Any) -> Recipe:
    data = {name: {"source": "jsonl"} for name in ("d", "e")}
    said = {"recipe": "r", "about": "a", "differs": "x", "data": data, "runs": runs, "seeds": [0]}
    return Recipe.model_validate(said | more)


def planner(made: Recipe, cells: Sequence[Any], most: int | None = 9) -> Any:
    """A planner of these cells: four problems of each data set, so many calls each at most."""
    told = {"wanted": "jsonl", "problems": 4, "sha256": "0" * 64, "stands_in": False, "note": ""}
    here = {n: SimpleNamespace(name=n, read=f"{n}.jsonl", **told) for n in ("d", "e")}
    return SimpleNamespace(
        recipe=made, cells=lambda: [*cells], sources=here, find=find, most_calls=always(most),
        backbones="m",
    )  # fmt: skip


def fork(of: Episode, calls: int, *, closed: bool = True, **opened: Any) -> dict[str, Event]:
    """A side run of an episode that paid for one reply of so many tokens, and took one over."""
    plain: dict[str, Any] = {
        "policy": "cot",
        "policy_version": "1",
        "settings": "x",
        "limits": Limits(),
        "seed": 0,
        "memory_version": 0,
        "backbones": "m",
        "parent": of.case.episode,
    }
    reply: dict[str, Any] = {
        "asked": "complete thinker x",
        "text": "t",
        "finish": "stop",
        "model": "m",
    }
    tokens: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 1, "cost": 0.25}
    made: dict[str, Any] = {"opened": EpisodeOpened(**plain | opened)}
    made |= {f"{at}": Completed(**reply, **tokens) for at in range(calls)}
    made |= {"9": Completed(**reply, **tokens, reused=True)}
    made |= {"closed": of.case.closed} if closed else {}
    return made


def told(made: Any, *, judge: bool = False, of: Results) -> dict[str, tuple[Any, ...]]:
    """The rows beside episodes, by run and kind."""
    names = ("made", "lacking_at_most", "calls_at_most", "calls", "tokens", "cost")
    return {
        f"{row['run']} {row['what']}": tuple(row.get(name) for name in names)
        for row in besides.rows(made, of, judge=judge)
    }


# ── As what is on the log went ───────────────────────────────────────────────────────────────


def test_what_is_left_goes_as_what_was_made_went() -> None:
    made = [
        CALLS,
        Usage(calls=5, prompt_tokens=None, cost=None),
        Usage(calls=3, prompt_tokens=7, completion_tokens=2),
    ]
    assert besides.expected(made, 3) == {"calls": 10.0, "tokens": 193.5, "cost": 1.5}
    assert besides.expected(made, 0) == dict.fromkeys(("calls", "tokens", "cost"), 0.0)
    assert besides.expected([], 2) == dict.fromkeys(("calls", "tokens", "cost"))
    assert besides.expected([], 0)["calls"] == 0.0, "nothing left costs nothing"
    thirds = [Usage(calls=each) for each in (1, 1, 2)]
    assert besides.expected(thirds, 1)["calls"] == 1.333333


def test_a_run_is_expected_to_go_on_as_it_went_on_any_data_set() -> None:
    made = recipe({"a": {"policy": "cot"}, "b": {"policy": "greedy"}})
    cells = [cell("a"), cell("a"), cell("a", "e"), cell("b")]
    groups = {("a", "d"): walk("a", "+-+"), ("b", "d"): walk("b", "+++++", usage=Usage(calls=7))}
    found = forecast(planner(made, cells), Results((), groups=groups))
    names = (
        "run",
        "data",
        "walks",
        "problems",
        "closed",
        "calls_at_most",
        "calls",
        "tokens",
        "cost",
    )
    assert [tuple(row[name] for name in names) for row in found["rows"]] == [
        ("a", "d", 2, 8, 3, 45, 10.0, 600.0, 2.5),
        ("a", "e", 1, 4, 0, 36, 8.0, 480.0, 2.0),
        ("b", "d", 1, 4, 5, 0, 0.0, 0.0, 0.0),
    ]
    assert found["besides"] == []
    assert found["total"] == {
        "problems": 16,
        "closed": 8,
        "calls_at_most": 81,
        "calls": 18.0,
        "tokens": 1080.0,
        "cost": 4.5,
    }
    assert {name: found[name] for name in ("recipe", "about", "differs", "backbones")} == {
        "recipe": "r", "about": "a", "differs": "x", "backbones": "m",
    }  # fmt: skip
    assert [each["name"] for each in found["data"]] == ["d", "e"]


def test_a_sum_of_which_one_part_is_unknown_is_unknown() -> None:
    made = recipe({"a": {"policy": "cot"}, "b": {"policy": "greedy"}})
    groups = {("a", "d"): walk("a", "+")}
    found = forecast(planner(made, [cell("a"), cell("b")], None), Results((), groups=groups))
    assert [row["calls_at_most"] for row in found["rows"]] == [None, None]
    assert found["total"] == {
        "problems": 8, "closed": 1, "calls_at_most": None, "calls": None, "tokens": None, "cost": None,
    }  # fmt: skip


# ── Beside episodes ──────────────────────────────────────────────────────────────────────────


def test_learning_costs_what_it_cost_a_problem_so_far() -> None:
    made = recipe({"a": {"policy": "mc2"}, "b": {"policy": "cot"}, "gone": {"policy": "mc2"}})
    reading = Reading(learning={"one": Spent(6, 90)}, scopes={"s": {"one"}})
    results = Results((), groups={("a", "d"): walk("a", "+-+")}, reading=reading)
    plan = planner(made, [cell("a"), cell("a", "e"), cell("b")])
    assert told(plan, of=results) == {"a learns": (None, None, None, 10.0, 150.0, None)}
    unknown = replace(
        results,
        reading=Reading(learning={"one": Spent(6, unknown_tokens=1)}, scopes={"s": {"one"}}),
    )
    assert told(plan, of=unknown) == {"a learns": (None, None, None, 10.0, None, None)}
    assert told(plan, of=Results(())) == {"a learns": (None, None, None, None, None, None)}
    done = replace(
        results, groups={("a", "d"): walk("a", "++++"), ("a", "e"): walk("a", "----", "e")}
    )
    assert told(plan, of=done) == {"a learns": (None, None, 0, 0.0, 0.0, 0.0)}


def test_each_answer_of_a_run_is_asked_about_by_each_row_beside_it() -> None:
    runs = {
        "a": {"policy": "cot"},
        "x": {"policy": "cot2_rescored", "beside": "a", "settings": {"rewording": "A"}},
        "y": {"policy": "cot2_rescored", "beside": "a", "settings": {"rewording": "B"}},
        "z": {"policy": "tot_trusted", "beside": "a"},
        "away": {"policy": "tot_trusted", "beside": "none"},
        "none": {"policy": "cot", "data": ["e"]},
    }
    mine = walk("a", "+-0")
    asked: dict[str, Any] = {"purpose": "beside", "policy": "cot2_rescored"}
    journals = {
        "1": fork(mine[0], 1, **asked),
        "2": fork(mine[0], 2, **asked),
        "3": fork(mine[1], 1, **asked),
        "4": fork(mine[1], 1, closed=False, **asked),
        "5": fork(mine[1], 1, purpose="beside", policy="tot_trusted"),
        "6": fork(mine[0], 1, purpose="other", policy="tot_trusted"),
    }
    results = Results((), groups={("a", "d"): mine}, reading=Reading(journals=journals))
    # One problem is open. An answer was withheld, and nobody asks about it.
    assert told(planner(recipe(runs), [cell("a")]), of=results) == {
        "x beside a": (2, 2, 4, 2.0, 22.0, 0.5),
        "y beside a": (2, 2, 4, 2.0, 22.0, 0.5),
        "z beside a": (1, 2, 4, 2.0, 22.0, 0.5),
    }


def test_a_judge_is_asked_once_about_what_no_grader_could_decide() -> None:
    runs = {"a": {"policy": "cot"}, "b": {"policy": "greedy"}}
    mine, other = walk("a", "+!!?"), walk("b", "!-")
    journals = {"1": fork(mine[1], 1, purpose="judge", policy="whatever")}
    groups = {("a", "d"): mine, ("b", "d"): other}
    results = Results((), groups=groups, reading=Reading(journals=journals))
    plan = planner(recipe(runs), [cell("a"), cell("b")])
    # Two of b's problems are open, and two answers are undecided that no verdict is of.
    assert told(plan, of=results, judge=True) == {
        "judge of undecided answers": (1, 4, 8, 4.0, 44.0, 1.0)
    }
    assert told(plan, of=results) == {}


@pytest.mark.parametrize(
    ("limits", "settings", "own"),
    [({}, {}, 16), ({"calls": 8}, {}, 8), ({"calls": 40}, {}, 16), ({}, {"primary_calls": 5}, 5)],
)
def test_every_prune_is_audited_once(
    limits: dict[str, int], settings: dict[str, Any], own: int
) -> None:
    runs = {"a": {"policy": "cot2_meta", "audit": True, "limits": limits, "settings": settings}}
    prunes = [NodePruned(round=at, node="1", value=0.1) for at in range(3)]
    mine = walk("a", "+-", events=prunes)
    first, second, third = (at for at, _ in mine[0].case.trace.events)
    journals = {
        "1": fork(mine[0], 1, at=first),
        "2": fork(mine[0], 3, at=second),
        "3": fork(mine[1], 9, at="77.0.0"),
        "4": fork(mine[0], 1, at=third),
        "5": fork(mine[0], 1, at=third),
    }
    results = Results((), groups={("a", "d"): mine}, reading=Reading(journals=journals))
    found = told(planner(recipe(runs), [cell("a")]), of=results)
    lacking = 2 * own + 3
    assert found == {
        "a audits what it pruned": (
            *(4, lacking, lacking * (2 * own + 16)),
            *(1.5 * lacking, 16.5 * lacking, 0.375 * lacking),
        )
    }


# ── As people read it ────────────────────────────────────────────────────────────────────────


def test_a_forecast_says_what_is_known_and_names_what_is_not() -> None:
    data = {"wanted": "jsonl", "problems": 1_234, "sha256": "0123456789abcdef99", "note": ""}
    spent = {"calls": 99.5, "tokens": 1_234.56, "cost": None}
    row = {"problems": 1_300, "closed": 1_100, "calls_at_most": 4_000, **spent}
    gap = {
        "table": "T",
        "model": "M",
        "cells": 2,
        "of": 3,
        "rows": ["A", "B"],
        "why": "not measured: x",
    }
    made = {
        "recipe": "r", "about": "About", "backbones": "m",
        "data": [
            {**data, "name": "d", "read": "d.jsonl"},
            {**data, "name": "e", "read": "e.jsonl", "note": "few"},
            {**data, "name": "f", "read": None, "sha256": None, "note": "not here"},
        ],
        "rows": [{"run": "a", "data": "d", "walks": 2, **row}],
        "besides": [
            {"run": "b", "what": "beside a", "made": 1_000, "lacking_at_most": 2_000, "calls_at_most": 5, **spent},
            {"run": "c", "what": "learns", "calls_at_most": None, **spent},
        ],
        "total": row | {"calls": 100.0, "tokens": 0.125},
        "not_measured": [gap, gap | {"model": "", "cells": 3}],
    }  # fmt: skip
    assert [*lines(made)] == [
        "r: About",
        "backbones: m",
        "data d (jsonl): 1,234 problems, sha256 0123456789abcdef",
        "data e (jsonl): 1,234 problems, sha256 0123456789abcdef; few",
        "data f (jsonl): not read; not here",
        "run a on d, 2 walks: 1,300 problems, 1,100 closed; at most 4,000 calls, "
        "expected 99.50 calls, 1,235 tokens, unknown cost",
        "b beside a: 1,000 made, at most 2,000 to make; at most 5 calls, "
        "expected 99.50 calls, 1,235 tokens, unknown cost",
        "c learns: calls not limited, expected 99.50 calls, 1,235 tokens, unknown cost",
        "in all: 1,300 problems, 1,100 closed; at most 4,000 calls, "
        "expected 100 calls, 0.12 tokens, unknown cost",
        "T (M), 2 of 3 cells (A, B): not measured: x",
        "T, 3 of 3 cells: not measured: x",
    ]


def test_cells_without_a_figure_are_told_by_table_and_reason() -> None:
    columns = {
        "right": {"data": "d", "metric": "accuracy"},
        "else": {"data": "e", "metric": "calls"},
        "words": {},
    }
    rows = {
        "A": {"run": "a", "paper": [1, 2, 3]},
        "B": {"run": "b", "paper": [None, 2, "–"]},
        "lost": {"paper": [1, "–", None]},
        "nothing": {"paper": ["–", None, "–"]},
    }
    tables = [{"title": "T", "model": "M", "columns": columns, "rows": rows}]
    made = recipe({"a": {"policy": "cot"}, "b": {"policy": "nope"}}, tables=tables)
    plan = planner(made, [])
    plan.sources["e"].read = None
    found = forecast(plan, Results((), absent=frozenset({"nope"})))
    head = {"table": "T", "model": "M", "of": 7}
    assert found["not_measured"] == [
        {**head, "cells": 1, "rows": ["A"], "why": "not measured: e is not here"},
        {**head, "cells": 2, "rows": ["B"], "why": "not measured: no policy nope in this build"},
        {**head, "cells": 3, "rows": ["A", "B", "lost"],
         "why": "not measured: nothing in this build measures it"},
    ]  # fmt: skip
