"""Figures that reports print beside the paper's: restarts, intervals, and how well guidance fits.

Source: MC² figures 1, 3 and 6, App. E; Table 1 (intervals).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeAlias

from handlers.learning.cosine import cosine
from handlers.policies.mc2.reflect import Mc2Reflection
from schemas.identity import hash01

Vector: TypeAlias = Sequence[float]

RESTART = 3
STUDENT_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""The 97.5 % point of Student's t by degrees of freedom, from 1."""
NORMAL = 1.960


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean, and half the width of its 95 % interval (Student t); unknown for a single value.

    Three seeds: mean ± 4.303·s/√3, with s over n - 1. Raises ``ValueError`` for no values.
    """
    if not values:
        raise ValueError("no values")
    if len(values) == 1:
        return values[0], None
    freedom = len(values) - 1
    t = STUDENT_T[freedom - 1] if freedom <= len(STUDENT_T) else NORMAL
    return fmean(values), t * stdev(values) / math.sqrt(len(values))


def restart_shares(reflections: Iterable[Mc2Reflection]) -> tuple[float | None, float | None]:
    """Share of restarts among decisions, and of episodes with one; unknown without any (D11)."""
    found = list(reflections)
    actions = [action for one in found for action in one.actions]
    restarted = sum(RESTART in one.actions for one in found)
    return _share(actions.count(RESTART), len(actions)), _share(restarted, len(found))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


# ── Does guidance fit its problem? ───────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Guided:
    """One episode: the vector of its question, and for each round that of its guidance."""

    question: Vector
    guidance: tuple[Vector, ...]


def without_question(prompt: str, question: str) -> str:
    """The Reasoner's compiled prompt with every copy of the question taken out."""
    return prompt.replace(question, "") if question else prompt


def relevance(
    batches: Mapping[int, Sequence[Guided]], seed: int = 0
) -> list[tuple[int, float, float]]:
    """Batch, mean cosine of questions to their own guidance, and to another's of the same batch.

    Means over rounds, then over the batch's episodes; from batch 2 on, since the first has none.
    Batches in which no two episodes were guided are left out. Source: MC² App. E, figure 6.
    """
    rows: list[tuple[int, float, float]] = []
    for number in sorted(batches):
        guided = [one for one in batches[number] if one.guidance]
        if number >= 2 and len(guided) >= 2:
            own = [_similarity(one, one) for one in guided]
            other = [
                _similarity(one, _other(guided, at, number, seed)) for at, one in enumerate(guided)
            ]
            rows.append((number, fmean(own), fmean(other)))
    return rows


def _similarity(asked: Guided, guided: Guided) -> float:
    return fmean(cosine(asked.question, vector) for vector in guided.guidance)


def _other(guided: Sequence[Guided], at: int, number: int, seed: int) -> Guided:
    """Another episode of the batch, drawn by hash: j ≠ i."""
    step = 1 + int(hash01(seed, number, at) * (len(guided) - 1))
    return guided[(at + step) % len(guided)]
