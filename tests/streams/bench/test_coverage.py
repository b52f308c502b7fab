"""What nobody could grade is in no denominator in silence: every figure says what it is over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from schemas.usage import Usage
from streams.analysis.figures import confidences
from streams.bench.compare import frontier, mcnemar_matrix, progress
from streams.bench.metrics import METRICS
from streams.bench.pages import sections
from streams.bench.results import Episode
from streams.cli.demo.local import right_of


def episode(problem: str, outcome: str, confidence: float | None = None) -> Episode:
    closed = SimpleNamespace(
        answer=None if outcome == "withheld" else "x",
        usage=Usage(calls=1),
        confidence=confidence,
        confidence_source=None if confidence is None else "stated",
    )
    case = SimpleNamespace(
        episode=f"p/d/{problem}/r",
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


def test_progress_says_how_many_were_graded() -> None:
    made = progress(ONE, lambda one: 1 if one.case.problem.id == "a" else 2)
    assert made is not None
    assert [(point["graded"], point["problems"]) for point in made["points"]] == [(1, 1), (1, 2)]


def test_calibration_says_what_it_leaves_out() -> None:
    found = confidences(cases(ONE))["stated"]
    assert (found["answers"], found["left_out"]) == (2, 1)


def test_the_local_demo_counts_them() -> None:
    assert right_of(cases(ONE)) == "1 of 3, 1 ?"
    assert right_of(cases(ONE[:2])) == "1 of 2"
