"""The interval of a calibration error, reckoned once more from what it is defined by."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.research.analysis.calibrated import WIDEST, Bin, Stated, calibration_interval
from tests.late import Late

stats = Late("scipy.stats")
optimize = Late("scipy.optimize")
numpy = Late("numpy")

Bins = Sequence[tuple[int, float, int]]
"""Of each bin: answers, the confidence in all of them, how many are right."""


def stated(bins: Bins, apart: str = "") -> list[Stated]:
    """Each answer of a seed, to a problem of its own."""
    return [
        (f"{apart}{confidence}/{at}", confidence, at < right)
        for size, confidence, right in bins
        for at in range(size)
    ]


def looks(size: int, confidence: float, chance: float) -> tuple[float, float]:
    """Mean and variance of the gap that a bin shows whose answers are right this often."""
    right = numpy.arange(size + 1)
    odds = stats.binom.pmf(right, size, chance)
    gaps = abs(right / size - confidence)
    mean = float(odds @ gaps)
    return mean, float(odds @ (gaps - mean) ** 2)


@given(st.integers(1, 12), st.floats(0.05, 0.95), st.floats(-0.5, 0.5), st.floats(0, 3))
def test_what_a_bin_shows_is_binomial(
    size: int, confidence: float, gap: float, times: float
) -> None:
    found = Bin(size, confidence, gap)
    chance = min(max(confidence + times * gap, 0.0), 1.0)
    assert found.chance(times) == pytest.approx(chance)
    assert found.true(times) == pytest.approx(abs(chance - confidence))
    assert found.seen(times) == pytest.approx(looks(size, confidence, chance), abs=1e-12)


def reckoned(
    seeds: Sequence[Bins], gaps: Sequence[float], free: float, repeated: float, level: float = 0.95
) -> tuple[float, float]:
    """Both ends by another library: where the error printed lies as far beside ours as it strays."""
    z = float(stats.t.ppf((1 + level) / 2, free))
    ours = sum(
        sum(abs(right - size * said) for size, said, right in bins) / sum(size for size, *_ in bins)
        for bins in seeds
    ) / len(seeds)

    def told(times: float) -> tuple[float, float, float]:
        """The true error, the one that is printed on average, and how far it strays."""
        errors: list[float] = []
        means: list[float] = []
        squares: list[float] = []
        for bins in seeds:
            whole = sum(size for size, *_ in bins)
            chances = [
                min(max(b[1] + times * gap, 0.0), 1.0) for b, gap in zip(bins, gaps, strict=True)
            ]
            true = [abs(chance - b[1]) for b, chance in zip(bins, chances, strict=True)]
            shown = [looks(b[0], b[1], chance) for b, chance in zip(bins, chances, strict=True)]
            error = sum(b[0] * each for b, each in zip(bins, true, strict=True)) / whole
            errors.append(error)
            means.append(sum(b[0] * mean for b, (mean, _) in zip(bins, shown, strict=True)) / whole)
            own = sum(b[0] ** 2 * square for b, (_, square) in zip(bins, shown, strict=True))
            among = sum(b[0] * (each - error) ** 2 for b, each in zip(bins, true, strict=True))
            squares.append((own + among) / whole**2)
        strays = z * sqrt(repeated * sum(squares)) / len(seeds)
        return sum(errors) / len(seeds), sum(means) / len(seeds), strays

    def end(side: int) -> float:
        def beyond(times: float) -> float:
            _, mean, strays = told(times)
            return mean + side * strays - ours

        if beyond(0.0) >= 0:
            return 0.0
        if beyond(WIDEST) < 0:
            return told(WIDEST)[0]
        return told(float(optimize.brentq(beyond, 0.0, WIDEST, xtol=1e-9)))[0]

    return end(1), end(-1)


ONE: Bins = [(60, 0.85, 30), (40, 0.25, 22)]
FEW: Bins = [(5, 0.85, 2), (6, 0.25, 3)]
EVEN: Bins = [(20, 0.5, 10), (20, 0.9, 8)]
SURE: Bins = [(10, 1.0, 5), (10, 0.3, 6)]
TWO: Bins = [(2, 0.7, 1)]
CASES: list[tuple[Bins, list[float]]] = [
    (ONE, [0.5 - 0.85, 0.55 - 0.25]),
    (FEW, [0.4 - 0.85, 0.5 - 0.25]),
    (EVEN, [0.5 / 20, 0.4 - 0.9]),
    (SURE, [0.5 - 1.0, 0.6 - 0.3]),
    (TWO, [0.5 - 0.7]),
]
"""A bin whose share is its confidence has the smallest gap that so many answers could show."""


@pytest.mark.parametrize(("bins", "gaps"), CASES)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_an_end_is_the_error_that_prints_ours_just_as_far_off_as_it_strays(
    bins: Bins, gaps: list[float], level: float
) -> None:
    found = calibration_interval([stated(bins)], level)
    free = sum(size for size, *_ in bins) - len(bins)
    assert found == pytest.approx(reckoned([bins], gaps, free, 1, level), abs=1e-4)
    if level == 0.95:
        assert found == calibration_interval([stated(bins)])


def test_of_seeds_the_gaps_are_common_and_the_mean_strays_less() -> None:
    other: Bins = [(60, 0.85, 36), (40, 0.25, 18)]
    gaps = [66 / 120 - 0.85, 40 / 80 - 0.25]
    apart = calibration_interval([stated(ONE, "a"), stated(other, "b")])
    assert apart == pytest.approx(reckoned([ONE, other], gaps, 198, 1), abs=1e-4)
    third = calibration_interval([stated(ONE, "a"), stated(other, "b"), stated(ONE, "c")])
    gaps = [96 / 180 - 0.85, 62 / 120 - 0.25]
    assert third == pytest.approx(reckoned([ONE, other, ONE], gaps, 298, 1), abs=1e-4)
    same = calibration_interval([stated(ONE), stated(ONE)])
    gaps = [0.5 - 0.85, 0.55 - 0.25]
    assert same == pytest.approx(reckoned([ONE, ONE], gaps, 200 / 2 - 2, 2), abs=1e-4)


@pytest.mark.parametrize("sure", [0.0, 1.0])
@pytest.mark.parametrize("size", [1, 5, 30])
def test_answers_that_are_all_sure_and_all_as_said_may_not_be_so_always(
    size: int, sure: float
) -> None:
    found = calibration_interval([stated([(size, sure, size if sure else 0)])])
    assert found is not None
    low, high = found
    z = float(stats.t.ppf(0.975, max(size - 1, 1)))
    assert low == 0
    assert high == pytest.approx(z * z / (size + z * z), abs=1e-4), "p - z sqrt(p (1 - p) / n) = 0"


def test_one_answer_as_likely_as_not_may_come_from_any_error() -> None:
    for right in (0, 1):
        assert calibration_interval([stated([(1, 0.5, right)])]) == (0, 0.5)


def test_what_is_as_wide_as_can_be_reaches_to_the_widest_error() -> None:
    found = calibration_interval([[("a", 0.5, True)]])
    assert found is not None
    assert 0 <= found[0] <= found[1] <= 0.5
    assert calibration_interval([[], stated(ONE)]) == calibration_interval([stated(ONE)])
    assert calibration_interval([[], []]) is None
