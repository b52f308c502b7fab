"""Which lessons say the same: such are one, in prompts and where a person or an outcome judges them.

By their texts, else by a cosine from which two vectors of their embedder are one; never where one says what to do
and the other what to avoid. A lesson is compared with those that stand before it, and belongs to the first that it
is like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from operator import mul
from typing import Any, NamedTuple

from handlers.learning.cosine import rounded
from handlers.learning.likeness import Likeness
from schemas.memory import MemoryItem, Sided
from schemas.vectors import unpack


class Pointed(NamedTuple):
    """A lesson's text and vector, made once for many comparisons."""

    text: str
    """Digest of its text."""
    vector: tuple[float, ...]
    """Empty where it has none."""
    length: float
    side: Sided | None

    @classmethod
    def of(cls, text: str, vector: Sequence[float], side: Sided | None) -> Pointed:
        """The text with this digest, by this vector."""
        return cls(text, tuple(vector), sqrt(fsum(map(mul, vector, vector))), side)

    @classmethod
    def at(cls, item: MemoryItem) -> Pointed:
        """A lesson of memory."""
        return cls.of(item.text_digest, unpack(item.vector) if item.vector else (), item.polarity)

    def same(self, other: Pointed, meant: Likeness) -> bool:
        """Whether both say the same."""
        if self.text == other.text:
            return True
        scale = self.length * other.length
        comparable = self.side == other.side and len(self.vector) == len(other.vector)
        if not scale or not comparable:
            return False
        near = fsum(map(mul, self.vector, other.vector)) / scale
        return rounded(max(-1.0, min(1.0, near))) >= meant.same


def grouped(lessons: Sequence[Pointed], meant: Likeness) -> list[list[int]]:
    """The places of lessons that say the same, in the order of the first of each."""
    found: list[list[int]] = []
    for at, lesson in enumerate(lessons):
        like = (group for group in found if lesson.same(lessons[group[0]], meant))
        group = next(like, None)
        if group is None:
            found.append([at])
        else:
            group.append(at)
    return found


def joined(
    standing: Mapping[str, Any], lessons: Sequence[MemoryItem], before: int, meant: Likeness
) -> dict[str, Any]:
    """The standing in which lessons of batches after ``before`` stand with what they say again.

    ``same`` holds by a lesson's mark the one under which all that say the same are measured and judged.
    """
    known: dict[str, str] = dict(standing.get("same", {}))
    pointed: dict[str, list[tuple[MemoryItem, Pointed]]] = {}
    for lesson in lessons:
        own = Pointed.at(lesson)
        earlier = pointed.setdefault(lesson.role, [])
        if lesson.batch > before and lesson.mark not in known:
            like = (other.mark for other, its in earlier if own.same(its, meant))
            first = next(like, None)
            if first is not None:
                known[lesson.mark] = known.get(first, first)
        earlier.append((lesson, own))
    return {**standing, "same": known} if known else dict(standing)
