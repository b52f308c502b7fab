"""Intervals of shares and means over problems, in closed form: no draw, and none of no width.

What is counted falls into *problems*: seeds of one problem, or decisions within it, say less than as many
problems would. So a share's interval is Wilson's for as many independent outcomes as its spread over
problems says that there were; where all say the same (0 or 1), for as many as there are problems. With one
outcome a problem it is Wilson's own. A mean's is Student's over problems.

Source: Wilson 1927; Korn & Graubard 1998 (effective sample size of clustered shares); DeLong et al. 1988 and
Obuchowski 1997 (areas, also clustered).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, fsum, log, sqrt
from statistics import NormalDist
from typing import TypeAlias

from streams.analysis.statistics import t_quantile

Parts: TypeAlias = Sequence[tuple[float, int]]
"""What each problem adds up to, and of how many."""
LEVEL = 0.95


def wilson(share: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's interval of a share of so many independent outcomes."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = share + z * z / (2 * count)
    half = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    whole = 1 + z * z / count
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def of_outcomes(right: Iterable[bool], level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of a share of outcomes, each of a problem of its own; unknown for none."""
    return share_interval([(float(each), 1) for each in right], level)


def share_interval(parts: Parts, level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of a share over problems; unknown for none."""
    kept = [(total, count) for total, count in parts if count]
    whole = sum(count for _, count in kept)
    if not whole:
        return None
    share = fsum(total for total, _ in kept) / whole
    square = _squared_error(kept, share, whole)
    if share in (0, 1):
        return wilson(share, len(kept), level)
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
    return mean - half, mean + half


def bounded_interval(parts: Parts, level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of a mean that lies between 0 and 1, on the scale of log odds: it never leaves them.

    At 0 or 1 nothing varies any more: then Wilson's of as many outcomes as there are problems.
    """
    found = mean_interval(parts, level)
    if found is None:
        return None
    middle, half = (found[0] + found[1]) / 2, (found[1] - found[0]) / 2
    if middle <= 0 or middle >= 1:
        return wilson(min(max(middle, 0.0), 1.0), sum(1 for _, count in parts if count), level)
    odds, wide = log(middle / (1 - middle)), half / (middle * (1 - middle))
    return 1 / (1 + exp(wide - odds)), 1 / (1 + exp(-wide - odds))


def _squared_error(parts: Parts, mean: float, whole: int) -> float:
    """The variance of a ratio of sums over problems, without the correction for few of them."""
    return fsum((total - mean * count) ** 2 for total, count in parts) / (whole * whole)
