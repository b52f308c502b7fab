"""A figure that reports print beside the paper's: how well guidance fits its problem.

Source: MC² figure 6, App. E.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

from handlers.learning.cosine import cosine
from schemas.identity import hash01

Vector: TypeAlias = Sequence[float]

# ── Does guidance fit its problem? ───────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Guided:
    """One episode: the vector of its question, and for each round that of its guidance."""

    question: Vector
    guidance: tuple[Vector, ...]


def without_question(prompt: str, question: str) -> str:
    """The Reasoner's compiled prompt with every copy of the question taken out."""
    return prompt.replace(question, "")


def fits(batch: Sequence[Guided], number: int, seed: int = 0) -> list[tuple[float, float] | None]:
    """For each episode of a batch its cosine to its own guidance, in the mean of its rounds, and to another's.

    None where there is none: the first batch has no guidance, and one that was guided alone has no other.
    Source: MC² App. E, figure 6.
    """
    guided = [one for one in batch if one.guidance]
    if number < 2 or len(guided) < 2:
        return [None] * len(batch)
    pairs: list[tuple[float, float]] = []
    for at, one in enumerate(guided):
        # Another episode of the batch, j ≠ i: a step of 1 to n - 1 around the circle never
        # comes back to i.
        step = 1 + int(hash01(seed, number, at) * (len(guided) - 1))
        other = guided[(at + step) % len(guided)]
        pairs.append((_similarity(one, one), _similarity(one, other)))
    found = iter(pairs)
    return [next(found) if one.guidance else None for one in batch]


def _similarity(asked: Guided, guided: Guided) -> float:
    return fmean(cosine(asked.question, vector) for vector in guided.guidance)
