"""What figures are made of: units of one problem, and a judge that nobody asked."""

from __future__ import annotations

from streams.research.analysis.figures import judge_figures
from streams.research.analysis.found import Unit, by_problem, parts_of
from tests.streams.bench.worlds import case

UNITS = [Unit("a", 1.0), Unit("b", None), Unit("a", 0.0), Unit("a", None), Unit("c", 4.0)]


def test_a_problem_s_units_are_their_mean_and_unknown_where_none_is_known() -> None:
    assert by_problem(UNITS) == {"a": 0.5, "b": None, "c": 4.0}
    assert parts_of(UNITS) == [(1.0, 2), (4.0, 1)]


def test_without_a_verdict_there_are_no_figures_of_a_judge() -> None:
    assert judge_figures([case("a"), case("b")]) is None
