"""How far a vote is to be trusted, and what one chain more would add: a model of chains that repeat their mistakes.

A chain of thought is right with a chance that differs from problem to problem: Beta, with the felt ease as its
mean. Wrong ones say something new, or what others said before, the more often the more of them said it. So
three that agree are hardly ever wrong, and of three that all differ hardly any is right.

Source: Ewens 1972 (the partition of what is not right); Howard 1966 (the value of one observation more);
that both are put together, and the two constants, are ours: deploy/docs/evidence.md, "How cascade was designed".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import fsum
from typing import Final, NamedTuple

SPREAD: Final = 1.0
"""How alike problems are: the chance of a right chain counts like so many chains beforehand. At one most problems
are either mostly solved or mostly not."""
NOVELTY: Final = 5.0
"""How seldom mistakes repeat: that of the second wrong chain is new with the chance NOVELTY / (NOVELTY + 1)."""

AHEAD: Final = 6
"""Chains that are looked ahead; a lead that so many do not turn is hardly ever turned."""


def chance(votes: int, runner_up: int, of: int, ease: float) -> float:
    """The chance that the answer with most votes is right, in [0, 1]; 0 where no chain has an answer.

    ``votes`` of ``of`` chains say it, ``runner_up`` the next one; ``ease`` in (0, 1) is the chance of a chain that
    nobody has drawn.
    """
    return _kinds(votes, runner_up, of, ease)[0].right


def gain(votes: int, runner_up: int, of: int, ease: float) -> float:
    """What as many chains more as can change who leads should add to the leading answer's chance; at least 0."""
    draws = to_turn(votes, runner_up)
    if draws > AHEAD:
        return 0.0
    now = chance(votes, runner_up, of, ease)
    # Nobody knows less for having looked; below zero there are only the last bits.
    return max(0.0, _then(votes, runner_up, of, ease, draws) - now)


def to_turn(votes: int, runner_up: int) -> int:
    """The fewest chains more by which another answer could lead: equal votes go to the answer that came first."""
    return votes - runner_up + 1


@lru_cache(maxsize=16_384)
def _then(votes: int, runner_up: int, of: int, ease: float, draws: int) -> float:
    """The expected chance of whichever answer leads after so many chains more."""
    if not draws:
        return chance(votes, runner_up, of, ease)
    return fsum(
        how_often * _then(*state, of + 1, ease, draws - 1)
        for how_often, state in _next(votes, runner_up, of, ease)
    )


class _Kind(NamedTuple):
    """What so many chains say alike, and how many other such things are said as often."""

    said: int
    like_it: int
    right: float
    """The chance that this is the right answer; 0 of what is none."""
    again: float
    """How often the next chain says it, if it is right."""


def _kinds(votes: int, runner_up: int, of: int, ease: float) -> list[_Kind]:
    """The leading answer, the next one, the rest, and at last the right answer that nobody has said yet."""
    # Where nobody is second the rest has no answer. Else each of the rest is taken to differ from
    # all others: of eight chains hardly ever two pairs stand behind the two answers in front.
    rest = of - votes - runner_up
    said = [(votes, 1, votes > 0), (runner_up, 1, runner_up > 0), (1, rest, runner_up > 0)]
    # Against that nobody has said it, the odds of an answer hang on its own votes alone: all other
    # chains are wrong either way, and how they divide cancels out.
    odds = [_odds(count, of, ease) if is_answer else 0.0 for count, _, is_answer in said]
    whole = fsum([1.0, *(each * many for each, (_, many, _) in zip(odds, said, strict=True))])
    kinds = [
        _Kind(count, many, each / whole, (SPREAD * ease + count) / (SPREAD + of))
        for each, (count, many, _) in zip(odds, said, strict=True)
    ]
    return [*kinds, _Kind(0, 1, 1.0 / whole, SPREAD * ease / (SPREAD + of))]


def _odds(count: int, of: int, ease: float) -> float:
    right, wrong = SPREAD * ease, SPREAD * (1 - ease)
    others = of - count
    odds = 1 / NOVELTY
    for at in range(count):
        odds *= (right + at) * (NOVELTY + others + at) / ((wrong + others + at) * max(1, at))
    return odds


def _next(
    votes: int, runner_up: int, of: int, ease: float
) -> Iterator[tuple[float, tuple[int, int]]]:
    """What the next chain may say: how often, and by how many chains the first two answers are given then."""
    kinds = _kinds(votes, runner_up, of, ease)
    often: list[float] = []
    for kind in kinds[:3]:
        # Because it is right, or as a mistake that repeats.
        repeats = (
            (other.like_it - (other is kind))
            * other.right
            * (1 - other.again)
            * kind.said
            / (NOVELTY + of - other.said)
            for other in kinds
        )
        often.append(kind.like_it * fsum([kind.right * kind.again, *repeats]))
    # What has no answer has none again; of a rest of answers one becomes a pair.
    pair = 2 if runner_up else 0
    new = 1.0 - fsum(often)
    counts = ((votes + 1, runner_up, 0), (votes, runner_up + 1, 0), (votes, runner_up, pair))
    for share, counted in zip((*often, new), (*counts, (votes, runner_up, 1)), strict=True):
        first, second, _ = sorted(counted, reverse=True)
        yield share, (first, second)
