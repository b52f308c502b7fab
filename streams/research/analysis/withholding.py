"""Votes that are withheld where too few chains agree: what is answered then, and how much of it is right.

Source: El-Yaniv & Wiener 2010 (selective classification: risk over coverage); Platt 1999 (calibration).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum

from handlers.learning.calibrate import Calibrator, fit
from streams.research.analysis.intervals import chance_interval
from streams.research.analysis.sampling import Drawn, Interval, winner

FITTED = 20
"""Orders that a calibrator is fitted in: it is made anew for each problem, without that problem."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A vote that is withheld where its calibrated share of votes is below a level."""

    chains: int
    level: float
    answered: float
    """The share of problems that are answered."""
    right: float | None
    """The share of right ones among the answers; unknown where none is given."""
    interval: Interval | None


def select(
    bank: Sequence[Drawn], counts: Sequence[int], levels: Sequence[float]
) -> Iterator[Selected]:
    """Votes that are withheld below a calibrated chance of being right.

    The chance of a problem's vote comes from a calibrator that was fitted to the votes of all other problems, in the
    same order of chains. Nothing is told of a bank that is too small to fit one.
    """
    size = min((len(each.chains) for each in bank), default=0)
    # A bank of eight cannot tell what sixteen votes would have come to.
    for count in sorted({min(count, size) for count in counts}) if bank else ():
        votes = [[winner(each.ordered(turn)[:count]) for each in bank] for turn in range(FITTED)]
        chances = [_chances(each) for each in votes]
        if any(None in each for each in chances):
            return
        # By problem, each with its votes and their chances in every order.
        problems = list(zip(zip(*votes, strict=True), zip(*chances, strict=True), strict=True))
        for level in levels:
            parts: list[tuple[float, int]] = []
            for voted, sure in problems:
                given = [
                    right for (right, _), c in zip(voted, sure, strict=True) if (c or 0.0) >= level
                ]
                parts.append((float(sum(given)), len(given)))
            answered = sum(given for _, given in parts)
            yield Selected(
                count,
                level,
                answered=answered / (len(bank) * len(votes)),
                right=fsum(right for right, _ in parts) / answered if answered else None,
                interval=chance_interval(parts),
            )


def _chances(votes: Sequence[tuple[bool, float]]) -> list[float | None]:
    """What the share of votes means for each problem, by all the others: none vouches for itself."""
    pairs = [(share, right) for right, share in votes]

    @cache  # problems whose votes came out alike are without the same one
    def calibrator(share: float, right: bool) -> Calibrator | None:
        at = pairs.index((share, right))
        return fit([*pairs[:at], *pairs[at + 1 :]])

    fitted = [(share, calibrator(share, right)) for share, right in pairs]
    return [None if found is None else found(share) for share, found in fitted]
