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
from typing import Final

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
    return _right(_said(votes, runner_up, of), of, ease)[0] if votes else 0.0


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
    return sum(
        how_often * _then(*state, of + 1, ease, draws - 1)
        for how_often, state in _next(votes, runner_up, of, ease)
    )


def _said(votes: int, runner_up: int, of: int) -> list[int]:
    """By how many chains each answer was given, as far as the three numbers tell."""
    # Where nobody is second the rest has no answer. Else each of the rest is taken to differ from
    # all others: of eight chains hardly ever two pairs stand behind the two answers in front.
    if not runner_up:
        return [votes] if votes else []
    return [votes, runner_up, *[1] * (of - votes - runner_up)]


def _right(said: list[int], of: int, ease: float) -> list[float]:
    """For each answer the chance that it is the right one; what is left is that nobody has said it yet."""
    # Against that, the odds of an answer hang on its own votes alone: all other chains are wrong
    # either way, and how they divide cancels out.
    odds = [_odds(count, of, ease) for count in said]
    whole = 1.0 + sum(odds)
    return [each / whole for each in odds]


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
    said = _said(votes, runner_up, of)
    right = _right(said, of, ease)
    known = [*zip(said, right, strict=True), (0, 1.0 - sum(right))]
    again = [(SPREAD * ease + count) / (SPREAD + of) for count, _ in known]
    rest = 1.0
    for at, count in enumerate(said):
        joins = right[at] * again[at] + sum(
            is_right * (1 - once_more) * count / (NOVELTY + of - mine)
            for which, ((mine, is_right), once_more) in enumerate(zip(known, again, strict=True))
            if which != at
        )
        rest -= joins
        first, second, *_ = sorted([*said[:at], count + 1, *said[at + 1 :], 0], reverse=True)
        yield joins, (first, second)
    first, second, *_ = sorted([*said, 1, 0], reverse=True)
    yield rest, (first, second)
