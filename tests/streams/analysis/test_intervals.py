"""Intervals by what each is defined by: what a test cannot refuse, so many outcomes, a scale on which it is even."""

from __future__ import annotations

from math import atanh, fsum, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.research.analysis.intervals import (
    bounded_interval,
    chance_interval,
    correlation_interval,
    count_interval,
    mean_interval,
    ratio_interval,
    share_interval,
    sum_interval,
    wilson,
)
from tests.late import Late

stats = Late("scipy.stats")
PAIRS = st.lists(st.tuples(st.integers(-50, 50), st.integers(-10, 50)), min_size=2, max_size=12)
LEVELS = st.sampled_from((0.8, 0.95, 0.99))


def refused(values: list[float], level: float) -> float:
    """How far a t-test is from taking the mean of these to be 0; above 0 it does not."""
    n = len(values)
    mean = fsum(values) / n
    spread = fsum((value - mean) ** 2 for value in values) / (n * (n - 1))
    return float(mean * mean - stats.t.ppf((1 + level) / 2, n - 1) ** 2 * spread)


@given(PAIRS, LEVELS)
def test_a_ratio_s_interval_is_all_that_a_t_test_cannot_refuse(
    pairs: list[tuple[int, int]], level: float
) -> None:
    """Fieller's: r is within where the mean of a - r b may be 0, and it is bounded where that of b may not."""

    def at(ratio: float) -> float:
        return refused([a - ratio * b for a, b in pairs], level)

    sure = refused([b for _, b in pairs], level)
    found = ratio_interval(pairs, level)
    if abs(sure) < 1e-6:
        return  # whether it is bounded is decided by rounding
    assert (found is None) is (sure < 0)
    if found is not None:
        low, high = found
        size = 1 + sure + max(map(abs, found)) ** 2 * max(b * b for _, b in pairs)
        assert at(low) == pytest.approx(0, abs=1e-8 * size)
        assert at(high) == pytest.approx(0, abs=1e-8 * size)
        assert at((low + high) / 2) <= 1e-8 * size
        assert at(low - 1) > 0 < at(high + 1)


def test_a_ratio_s_interval_is_of_two_pairs_or_more_and_at_95_in_a_hundred() -> None:
    assert ratio_interval([]) is None
    assert ratio_interval([(3, 2)]) is None
    pairs = [(3, 2), (5, 2), (4, 3)]
    assert ratio_interval(pairs) == ratio_interval(pairs, 0.95) != ratio_interval(pairs, 0.9)
    assert ratio_interval([(40, 20), (42, 21)]) == pytest.approx((2, 2))


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 5))
def test_a_count_s_interval_is_that_of_its_share_for_so_many_problems(
    each: list[bool], unknown: int
) -> None:
    """A problem of which nothing is known is none of them."""
    n = len(each)
    parts = [*((float(one), 1) for one in each), *[(0.0, 0)] * unknown]
    low, high = wilson(sum(each) / n, n)
    assert count_interval(parts) == pytest.approx((n * low, n * high))


def test_a_count_over_seeds_is_of_problems_and_not_of_episodes() -> None:
    parts = [(3.0, 3), (1.0, 3), (0.0, 3), (2.0, 3), (0.0, 0)]
    share = share_interval(parts)
    assert share is not None
    assert count_interval(parts) == pytest.approx((4 * share[0], 4 * share[1]))
    assert count_interval([(0.0, 0)]) is None


# ── Shares and sums ──────────────────────────────────────────────────────────────────────────

NOBODY = (0.0, 0)
"""A problem of which nothing is known."""


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5))
def test_outcomes_that_a_problem_decides_are_as_many_as_problems(
    right: int, wrong: int, each: int
) -> None:
    parts = [(float(each), each)] * right + [(0.0, each)] * wrong + [NOBODY]
    n = right + wrong
    assert share_interval(parts) == pytest.approx(wilson(right / n, n))


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
def test_outcomes_that_no_problem_decides_are_as_many_as_there_are(
    n: int, right: int, wrong: int
) -> None:
    parts = [(float(right), right + wrong)] * n
    whole = n * (right + wrong)
    assert share_interval(parts) == pytest.approx(wilson(right / (right + wrong), whole))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_where_all_say_the_same_seeds_say_nothing_more(share: float) -> None:
    assert share_interval([(3 * share, 3)] * 4) == wilson(share, 4)
    assert share_interval([NOBODY]) is share_interval([]) is None


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=9))
def test_a_sum_s_interval_is_its_mean_s_for_so_many_problems(values: list[int]) -> None:
    parts = [(float(value), 1) for value in values]
    n, found = len(values), sum_interval([*parts, NOBODY])
    mean = mean_interval(parts)
    assert mean is not None
    more = 0.0 if len(set(values)) > 1 else wilson(0, n)[1]
    assert found == pytest.approx((n * (mean[0] - more), n * (mean[1] + more)), abs=1e-9)
    assert sum_interval([parts[0], NOBODY]) is None


@given(st.lists(st.integers(0, 10), min_size=2, max_size=9))
def test_a_mean_of_chances_does_not_leave_them_and_is_not_certain_where_all_are_alike(
    tenths: list[int],
) -> None:
    parts = [(each / 10, 1) for each in tenths]
    found, mean = chance_interval([*parts, NOBODY]), mean_interval(parts)
    assert found is not None
    assert mean is not None
    assert found[0] < found[1]
    if mean[0] == mean[1]:
        assert found == wilson(mean[0], len(tenths))
    else:
        assert found == (max(0.0, mean[0]), min(1.0, mean[1]))
    assert chance_interval(parts[:1]) is None
    narrow = chance_interval(parts, 0.5)
    assert narrow is not None
    assert found[0] <= narrow[0] <= narrow[1] <= found[1]


@pytest.mark.parametrize("seeds", [1, 3])
def test_values_that_are_all_alike_have_no_width_of_rounding(seeds: int) -> None:
    for n in range(2, 17):
        for fifths in range(1, 5):
            parts = [(fsum([fifths / 5] * seeds), seeds)] * n
            mean = mean_interval(parts)
            assert mean is not None
            assert mean[0] == mean[1] == pytest.approx(fifths / 5)
            assert chance_interval(parts) == bounded_interval(parts) == wilson(mean[0], n)
            missed = n * wilson(0, n)[1]
            total = n * mean[0]
            assert sum_interval(parts) == pytest.approx((total - missed, total + missed))


# ── Scales of their own ──────────────────────────────────────────────────────────────────────


def odds(chance: float) -> float:
    return log(chance / (1 - chance))


@given(st.lists(st.integers(10, 90), min_size=4, max_size=12))
def test_an_area_s_interval_is_even_on_the_scale_of_log_odds(values: list[int]) -> None:
    parts = [(value / 100, 1) for value in values]
    mean, found = mean_interval(parts), bounded_interval([*parts, NOBODY])
    assert mean is not None
    assert found is not None
    middle, half = (mean[0] + mean[1]) / 2, (mean[1] - mean[0]) / 2
    assert 0 < found[0] < middle < found[1] < 1
    if half == 0:
        assert found == wilson(middle, len(values))
        return
    assert odds(found[0]) + odds(found[1]) == pytest.approx(2 * odds(middle), abs=1e-6)
    wide = 2 * half / (middle * (1 - middle))
    assert odds(found[1]) - odds(found[0]) == pytest.approx(wide, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("end", [0, 1])
def test_an_area_at_its_end_is_as_of_so_many_outcomes(end: int) -> None:
    assert bounded_interval([(float(end), 1)] * 5 + [NOBODY]) == wilson(end, 5)
    beyond = [(2.0 * end - 0.5, 1)] * 5
    assert bounded_interval(beyond) == wilson(end, 5), "an influence may lie beyond"
    assert bounded_interval([(float(end), 1)]) is None


@given(st.lists(st.integers(-90, 90), min_size=4, max_size=12))
def test_a_correlation_s_interval_is_even_on_fisher_s_scale(values: list[int]) -> None:
    parts = [(value / 100, 1) for value in values]
    mean, found = mean_interval(parts), correlation_interval(parts)
    assert mean is not None
    assert found is not None
    middle, half = (mean[0] + mean[1]) / 2, (mean[1] - mean[0]) / 2
    if max(map(abs, found)) < 1 - 1e-9:
        low, high = map(atanh, found)
        assert low + high == pytest.approx(2 * atanh(middle), abs=1e-5)
        assert high - low == pytest.approx(2 * half / (1 - middle**2), rel=1e-5, abs=1e-5)


def test_a_correlation_that_is_whole_or_of_one_has_no_interval() -> None:
    for whole in (1.0, -1.0):
        assert correlation_interval([(whole, 1)] * 4) is None
    assert correlation_interval([(0.5, 1)]) is None
