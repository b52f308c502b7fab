"""The interval of a calibration error, by what errors would print one like ours.

A bin's gap is never below 0, so chance alone makes an error of a perfectly calibrated confidence, and neither the
spread of what each answer is worth nor a bootstrap knows how much. Here the gaps are taken at every size in proportion
to those that were seen, from none at all; of each it is known exactly what error they print, and how far it
strays. Those that ours may have come from are the interval.

Over several seeds the figure is the mean of one error a seed. The gaps are those of all seeds together, and the mean
strays less than an error of one seed does, as far as the seeds' answers to a problem do not repeat each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import exp, fsum, lgamma, log, sqrt
from operator import mul
from typing import TypeAlias

from handlers.learning.metrics import BINS, bins, ece
from streams.research.analysis.statistics import design_effect, t_quantile

Stated: TypeAlias = tuple[str, float, bool]
"""A problem, the confidence in an answer to it, and whether that is right."""
WIDEST = 64.0
"""How many times wider than seen gaps are taken at most: there every one of them is as wide as it can be."""
HALVINGS = 24
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Bin:
    """So many answers of a seed of this mean confidence, and how far the share of right ones was above it."""

    size: int
    confidence: float
    gap: float

    def chance(self, times: float) -> float:
        """How often its answers are right where its gap is so many times as wide."""
        return min(max(self.confidence + times * self.gap, 0.0), 1.0)

    def true(self, times: float) -> float:
        """How wide its gap is then."""
        return abs(self.chance(times) - self.confidence)

    def seen(self, times: float) -> tuple[float, float]:
        """Mean and variance of the gap that would be seen then."""
        chance = self.chance(times)
        if chance in (0, 1):  # a logarithm would fail, and there is one outcome only
            often = [float(right == self.size * chance) for right in range(self.size + 1)]
        else:
            one, other = log(chance), log(1 - chance)
            often = [
                exp(ways + right * one + (self.size - right) * other)
                for right, ways in enumerate(_ways(self.size))
            ]
        gaps = [abs(right / self.size - self.confidence) for right in range(self.size + 1)]
        # Sums by `fsum`, whose result does not hang on the
        # order: a report made again has the same last digit.
        mean = fsum(map(mul, often, gaps))
        return mean, fsum([o * (gap - mean) ** 2 for o, gap in zip(often, gaps, strict=True)])


@lru_cache(maxsize=1024)
def _ways(size: int) -> list[float]:
    """The logarithm of how many ways there are to have none of so many right, one of them, and so on."""
    # Logarithms, for the ways themselves overflow from a thousand answers on. Kept, because every
    # step of the search below asks for those of the same few bins.
    whole = lgamma(size + 1)
    return [whole - lgamma(right + 1) - lgamma(size - right + 1) for right in range(size + 1)]


def calibration_interval(
    seeds: Sequence[Sequence[Stated]], level: float = 0.95
) -> tuple[float, float] | None:
    """The interval of the mean calibration error of what each seed stated; unknown of nothing."""
    kept = [[(said, right) for _, said, right in seed] for seed in seeds if seed]
    if not kept:
        return None
    seen = fsum(map(ece, kept)) / len(kept)
    every = bins([pair for seed in kept for pair in seed], BINS)
    # A bin without a gap would stay without one however far gaps are stretched. It gets the
    # smallest one that so many answers could show, to the side that has room for it: answers that
    # are all sure and all right may not be so always.
    gaps = [
        right - said or (-0.5 if said == 1 else 0.5) / size if size else 0.0
        for size, said, right in every
    ]
    found = [
        (len(seed), [Bin(b[0], b[1], gap) for b, gap in zip(bins(seed, BINS), gaps, strict=True) if b[0]])
        for seed in kept
    ]  # fmt: skip
    # Answers to one problem repeat each other over
    # seeds, by as much as their worth to the error does.
    worth: dict[str, list[float]] = {}
    for problem, said, right in (each for seed in seeds for each in seed):
        gap = gaps[min(int(said * len(gaps)), len(gaps) - 1)]
        worth.setdefault(problem, []).append((right - said) * (1 if gap > 0 else -1))
    repeated = design_effect(worth.values())
    # Each bin's gap was estimated from the same answers, which takes a degree of freedom.
    free = sum(size for size, _ in found) / repeated - sum(size > 0 for size, *_ in every)
    z = t_quantile(level, max(free, 1.0))

    def error(times: float) -> float:
        each = (fsum(b.size * b.true(times) for b in mine) / whole for whole, mine in found)
        return fsum(each) / len(found)

    @cache  # both ends are looked for from the same middle
    def printed(times: float) -> tuple[float, float]:
        told = [_told(whole, mine, times) for whole, mine in found]
        square = repeated * fsum(square for _, square in told) / len(told) ** 2
        return fsum(mean for mean, _ in told) / len(told), z * sqrt(square)

    def beyond(times: float, side: int) -> bool:
        """Whether an error with such gaps would print more than ours, even where it prints little (or much)."""
        mean, strays = printed(times)
        # Where nothing strays, what prints ours may be what ours came from: equal counts at the lower
        # end, and at the upper one only more. Without the margin rounding would decide.
        return mean + side * strays >= seen - side * TINY

    return error(_first(lambda t: beyond(t, 1))), error(_first(lambda t: beyond(t, -1)))


def _told(whole: int, mine: Sequence[Bin], times: float) -> tuple[float, float]:
    """Mean and variance of the error that a seed would print with such gaps.

    It strays by which of a bin's answers are right, and by how many answers fall into each bin.
    """
    each = [(b.size, *b.seen(times), b.true(times)) for b in mine]
    mean = fsum(size * m for size, m, *_ in each) / whole
    true = fsum(size * t for size, *_, t in each) / whole
    own = fsum(size * size * v for size, _, v, _ in each) / whole**2
    return mean, own + fsum(size * (t - true) ** 2 for size, *_, t in each) / whole**2


def _first(holds: Callable[[float], bool]) -> float:
    """The least of the sizes for which something holds; the widest where it holds for none."""
    # What holds for a size holds for every wider one, so halving finds the edge. 24 halvings of 64
    # leave less than a hundred-thousandth, which no report prints.
    low, high = 0.0, WIDEST
    if holds(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
