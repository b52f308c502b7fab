"""A run held against simple rules at its own price: votes, and chains until some agree, of as many tokens in the mean.

No rule of whole chains costs just what a run does. So two neighbours of a ladder are mixed: one is followed on a share
of the problems that is chosen so that the tokens are the run's. That is what somebody would do who had only such rules
and the run's budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import fsum

from streams.research.analysis.intervals import mean_interval
from streams.research.analysis.sampling import (
    ORDERS,
    Drawn,
    Ended,
    Interval,
    Outcome,
    outcomes,
    until,
    votes_of,
)

TWO = (2, 3, 4, 5, 6, 8, 10, 12, 16)
"""At most so many chains until two agree."""
MORE = (3, 4)
"""So many that agree, of all chains that there are: the dearer rungs of that ladder."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """How much more often a run is right than two rules mixed to its price, and the interval of 95 %."""

    gain: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Priced:
    """A run at its own price; a side is unknown where its ladder begins above that, or ends below."""

    run: str
    problems: int
    tokens: float
    """Its own, a problem."""
    votes: Mixed | None
    agreed: Mixed | None
    """Against chains until two agree, or three, or four."""


def priced(
    bank: Sequence[Drawn], run: str, ended: Mapping[str, Ended], orders: int = ORDERS
) -> Priced | None:
    """Hold a run against both ladders, each over the chains of its own problems; none where its tokens are unknown."""
    shared = [each for each in bank if each.problem in ended]
    mine = [ended[each.problem] for each in shared]
    tokens = [each.tokens for each in mine if each.tokens is not None]
    if not shared or len(tokens) < len(shared):
        return None
    right, mean = [float(each.right) for each in mine], fsum(tokens) / len(shared)
    if any(chain.tokens is None for each in shared for chain in each.chains):
        return Priced(run, len(shared), mean, None, None)
    size = min(len(each.chains) for each in shared)
    # By rung, and in each all problems.
    chains = list(zip(*(votes_of(each, orders)[:size] for each in shared), strict=True))
    agreed = list(zip(*(agreed_of(each, size, orders) for each in shared), strict=True))
    return Priced(run, len(shared), mean, _mixed(right, mean, chains), _mixed(right, mean, agreed))


def _mixed(right: Sequence[float], mean: float, rungs: Sequence[Sequence[Outcome]]) -> Mixed | None:
    prices = [fsum(each.tokens or 0.0 for each in rung) / len(right) for rung in rungs]
    for (low, below), (high, above) in pairwise(zip(prices, rungs, strict=True)):
        if low <= mean <= high and low < high:
            share = (mean - low) / (high - low)
            gains = [
                (own - (1 - share) * one.right - share * other.right, 1)
                for own, one, other in zip(right, below, above, strict=True)
            ]
            return Mixed(fsum(gain for gain, _ in gains) / len(gains), mean_interval(gains))
    return None


# A dozen runs have the same problems, on all of them and on those of each data set.
@lru_cache(maxsize=4_096)
def agreed_of(problem: Drawn, size: int, orders: int) -> tuple[Outcome, ...]:
    """What each rung of those that wait for chains to agree comes to on a problem, the cheapest first."""
    rungs = [until(2, n) for n in TWO if n <= size] + [until(k, size) for k in MORE if k < size]
    return tuple(rung for [rung] in outcomes([problem], rungs, size, orders))
