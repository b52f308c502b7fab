"""The figures of mechanisms: exact where nothing is drawn, and their intervals cover truths that were set by hand.

With ``test_spreads`` this is every figure that a recipe names: one that is in neither fails here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from statistics import fmean
from typing import Any

import pytest

from handlers.answers.normalise import canonical
from handlers.learning.metrics import ece
from schemas.usage import Usage
from streams.research.analysis.calibrated import Stated, calibration_interval
from streams.research.analysis.cases import Case
from streams.research.analysis.control import DEPTHS
from streams.research.analysis.intervals import (
    correlation_interval,
    count_interval,
    ratio_interval,
    sum_interval,
    wilson,
)
from streams.research.analysis.mechanisms import FITTED
from streams.research.analysis.statistics import left_out, mcnemar, spearman
from streams.research.bench import curves
from streams.research.bench.cells import ours
from streams.research.bench.compare import arms
from streams.research.bench.curves import POINTS
from streams.research.bench.metrics import METRICS
from streams.research.bench.recipe import COMPARED, P_VALUE, TOKENS_PER_POINT, Place, load, names
from streams.research.bench.results import Episode, Results
from tests.streams.bench.drawn import (
    CLASSES,
    F1,
    FLOWS,
    GRADES,
    MANY,
    PROBLEMS,
    REGRET,
    VOTES,
    WORLDS,
    Draw,
    Made,
    World,
    acting,
    at_depth,
    audited,
    choosing,
    confident,
    ending,
    failing,
    feeling,
    guided,
    judged,
    leaning,
    marked,
    pulled,
    read_again,
    repairing,
    rho_of_grades,
    sampled,
    voted,
    worded,
)
from tests.streams.bench.test_cells import HERE, recipe
from tests.streams.bench.test_spreads import COVERED as PLAIN
from tests.streams.bench.worlds import case, episodes


def value(name: str, cases: Sequence[Case]) -> tuple[Any, int, int]:
    found = METRICS[name].found(cases)
    return found.value, found.known, found.unknown


# ── Exact ────────────────────────────────────────────────────────────────────────────────────


def test_regret_is_against_the_best_arm_s_mean_and_is_the_curve_s_end() -> None:
    cases = [pulled("a", ("x", 0.9), ("y", 0.1)), pulled("b", ("x", 0.7), ("y", None))]
    assert value("regret", cases) == (pytest.approx(0.8 - 1.7 / 3), 3, 1)
    made = arms(episodes(*cases))
    assert made is not None
    assert made["regret"][-1] == pytest.approx(3 * (0.8 - 1.7 / 3), abs=1e-6)
    assert value("regret", [pulled("c", ("x", None))]) == (None, 0, 1)
    worth = METRICS["regret"].found(cases).worth
    assert fmean(unit.value or 0 for unit in worth) == pytest.approx(0.8 - 1.7 / 3)


def by_problem(pairs: Sequence[tuple[float, bool]]) -> list[Stated]:
    return [(str(at), said, right) for at, (said, right) in enumerate(pairs)]


def test_a_calibration_error_begins_at_none_where_chance_alone_makes_as_much() -> None:
    even = [(0.5, at % 2 == 0) for at in range(40)]
    low, high = calibration_interval([by_problem(even)]) or (1, 1)
    assert (low, ece(even)) == (0, 0)
    assert 0.05 < high < 0.2
    sure = [(0.9, False)] * 40
    low, high = calibration_interval([by_problem(sure)]) or (1, 0)
    assert 0.75 < low < ece(sure) == pytest.approx(0.9)
    assert high <= 0.9 + 1e-9, "no gap is wider than its confidence lets it be"
    assert calibration_interval([]) is calibration_interval([[]]) is None


def test_what_is_left_without_each_says_what_it_is_worth() -> None:
    draw = Random(3).random
    pairs = [(draw(), draw()) for _ in range(30)]

    def rho(items: Sequence[tuple[float, float]]) -> float | None:
        return spearman([a for a, _ in items], [b for _, b in items])

    worth = left_out(pairs, rho)
    assert worth is not None
    assert fmean(worth) == pytest.approx(rho(pairs))
    assert left_out([(1.0, 1.0), (2.0, 2.0)], rho) is None, "without one of them there is none"
    assert correlation_interval([(1.0, 1)] * 5) is None


def test_intervals_of_counts_and_sums_are_of_as_many_problems() -> None:
    low, high = wilson(0.25, 8)
    assert count_interval([(1, 1), (0, 1), (0, 1), (0, 1)] * 2) == pytest.approx(
        (8 * low, 8 * high)
    )
    assert count_interval([]) is None
    same = sum_interval([(0, 1)] * 10)
    assert same == pytest.approx((-10 * wilson(0, 10)[1], 10 * wilson(0, 10)[1]))
    assert sum_interval([(1, 1)]) is None
    found = sum_interval([(1, 1), (0, 1), (-1, 1), (1, 1)])
    assert found is not None
    assert fmean(found) == pytest.approx(1)


def test_a_ratio_s_interval_is_unknown_where_its_lower_side_may_be_nothing() -> None:
    assert ratio_interval([(10, 1), (10, -1), (10, 0)]) is None
    assert ratio_interval([(10, 1)]) is None
    low, high = ratio_interval([(10, 1), (12, 1), (8, 1)]) or (0, 0)
    assert low < 10 < high
    assert low + high == pytest.approx(20)


COVERED: list[World] = [
    (repairing, {"rescue": 50, "hurt": 20, "net_repairs": PROBLEMS * 2 * (0.6 * 0.5 - 0.4 * 0.2)}),
    (marked, {"grade_rho": rho_of_grades(), "accuracy_a": 90}),
    (worded, {"f1": F1, "f1_percent": 100 * F1}),
    (
        failing,
        {"failures": MANY / 2, "failure": 90, "failure_calls": 10}
        | {f"failures_{name.lower()}": MANY / 2 * share for name, share in CLASSES.items()}
        | {f"failure_{name.lower()}": 100 * share / (1 if name == "F2" else 0.9) for name, share in CLASSES.items()}
        | {f"failure_calls_{name.lower()}": 10 for name in CLASSES},
    ),
    (choosing, {"regret": REGRET}),
    (judged, {"judge_cost": 2.0}),
    *((acting(depth), at_depth(depth)) for depth in DEPTHS),
    *((guided(batch), {f"guide_fit_batch_{batch}": 0.6, f"guide_fit_random_batch_{batch}": 0.3}) for batch in FITTED),
    (guided(2), {"guide_fit": 0.6, "guide_fit_random": 0.3}),
    (ending, {f"flow_{name}": share for name, share in FLOWS.items()}),
    (audited, {"false_prunes": 30, "prune_precision": 70, "oracle_gap": 0.3}),
    (read_again, {"parse_recovered": 30}),
    (marked, {"right": PROBLEMS * sum(share * chance for share, chance in GRADES.values())}),
    (confident(VOTES), {"ece": fmean(said - true for said, true in VOTES)}),
    (leaning(lambda said: said), {"ece": 0.0}),
    (leaning(lambda said: said / 2), {"ece": 0.25}),
    *((feeling(each), {f"ece_{each.lower()}": 0.25}) for each in ("EOL", "FOK", "JOL")),
    (feeling("difficulty", of_wrong=True), {"ece_difficulty": 0.25}),
    *((sampled(n + 2, 1 / n), {f"any_of_{n}": 100 * (1 - (1 - 1 / n) ** n)}) for n in POINTS[1:]),
    *((sampled(n, 0.3, 0.6), {f"vote_of_{n}": 50 * (voted(n, 0.3) + voted(n, 0.6))}) for n in POINTS),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("made", "truths"),
    COVERED,
    ids=["-".join(truths)[:60] for _, truths in COVERED],
)
def test_intervals_cover_the_truth(
    made: Made, truths: Mapping[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves, "DRAWS", 1)  # an order more or less changes no truth
    monkeypatch.setattr(curves, "canonical", lru_cache(maxsize=None)(canonical))
    monkeypatch.setattr(curves, "order", lru_cache(maxsize=None)(curves.order))
    held = dict.fromkeys(truths, 0)
    for world in range(WORLDS):
        draw = Random(world).random
        cases = [made(str(at), draw) for at in range(MANY if made is failing else PROBLEMS)]
        for name, truth in truths.items():
            found = METRICS[name].between([METRICS[name].found(cases)])
            assert found is not None
            held[name] += found[0] <= truth <= found[1]
    shares = {name: count / WORLDS for name, count in held.items()}
    most = {name: 1.0 if truth == 0 else 0.98 for name, truth in truths.items()}
    missed = {name: share for name, share in shares.items() if not 0.92 <= share <= most[name]}
    assert missed == {}, "of what is 0 and cannot be less, one side alone can miss"


# ── Of two runs ──────────────────────────────────────────────────────────────────────────────


def told(metric: str, mine: Sequence[Case], other: Sequence[Case]) -> dict[str, Any]:
    groups: dict[tuple[str, str], list[Episode]] = {
        ("a", "d"): episodes(*mine),
        ("b", "d"): episodes(*other),
    }
    place = Place(run="a", data="d", metric=metric, less=("b",))
    found: dict[str, Any] = ours(place, recipe("a", "b"), Results((), groups=groups), HERE)["ours"]
    return found


def spent(problem: str, draw: Draw, *, chance: float, tokens: int) -> Case:
    usage = Usage(calls=1, prompt_tokens=tokens + int(201 * draw()), completion_tokens=0)
    return case(problem, "right" if draw() < chance else "wrong", usage=usage)


@pytest.mark.slow
def test_the_interval_of_tokens_for_a_point_covers_the_truth() -> None:
    held = 0
    for world in range(WORLDS):
        draw = Random(world).random
        mine = [spent(str(at), draw, chance=0.9, tokens=900) for at in range(2 * PROBLEMS)]
        other = [spent(str(at), draw, chance=0.3, tokens=300) for at in range(2 * PROBLEMS)]
        low, high = told(TOKENS_PER_POINT, mine, other)["interval"]
        held += low <= 600 / 60 <= high
    assert 0.92 <= held / WORLDS <= 0.98


@pytest.mark.slow
def test_a_p_value_is_small_in_few_worlds_without_a_difference() -> None:
    small = 0
    for world in range(WORLDS):
        draw = Random(world).random
        mine, other = (
            [spent(str(at), draw, chance=0.5, tokens=0) for at in range(PROBLEMS)] for _ in "ab"
        )
        small += told(P_VALUE, mine, other)["value"] <= 0.05
    assert 0.01 <= small / WORLDS <= 0.05, "it is exact, and so somewhat careful"
    assert mcnemar(5, 0) == 2 / 32


# ── All of them ──────────────────────────────────────────────────────────────────────────────

FACTS: Mapping[str, str] = {
    "strategies": "the arms that a run pulled: a count of what its log holds, and no estimate",
    P_VALUE: "a test of two runs: how seldom it is small without a difference is tested above",
}
"""Figures without an interval, and why."""


def test_every_figure_of_every_recipe_has_a_world_or_is_a_fact() -> None:
    named = {
        part.metric
        for name in names()
        for table in load(name).tables
        for row in table.rows.values()
        for column in table.columns.values()
        for place in [row.joined(column)]
        for part in (place, *place.parts)
        if part.metric is not None
    }
    covered = {name for _, truths in (*PLAIN, *COVERED) for name in truths} | {TOKENS_PER_POINT}
    assert {*METRICS, *COMPARED, *named} - covered == FACTS.keys()
    assert (
        METRICS["strategies"].interval(METRICS["strategies"].found([pulled("a", ("x", 1))]).sample)
        is None
    )
