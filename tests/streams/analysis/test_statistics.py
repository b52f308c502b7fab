"""Our statistics against SciPy's and scikit-learn's on random inputs, and intervals against the truth."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from handlers.learning import metrics
from streams.research.analysis import statistics as ours
from streams.research.analysis.intervals import mean_interval, of_outcomes, wilson
from tests.late import Late

special = Late("scipy.special")
stats = Late("scipy.stats")
scores = Late("sklearn.metrics")
calibration = Late("sklearn.calibration")

NEAR = 1e-9
numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda value: round(value, 6))
units = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 6))


def pairs(low: int, high: int) -> st.SearchStrategy[list[tuple[float, bool]]]:
    return st.lists(st.tuples(units, st.booleans()), min_size=low, max_size=high)


def near(value: float | None) -> Any:
    return pytest.approx(value, rel=NEAR, abs=NEAR)


@given(st.floats(-60, 60), st.integers(1, 200))
@example(1e-6, 102)
def test_students_t(t: float, freedom: int) -> None:
    assert ours.t_p(t, freedom) == near(2 * float(stats.t.sf(abs(t), freedom)))


@given(st.floats(0.5, 0.999), st.integers(1, 200))
def test_students_quantile(level: float, freedom: int) -> None:
    assert ours.t_quantile(level, freedom) == near(float(stats.t.ppf((1 + level) / 2, freedom)))


@given(st.lists(numbers, min_size=2, max_size=9))
def test_the_interval_over_seeds(values: list[float]) -> None:
    half = ours.t_half_width(values)
    mean = sum(values) / len(values)
    spread = float(stats.sem(values))
    assert half == near(float(stats.t.ppf(0.975, len(values) - 1)) * spread)
    assert mean - float(half or 0) <= mean


@given(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=30))
def test_the_slope(points: list[tuple[float, float]]) -> None:
    x, y = [point[0] for point in points], [point[1] for point in points]
    assume(max(x) - min(x) > 1e-3)
    found, theirs = ours.slope(x, y), stats.linregress(x, y)
    assert found is not None
    assert found.slope == near(float(theirs.slope))
    if abs(theirs.rvalue) < 0.999:  # beyond, 1 - r² holds few digits on either side
        assert found.p == near(float(theirs.pvalue))


def test_a_slope_needs_three_points_at_two_places() -> None:
    assert ours.slope([1, 2], [0, 1]) is None
    assert ours.slope([2, 2, 2], [0, 1, 0]) is None
    assert ours.slope([0.1, 0.2, 0.3], [5, 5, 5]) == ours.Slope(0.0, 1.0)
    assert ours.slope([1, 2, 3], [1, 2, 3]) == ours.Slope(1.0, 0.0)


@given(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=30))
def test_rank_correlation(points: list[tuple[float, float]]) -> None:
    x, y = [point[0] for point in points], [point[1] for point in points]
    found = ours.spearman(x, y)
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert found is None
    else:
        assert found == near(float(stats.spearmanr(x, y).statistic))


@given(pairs(2, 40))
def test_the_area_under_the_roc_curve(found: list[tuple[float, bool]]) -> None:
    right = [each for _, each in found]
    area = ours.auroc([score for score, _ in found], right)
    if all(right) or not any(right):
        assert area is None
    else:
        assert area == near(float(scores.roc_auc_score(right, [score for score, _ in found])))


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar(one: int, other: int) -> None:
    if one + other == 0:
        assert ours.mcnemar(one, other) == 1.0
    else:
        assert ours.mcnemar(one, other) == near(float(stats.binomtest(one, one + other).pvalue))


@given(st.integers(1, 40), st.floats(0.02, 1), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=40)
def test_the_least_difference_that_is_found(size: int, differing: float, power: float) -> None:
    """Over all outcomes of so many pairs: it is found so often, and one of a tenth of a point less is not."""
    found = ours.least_found(size, differing, power)
    largest = int(round(differing * 1_000, 6)) / 1_000
    if found is None:
        assert often_found(size, differing, largest) < power
    else:
        assert often_found(size, differing, found) >= power - NEAR
        assert found == 0.001 or often_found(size, differing, found - 0.001) < power + NEAR


def often_found(size: int, differing: float, difference: float) -> float:
    chances = [(differing + difference) / 2, (differing - difference) / 2, 1 - differing]
    return sum(
        float(stats.multinomial.pmf([one, other, size - one - other], size, chances))
        for one in range(size + 1)
        for other in range(size + 1 - one)
        if ours.mcnemar(one, other) <= 0.05
    )


def test_no_difference_is_found_where_too_few_problems_differ() -> None:
    assert ours.least_found(80, 0.25) == pytest.approx(0.16)
    assert ours.least_found(10, 0.2) is None
    assert ours.least_found(80, 0.0) is None


@given(pairs(1, 60))
def test_brier_and_calibration_error(found: list[tuple[float, bool]]) -> None:
    right = [each for _, each in found]
    stated = [score for score, _ in found]
    assert metrics.brier(found) == near(float(scores.brier_score_loss(right, stated, pos_label=1)))
    shares, means = calibration.calibration_curve(right, stated, n_bins=metrics.BINS)
    ours_bins = [(mean, share) for size, mean, share in metrics.bins(found) if size]
    inner = all((score * metrics.BINS) % 1 for score in stated)  # edges belong to either neighbour
    if inner:
        assert [share for _, share in ours_bins] == [near(float(share)) for share in shares]
        assert [mean for mean, _ in ours_bins] == [near(float(mean)) for mean in means]


def test_the_frontier_keeps_what_nothing_beats() -> None:
    points = [(1.0, 0.2), (2.0, 0.5), (2.0, 0.4), (3.0, 0.5), (4.0, 0.9)]
    assert ours.pareto(points) == [True, True, False, False, True]


def covered(truth: float, draw: Callable[[random.Random], list[bool]], times: int) -> float:
    """How often the interval of an accuracy holds the truth."""
    chance = random.Random(4)
    held = 0
    for _ in range(times):
        found = of_outcomes(draw(chance))
        held += found is not None and found[0] <= truth <= found[1]
    return held / times


@pytest.mark.parametrize("truth", [0.5, 0.8])
def test_intervals_cover_the_truth_at_their_rate(truth: float) -> None:
    times = 1_000
    rate = covered(truth, lambda chance: [chance.random() < truth for _ in range(200)], times)
    low, high = (float(bound) / times for bound in stats.binom.interval(0.999, times, 0.95))
    assert low - 0.01 <= rate <= high + 0.01


def test_the_t_interval_covers_the_truth_at_its_rate() -> None:
    chance, times, held = random.Random(5), 2_000, 0
    for _ in range(times):
        values = [chance.gauss(10, 3) for _ in range(3)]
        half = ours.t_half_width(values) or 0.0
        held += abs(sum(values) / 3 - 10) <= half
    low, high = stats.binom.interval(0.999, times, 0.95)
    assert low <= held <= high


@pytest.mark.parametrize("pairs_judged", [5, 12, 40])
@pytest.mark.parametrize("chances", [(0.1, 0.1), (0.3, 0.1), (0.05, 0.4)])
def test_the_interval_of_an_effect_covers_the_truth_at_its_rate(
    pairs_judged: int, chances: tuple[float, float]
) -> None:
    """Exactly: over all outcomes of so few pairs, by their probability."""
    helped, hurt = chances
    rate = 0.0
    for one in range(pairs_judged + 1):
        for other in range(pairs_judged + 1 - one):
            found = ours.paired_interval(one, other, pairs_judged)
            assert found is not None
            if found[0] <= helped - hurt <= found[1]:
                rest = (pairs_judged - one - other, 1 - helped - hurt)
                odds = stats.multinomial.pmf(
                    [one, other, rest[0]], pairs_judged, [*chances, rest[1]]
                )
                rate += float(odds)
    assert 0.93 <= rate < (0.98 if pairs_judged == 40 else 1.0)


def test_a_few_pairs_without_a_difference_prove_nothing() -> None:
    found = ours.paired_interval(0, 0, 5)
    assert found is not None
    assert found[0] < -0.3 < 0.3 < found[1]
    assert ours.paired_interval(0, 0, 0) is None
    sure = ours.paired_interval(5, 0, 5)
    assert sure is not None
    assert 0.15 < sure[0] < sure[1] == 1.0


@given(st.integers(0, 60), st.integers(1, 60))
def test_a_share_s_interval_is_wilsons(right: int, more: int) -> None:
    count = right + more
    theirs = stats.binomtest(right, count).proportion_ci(method="wilson")
    assert wilson(right / count, count) == (near(float(theirs.low)), near(float(theirs.high)))
    assert of_outcomes([True] * right + [False] * more) == (near(theirs.low), near(theirs.high))


@given(st.lists(numbers, min_size=2, max_size=30))
def test_a_mean_s_interval_is_students(values: list[float]) -> None:
    found = mean_interval([(value, 1) for value in values])
    half = ours.t_half_width(values)
    assert found is not None
    assert half is not None
    mean = sum(values) / len(values)
    assert found == (near(mean - half), near(mean + half))
    assert mean_interval([(1.0, 1)]) is None


def test_what_repeats_itself_within_a_group_is_worth_as_much_as_one_of_it() -> None:
    assert ours.design_effect([[1.0], [0.0], [1.0]]) == 1
    assert ours.design_effect([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]) == pytest.approx(3)
    assert ours.design_effect([[1.0, 0.0], [0.0, 1.0]]) == 1, (
        "what evens out is no better than chance"
    )
    assert ours.design_effect([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) == 1
    assert ours.design_effect([[0.0, 0.0], [0.0]]) == 2, "of what does not vary, nothing says more"


@given(st.floats(0.5, 60), st.floats(0.5, 60), st.floats(0.001, 0.999))
def test_the_share_of_a_beta_distribution(a: float, b: float, x: float) -> None:
    assert ours.beta_share(a, b, x) == near(float(special.betainc(a, b, x)))
    assert ours.beta_share(a, b, x) + ours.beta_share(b, a, 1 - x) == near(1.0)
    for end, share in ((0.0, 0.0), (-0.5, 0.0), (1.0, 1.0), (1.5, 1.0)):
        assert ours.beta_share(a, b, end) == share


def test_a_t_without_end_is_sure_and_one_that_is_no_number_says_nothing() -> None:
    assert ours.t_p(float("inf"), 3) == ours.t_p(float("-inf"), 3) == 0
    assert ours.t_p(float("nan"), 3) != ours.t_p(float("nan"), 3)
    assert ours.t_p(0.0, 3) == 1
    assert ours.t_half_width([1.0]) is ours.t_half_width([]) is None
    wide, narrow = ours.t_half_width([1.0, 2.0, 4.0]), ours.t_half_width([1.0, 2.0, 4.0], 0.5)
    assert wide == near(float(stats.t.ppf(0.975, 2) * stats.sem([1, 2, 4])))
    assert narrow == near(float(stats.t.ppf(0.75, 2) * stats.sem([1, 2, 4])))


@given(st.lists(st.integers(0, 5), max_size=12))
def test_equal_values_share_the_mean_of_their_ranks(values: list[int]) -> None:
    assert ours.ranks(values) == [float(rank) for rank in stats.rankdata(values)]


def test_what_each_is_worth_to_a_mean_is_itself() -> None:
    def mean(items: Sequence[float]) -> float | None:
        return sum(items) / len(items) if items else None

    assert ours.left_out([1.0, 2.0, 6.0], mean) == [near(1), near(2), near(6)]
    assert ours.left_out([1.0], mean) is None, "nothing is left without it"
    assert ours.left_out([], mean) is None

    def without_one(items: Sequence[float]) -> float | None:
        return None if 1.0 not in items else 3.0

    assert ours.left_out([1.0, 2.0], without_one) is None


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=14))
def test_what_each_is_worth_to_an_area_is_its_place_among_the_others(
    items: list[tuple[int, bool]],
) -> None:
    """Of a right one, the share of wrong ones below it; of a wrong one, of right ones above it; ties half."""
    scores, right = [float(score) for score, _ in items], [kind for _, kind in items]
    if all(right) or not any(right):
        with pytest.raises(ValueError, match="an area needs one of each kind"):
            ours.area_worth(scores, right)
        return
    area = ours.auroc(scores, right) or 0.0
    for (score, kind), worth in zip(items, ours.area_worth(scores, right), strict=True):
        others = [other for other, its in items if its is not kind]
        ahead = sum(
            (score > other if kind else other > score) + (score == other) / 2 for other in others
        )
        mine = sum(its is kind for _, its in items)
        assert worth == near(area + (ahead / len(others) - area) * len(items) / mine)


def test_an_effect_s_interval_narrows_with_what_is_asked_of_it_and_stays_within_the_whole() -> None:
    wide, narrow = ours.paired_interval(3, 1, 9), ours.paired_interval(3, 1, 9, 0.5)
    assert wide is not None
    assert narrow is not None
    middle = (4 - 2) / 11
    assert wide[0] < narrow[0] < middle < narrow[1] < wide[1]
    assert wide[0] + wide[1] == near(2 * middle)
    z = float(stats.norm.ppf(0.975))
    assert wide[1] - middle == near(z * ((6 / 11 - middle**2) / 11) ** 0.5)
    helped, hurt = ours.paired_interval(9, 0, 9), ours.paired_interval(0, 9, 9)
    assert helped is not None
    assert hurt == (-1.0, near(-helped[0]))
    assert helped[1] == 1.0
