"""Intervals of ratios and of counts, by what each is defined by: the values that a test at that level cannot refuse."""

from __future__ import annotations

from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from streams.analysis.intervals import (
    count_interval,
    ratio_interval,
    share_interval,
    wilson,
)

PAIRS = st.lists(st.tuples(st.integers(-50, 50), st.integers(-10, 50)), min_size=2, max_size=12)
LEVELS = st.sampled_from((0.8, 0.95, 0.99))


def refused(values: list[float], level: float) -> float:
    """How far a t-test is from taking the mean of these to be 0; above 0 it does not."""
    n = len(values)
    mean = fsum(values) / n
    spread = fsum((value - mean) ** 2 for value in values) / (n * (n - 1))
    return float(mean * mean - student.ppf((1 + level) / 2, n - 1) ** 2 * spread)


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
