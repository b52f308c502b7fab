"""Classical tests for reports, pure: Student's t, a line's slope, McNemar, Spearman, ROC area.

Each equals SciPy's or scikit-learn's on random inputs to 1e-9 (tests/streams/analysis). Reports
decide nothing, so a library would do; but it would be ten times the size of all the rest.

Source: design/evaluation.md#metrics; Numerical Recipes § 6.4 for the incomplete beta function.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import comb, exp, fsum, isfinite, lgamma, log, log1p, nan, sqrt
from statistics import NormalDist
from typing import TypeVar

T = TypeVar("T")
TINY = 1e-300
PRECISION = 1e-16


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    # The fraction converges fast on this side alone; the other is had by symmetry.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's way through the continued fraction."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / _away(1 + term * d), _away(1 + term / c)
            total *= d * c
        if abs(d * c - 1) < PRECISION:
            break
    return total


def _away(value: float) -> float:
    # Lentz's method divides by these; a 0 would end it one step before it is done.
    return value if abs(value) > TINY else TINY


# ── Student's t ──────────────────────────────────────────────────────────────────────────────


def t_p(t: float, freedom: float) -> float:
    """Two-sided p-value of Student's t."""
    if not isfinite(t):
        return nan if t != t else 0.0
    if t * t < 1:  # of a share that is nearly one, little is left of what it lacks
        return 1 - beta_share(0.5, freedom / 2, t * t / (freedom + t * t))
    return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=1024)
def t_quantile(level: float, freedom: float) -> float:
    """The t beyond which, on both sides together, 1 - level of the distribution lies."""
    # A report has hundreds of intervals over the same few numbers of problems.
    low, high = 0.0, 1.0
    while t_p(high, freedom) > 1 - level:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        # No number lies between the two any more.
        if middle in (low, high):
            break
        low, high = (middle, high) if t_p(middle, freedom) > 1 - level else (low, middle)
    return (low + high) / 2


def t_half_width(values: Sequence[float], level: float = 0.95) -> float | None:
    """Half of the mean's interval over a few runs, as papers print it; unknown for a single one."""
    n = len(values)
    if n < 2:
        return None
    mean = fsum(values) / n
    deviation = sqrt(fsum((value - mean) ** 2 for value in values) / (n - 1))
    return t_quantile(level, n - 1) * deviation / sqrt(n)


# ── Lines and ranks ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Slope:
    """A least-squares line's slope, and how likely one so steep is where there is none."""

    slope: float
    p: float


def slope(x: Sequence[float], y: Sequence[float]) -> Slope | None:
    """The slope of y over x; unknown for fewer than three points, or all at one place."""
    n = len(x)
    if n < 3 or min(x) == max(x):
        return None
    mean_x, mean_y = fsum(x) / n, fsum(y) / n
    sxx = fsum((a - mean_x) ** 2 for a in x)
    sxy = fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    steep = sxy / sxx
    left = fsum((b - mean_y - steep * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    # All points on one line: t would be a division by zero, and its p is 0, or 1 for a level line.
    if left == 0:
        return Slope(steep, 1.0 if steep == 0 else 0.0)
    return Slope(steep, t_p(steep / sqrt(left / (n - 2) / sxx), n - 2))


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for at in order[start:end]:
            found[at] = (start + end + 1) / 2
        start = end
    return found


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Rank correlation; unknown where one side does not vary."""
    a, b = ranks(x), ranks(y)
    middle = (len(a) + 1) / 2
    xx = fsum((r - middle) ** 2 for r in a)
    yy = fsum((r - middle) ** 2 for r in b)
    # Where one side does not vary there is no order that the other could follow.
    if xx == 0 or yy == 0:
        return None
    return fsum((p - middle) * (q - middle) for p, q in zip(a, b, strict=True)) / sqrt(xx * yy)


def auroc(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Chance that a right one scores above a wrong one, ties half; unknown if one kind is missing."""
    good = sum(right)
    bad = len(right) - good
    if not good or not bad:
        return None
    total = fsum(rank for rank, is_right in zip(ranks(scores), right, strict=True) if is_right)
    return (total - good * (good + 1) / 2) / (good * bad)


def area_worth(scores: Sequence[float], right: Sequence[bool]) -> list[float]:
    """What each is worth to the ROC area: their mean is the area, their spread its own. One of each kind is needed.

    Source: DeLong et al. 1988 (placements among those of the other kind).
    """
    area = auroc(scores, right)
    if area is None:
        raise ValueError("an area needs one of each kind")
    whole, good = len(right), sum(right)
    among = {kind: iter(ranks([s for s, r in zip(scores, right, strict=True) if r is kind]))
             for kind in (True, False)}  # fmt: skip
    worth: list[float] = []
    for rank, kind in zip(ranks(scores), right, strict=True):
        mine, others = (good, whole - good) if kind else (whole - good, good)
        below = (rank - next(among[kind])) / others
        worth.append(area + ((below if kind else 1 - below) - area) * whole / mine)
    return worth


def left_out(
    items: Sequence[T], measure: Callable[[Sequence[T]], float | None]
) -> list[float] | None:
    """What each item is worth to a figure, by what is left of it without that item: their mean is the figure.

    Unknown where the figure is, with all of them or without one. Source: Tukey 1958 (jackknife).
    """
    whole = measure(items)
    each = [measure([*items[:at], *items[at + 1 :]]) for at in range(len(items))]
    known = [value for value in each if value is not None]
    if whole is None or not known or len(known) < len(each):
        return None
    middle = fsum(known) / len(known)
    return [whole + (len(items) - 1) * (middle - value) for value in known]


def design_effect(groups: Collection[Sequence[float]]) -> float:
    """How many times the variance of a mean is that of values that say nothing of others in their group.

    From 1, where they do not, to the size of the largest group, where they repeat each other. Source: Kish 1965.
    """
    every = [value for values in groups for value in values]
    most = float(max(map(len, groups)))
    mean = fsum(every) / len(every)
    # Where nothing varies, whether values repeat each other cannot be seen: the most is assumed.
    alone = fsum((value - mean) ** 2 for value in every)
    if alone < PRECISION:
        return most
    whole = fsum(fsum(value - mean for value in values) ** 2 for values in groups)
    return min(max(whole / alone, 1.0), most)


# ── Two policies on the same problems ────────────────────────────────────────────────────────


def mcnemar(only_one: int, only_other: int) -> float:
    """Exact two-sided p-value of the problems that just one of two policies solved."""
    n, few = only_one + only_other, min(only_one, only_other)
    tail = sum(comb(n, k) for k in range(few + 1))
    return min(1.0, tail / (1 << (n - 1))) if n else 1.0


def least_found(pairs: int, differing: float, power: float = 0.8) -> float | None:
    """The smallest true difference that ``mcnemar`` finds with a power; none where the largest is found less often.

    ``differing`` is the share of problems that just one of the two solves, of which a difference is at most all.
    Found to the tenth of a point.
    """
    steps = range(1, int(round(differing * 1_000, 6)) + 1)
    # How many differ, as far as chance makes that worth counting: what is left out adds up to a trillionth at most.
    chances = {n: _binomial(pairs, n, differing) for n in range(pairs + 1)}
    likely = {n: chance for n, chance in chances.items() if chance * (pairs + 1) > 1e-12}

    def found(step: int) -> float:
        alone = (differing + step / 1_000) / (2 * differing)
        return fsum(
            chance * (_binomial(n, k, alone) + _binomial(n, k, 1 - alone))
            for n, chance in likely.items()
            for k in range(_too_many(n))
        )

    # It is found the more often the larger it is, so that the first can be halved towards.
    at = bisect_left(steps, power, key=found)
    return None if at == len(steps) else steps[at] / 1_000


@cache
def _too_many(n: int) -> int:
    """Of so many that differ, how many of the rarer side are too many for a difference that is found."""
    return next(k for k in range(n + 1) if mcnemar(k, n - k) > 0.05)


def _binomial(n: int, k: int, share: float) -> float:
    """The chance of k of n."""
    if not 0 < share < 1:
        return float(k == n * share)
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(share) + (n - k) * log1p(-share))


def paired_interval(
    only_one: int, only_other: int, pairs: int, level: float = 0.95
) -> tuple[float, float] | None:
    """The interval of a difference of two shares over the same problems; unknown for none.

    Each count of problems that just one side solved is taken as one more than it is, of two problems more:
    so a few problems without a difference are no proof that there is none, as a bootstrap would have it.
    Source: Bonett & Price 2012, adjusted Wald interval for paired proportions.
    """
    if not pairs:
        return None
    one, other = (only_one + 1) / (pairs + 2), (only_other + 1) / (pairs + 2)
    middle = one - other
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt((one + other - middle**2) / (pairs + 2))
    return max(middle - half, -1.0), min(middle + half, 1.0)


def pareto(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which (cost, worth) no other beats: none costs less or equal and is worth more, or as much for less."""
    return [
        not any((c <= cost and w > worth) or (c < cost and w >= worth) for c, w in points)
        for cost, worth in points
    ]
