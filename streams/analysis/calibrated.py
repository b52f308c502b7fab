"""The interval of a calibration error, by what errors would print one like ours.

A bin's gap is never below 0, so chance alone makes an error of a perfectly calibrated confidence, and neither the
spread of what each answer is worth nor a bootstrap knows how much. Here the gaps are taken at every size in proportion
to those that were seen, from none at all; of each it is known exactly what error they print, and how far it
strays. Those that ours may have come from are the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, fsum, lgamma, log, sqrt

from handlers.learning.metrics import BINS, Pairs, bins, ece
from streams.analysis.statistics import t_quantile

WIDEST = 64.0
"""How many times wider than seen gaps are taken at most: there every one of them is as wide as it can be."""
HALVINGS = 24
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Bin:
    """So many answers of this mean confidence, and how far the share of right ones was above it."""

    size: int
    confidence: float
    gap: float

    def chance(self, times: float) -> float:
        """How often its answers are right where its gap is so many times as wide."""
        return min(max(self.confidence + times * self.gap, 0.0), 1.0)

    def seen(self, times: float) -> tuple[float, float]:
        """Mean and variance of the gap that would be seen then."""
        chance = self.chance(times)
        each = [
            (_often(self.size, right, chance), abs(right / self.size - self.confidence))
            for right in range(self.size + 1)
        ]
        mean = fsum(often * gap for often, gap in each)
        return mean, fsum(often * (gap - mean) ** 2 for often, gap in each)


def _often(size: int, right: int, chance: float) -> float:
    if chance in (0, 1):
        return float(right == size * chance)
    return exp(_ways(size)[right] + right * log(chance) + (size - right) * log(1 - chance))


@lru_cache(maxsize=1024)
def _ways(size: int) -> list[float]:
    whole = lgamma(size + 1)
    return [whole - lgamma(right + 1) - lgamma(size - right + 1) for right in range(size + 1)]


def calibration_interval(pairs: Pairs, level: float = 0.95) -> tuple[float, float] | None:
    """The interval of the calibration error of these; unknown of none."""
    if not pairs:
        return None
    found = [
        Bin(size, confidence, right - confidence or 0.5 / size)
        for size, confidence, right in bins(pairs, BINS)
        if size
    ]
    seen, whole = ece(pairs), len(pairs)
    z = t_quantile(level, max(whole - len(found), 1))

    def error(times: float) -> float:
        return fsum(b.size * abs(b.chance(times) - b.confidence) for b in found) / whole

    def beyond(times: float, side: int) -> bool:
        """Whether an error with such gaps would print more than ours, even where it prints little (or much)."""
        each = [(b.size, *b.seen(times)) for b in found]
        mean = fsum(size * m for size, m, _ in each) / whole
        own = fsum(size * size * v for size, _, v in each) / whole**2
        true = error(times)
        share = (
            fsum(b.size * (abs(b.chance(times) - b.confidence) - true) ** 2 for b in found)
            / whole**2
        )
        return mean + side * z * sqrt(own + share) >= seen - TINY

    return error(_first(lambda t: beyond(t, 1))), error(_first(lambda t: beyond(t, -1)))


def _first(holds: Callable[[float], bool]) -> float:
    """The least of the sizes for which something holds; the widest where it holds for none."""
    low, high = 0.0, WIDEST
    if holds(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
