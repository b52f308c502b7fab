"""What nobody could grade is in no denominator in silence: every figure says what it is over."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas.usage import Usage
from streams.interfaces.cli.demo.local import POLICIES, right_of, verdict
from streams.interfaces.cli.show.library import Library
from streams.research.analysis.figures import confidences
from streams.research.bench.compare import frontier, mcnemar_matrix, progress
from streams.research.bench.metrics import METRICS
from streams.research.bench.pages import sections
from streams.research.bench.results import Episode
from streams.research.bench.tables import measured_table


def episode(problem: str, outcome: str, confidence: float | None = None) -> Episode:
    closed = SimpleNamespace(
        answer=None if outcome == "withheld" else "x",
        usage=Usage(calls=1),
        confidence=confidence,
        confidence_source=None if confidence is None else "stated",
    )
    case = SimpleNamespace(
        episode=f"p/d/{problem}/r",
        about=f"d/{problem}",
        problem=SimpleNamespace(id=problem),
        outcome=outcome,
        closed=closed,
        calibrated=None,
        trace=SimpleNamespace(events=()),
    )
    return Episode(cast("Any", SimpleNamespace(seed=0)), cast("Any", case))


ONE = [episode("a", "right", 0.9), episode("b", "wrong", 0.2), episode("c", "unknown", 0.8)]
OTHER = [episode("a", "wrong"), episode("b", "unknown"), episode("c", "withheld")]
GROUPS = {"one": ONE, "other": OTHER}


def cases(group: list[Episode]) -> list[Any]:
    return [one.case for one in group]


def test_coverage_stands_beside_accuracy() -> None:
    assert METRICS["accuracy"].of(cases(ONE)) == 50
    assert METRICS["coverage"].of(cases(ONE)) == pytest.approx(200 / 3)
    points = {point["run"]: point for point in frontier(GROUPS, "calls")}
    assert points["one"]["coverage"] == points["other"]["coverage"] == 66.666667


def test_a_test_of_pairs_says_which_pairs_it_leaves_out() -> None:
    found = mcnemar_matrix(GROUPS)["one"]["other"]
    assert (found["wins"], found["losses"], found["left_out"]) == (1, 0, 2)


def test_the_page_says_so_too() -> None:
    made: dict[str, Any] = {
        "paper": "a paper",
        "comparisons": {
            "d": {
                **{f"by_{cost}": frontier(GROUPS, cost) for cost in ("calls", "tokens")},
                "mcnemar": mcnemar_matrix(GROUPS),
            }
        },
        "measured": [],
    }
    [(_, lines)] = sections(made)
    assert "one (50.0 % of the 66.7 % graded at 1.0)" in lines[0]
    assert "McNemar, one against other 1:0 p 1 (2 not graded in both)" in lines


def test_the_page_says_of_how_many_a_cost_is_known_and_of_whom_it_is_not() -> None:
    """A run whose tokens nobody knew was missing without a word, and a mean over half of them stood as one of all."""
    half = [episode("a", "right"), episode("b", "right")]
    paid = Usage(calls=1, prompt_tokens=40, completion_tokens=2)
    vars(half[0].case.closed)["usage"] = paid
    groups = {"half": half, "none": OTHER}
    made: dict[str, Any] = {
        "paper": "a paper",
        "comparisons": {
            "d": {f"by_{cost}": frontier(groups, cost) for cost in ("calls", "tokens")}
            | {"mcnemar": {}}
        },
        "measured": [],
    }
    [(_, (_, tokens))] = sections(made)
    assert tokens == "not beaten by tokens: half (100.0 % at 42.0, 1 of 2); tokens unknown of none"


def test_what_was_measured_says_of_how_many_each_figure_is() -> None:
    nothing = {"value": None, "known": 0, "unknown": 0, "seeds_unknown": 0}
    part = {"value": 0.25, "known": 3, "unknown": 2, "seeds_unknown": 0}
    names = ("accuracy", "coverage", "calls", "tokens", "ece", "aurc", "f1")
    each: dict[str, Any] = {
        "data": "d", "run": "r", "episodes": 5, "accuracy_interval": None,
        "learning": {"calls": 0, "consolidations": {}},
        "metrics": {name: part if name in ("ece", "f1") else nothing for name in names},
        "outcomes": dict.fromkeys(("commission", "omission", "undecided", "not_graded"), 0),
    }  # fmt: skip
    shown = measured_table({"measured": [each]})
    found = dict(zip(shown.head, *shown.rows, strict=True))
    assert (found["ECE"], found["F1"]) == ("0.250, 3 of 5", "0.250, 3 of 5")
    assert "AURC" not in found, "a column of dashes says nothing"
    assert shown.under == "Not known of any: right %, 95 %, graded %, calls, tokens, AURC."


def test_progress_says_how_many_were_graded() -> None:
    made = progress(ONE, lambda one: 1 if one.case.problem.id == "a" else 2)
    assert made is not None
    assert [(point["graded"], point["problems"]) for point in made["points"]] == [(1, 1), (1, 2)]


def test_calibration_says_what_it_leaves_out() -> None:
    found = confidences(cases(ONE))["stated"]
    assert (found["answers"], found["left_out"]) == (2, 1)


def test_the_local_demo_compares_what_both_were_graded_on() -> None:
    """An answer that nobody could grade counted as lost to the other policy."""
    for policy, group in zip(POLICIES, (ONE, OTHER), strict=True):
        for one in group:
            vars(one.case)["opened"] = SimpleNamespace(policy=policy)
    first, *_ = verdict(cases([*ONE, *OTHER]))
    assert first.startswith("Of 1 problem that both were graded on (2 more are undecided) only ")
    assert f"only {POLICIES[0]} had 1 right, only {POLICIES[1]} 0 " in first


def test_lessons_and_rules_say_of_how_many_uses_nobody_can_say_what_became() -> None:
    library: Any = SimpleNamespace(outcomes=Counter)
    some: Any = ["right", "unknown", "wrong", "right"]
    assert Library.right_of(library, some) == "2 right, 1 not graded"
    assert Library.right_of(library, some[2:]) == "1 right"


def test_the_local_demo_counts_them() -> None:
    assert right_of(cases(ONE)) == "1 of 3, 1 ?"
    assert right_of(cases(ONE[:2])) == "1 of 2"
