"""Own problems of graded difficulty: additions and multiplications, the same for everyone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from schemas.identity import hash01

ADDED = (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
"""Digits of both numbers of an addition, easiest first."""
MULTIPLIED = ((1, 1), (1, 1), (1, 1), (1, 2), (1, 2), (1, 2), (2, 2), (2, 2), (1, 3), (2, 3))
"""Digits of the two factors of a multiplication."""


def sums(count: int, seed: int, name: str) -> Iterator[dict[str, str]]:
    """So many problems with their answers, additions and multiplications in turn, each graded."""
    for number in range(count):
        kind, grade = number % 2, number // 2
        digits = MULTIPLIED[grade % len(MULTIPLIED)] if kind else (ADDED[grade % len(ADDED)],) * 2
        drawn: list[int] = []
        for at, size in enumerate(digits):
            least = 10 ** (size - 1)
            # By address and not by a generator: a problem is the same however many are asked for.
            chance = hash01("sums", seed, number, at)
            drawn.append(max(2, least + int(chance * 9 * least)))  # a factor of 1 asks for nothing
        left, right = drawn
        asked, answer = (
            (f"{left} * {right}", left * right) if kind else (f"{left} + {right}", left + right)
        )
        yield {
            "id": f"{name}-{number + 1}",
            "problem": f"What is {asked}?",
            "answer": str(answer),
        }


def mixed(*kinds: list[dict[str, str]]) -> list[dict[str, str]]:
    """All of them, spread evenly, so that every batch holds some of each kind."""
    # By where each stands in its own kind, from 0 to 1;
    # the id decides between equals, so the order is one.
    placed = chain.from_iterable(
        (((at + 0.5) / len(kind), each["id"], each) for at, each in enumerate(kind))
        for kind in kinds
    )
    return [each for *_, each in sorted(placed, key=lambda one: one[:2])]
