"""Intervals of shares and means over problems, in closed form: no draw, and of a share none of no width.

What is counted falls into *problems*: seeds of one problem, or decisions within it, say less than as many
problems would. So a share's interval is Wilson's for as many independent outcomes as its spread over
problems says that there were; where all say the same (0 or 1), for as many as there are problems. With one
outcome a problem it is Wilson's own. A mean's is Student's over problems.

Source: Wilson 1927; Korn & Graubard 1998 (effective sample size of clustered shares); DeLong et al. 1988 and
Obuchowski 1997 (areas, also clustered); Fisher 1921 (correlations); Fieller 1954 (ratios of means).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import atanh, exp, fsum, log, sqrt, tanh
from statistics import NormalDist
from typing import TypeAlias

from streams.research.analysis.statistics import t_quantile

Parts: TypeAlias = Sequence[tuple[float, int]]
"""What each problem adds up to, and of how many."""
Spread: TypeAlias = Callable[[Parts], tuple[float, float] | None]
"""An interval over problems; unknown where nothing says how wide it is."""
LEVEL = 0.95
ROUNDING = 1e-12
"""The half width over the mean up to which there is none: sums of equal values are rounded."""


def wilson(share: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's interval of a share of so many independent outcomes."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = share + z * z / (2 * count)
    half = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def of_outcomes(right: Iterable[bool]) -> tuple[float, float] | None:
    """The interval of a share of outcomes, each of a problem of its own; unknown for none."""
    return share_interval([(float(each), 1) for each in right])


def share_interval(parts: Parts, level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of a share over problems; unknown for none."""
    kept = [(total, count) for total, count in parts if count]
    whole = sum(count for _, count in kept)
    if not whole:
        return None
    share = fsum(total for total, _ in kept) / whole
    square = _squared_error(kept, share, whole)
    # Nothing varies, so the spread says nothing of dependence. As many outcomes as problems is then
    # the cautious guess: seeds that all agree may only repeat each other.
    if share in (0, 1):
        return wilson(share, len(kept), level)
    # How many independent outcomes would stray as much. At most all of them: problems that disagree
    # more evenly than chance are no reason to be surer.
    worth = share * (1 - share) / square if square > 0 else whole
    return wilson(share, min(max(worth, 1.0), whole), level)


def mean_interval(parts: Parts, level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of a mean over problems; unknown for fewer than two of them."""
    kept = [(total, count) for total, count in parts if count]
    n, whole = len(kept), sum(count for _, count in kept)
    if n < 2:
        return None
    mean = fsum(total for total, _ in kept) / whole
    half = t_quantile(level, n - 1) * sqrt(_squared_error(kept, mean, whole) * n / (n - 1))
    # The mean of equal values may miss them by its last bit; whether anything varies is asked below.
    if half <= ROUNDING * abs(mean):
        half = 0.0
    return mean - half, mean + half


def chance_interval(parts: Parts, level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of a mean of chances: as of any mean, and not beyond 0 and 1.

    Where all chances are alike, Wilson's of as many outcomes as there are problems.
    """
    found = mean_interval(parts, level)
    if found is None:
        return None
    # Student's interval of values that are all alike has no width, which would claim certainty.
    if found[0] == found[1]:
        return wilson(found[0], sum(1 for _, count in parts if count), level)
    return max(0.0, found[0]), min(1.0, found[1])


def bounded_interval(parts: Parts, level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of a mean that lies between 0 and 1, on the scale of log odds: it never leaves them.

    Where nothing varies, as at 0 and 1, Wilson's of as many outcomes as there are problems.
    """
    found = mean_interval(parts, level)
    if found is None:
        return None
    middle, half = (found[0] + found[1]) / 2, (found[1] - found[0]) / 2
    if middle <= 0 or middle >= 1 or half == 0:
        return wilson(min(max(middle, 0.0), 1.0), sum(1 for _, count in parts if count), level)
    # The half width is carried to the scale of log odds by its slope there (the delta method).
    odds, wide = log(middle / (1 - middle)), half / (middle * (1 - middle))
    return 1 / (1 + exp(wide - odds)), 1 / (1 + exp(-wide - odds))


def correlation_interval(parts: Parts) -> tuple[float, float] | None:
    """The interval of a correlation, on Fisher's scale; unknown where the two go together entirely."""
    found = mean_interval(parts)
    # Fisher's scale has no end, and its value at ±1 is none.
    if found is None or not -1 < (middle := (found[0] + found[1]) / 2) < 1:
        return None
    half = (found[1] - found[0]) / 2 / (1 - middle * middle)
    return tanh(atanh(middle) - half), tanh(atanh(middle) + half)


def sum_interval(parts: Parts) -> tuple[float, float] | None:
    """The interval of a sum over problems; where all bring the same, one of them may yet bring one more or less."""
    found, n = mean_interval(parts), sum(1 for _, count in parts if count)
    if found is None:
        return None
    low, high = found
    # Likewise: that all bring the same is no proof that the next one would.
    missed = wilson(0, n)[1] if low == high else 0.0
    return n * (low - missed), n * (high + missed)


def count_interval(parts: Parts) -> tuple[float, float] | None:
    """The interval of how many of the problems it is, where each of them is one or none."""
    found, n = share_interval(parts), sum(1 for _, count in parts if count)
    return None if found is None else (n * found[0], n * found[1])


def ratio_interval(
    pairs: Sequence[tuple[float, float]], level: float = LEVEL
) -> tuple[float, float] | None:
    """The interval of a mean over another of the same problems; unknown where the lower one may be 0."""
    n = len(pairs)
    if n < 2:
        return None
    x, y = (fsum(pair[side] for pair in pairs) / n for side in (0, 1))
    square = t_quantile(level, n - 1) ** 2 / (n * (n - 1))
    xx, yy = x * x, y * y
    xx -= square * fsum((a - x) ** 2 for a, _ in pairs)
    yy -= square * fsum((b - y) ** 2 for _, b in pairs)
    xy = x * y - square * fsum((a - x) * (b - y) for a, b in pairs)
    # Fieller's interval has no end where the lower mean cannot be told from 0.
    if yy <= 0:
        return None
    half = sqrt(max(xy * xy - xx * yy, 0.0))
    return (xy - half) / yy, (xy + half) / yy


def _squared_error(parts: Parts, mean: float, whole: int) -> float:
    """The variance of a ratio of sums over problems, without the correction for few of them."""
    return fsum((total - mean * count) ** 2 for total, count in parts) / (whole * whole)
