"""Which lessons say the same: such are one, in prompts and where a person or an outcome judges them.

By their texts, else by a cosine from which two vectors of their embedder are one; never where one says what to do
and the other what to avoid. A lesson is compared with those that stand before it, and belongs to the first that it
is like.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, sqrt
from operator import mul
from typing import Any, NamedTuple

from handlers.learning.cosine import rounded
from handlers.learning.likeness import Likeness
from schemas.memory import MemoryItem, Sided
from schemas.vectors import halves, unpack

MARGIN = 1e-4
"""By how much a rough cosine may be off."""


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
        return self.text == other.text or (self.side == other.side and self.near(other, meant))

    def near(self, other: Pointed, meant: Likeness) -> bool:
        """Whether their vectors are one; of zeros none is."""
        scale = self.length * other.length
        if not scale or len(self.vector) != len(other.vector):
            return False
        near = fsum(map(mul, self.vector, other.vector)) / scale
        return rounded(max(-1.0, min(1.0, near))) >= meant.same


def grouped(lessons: Sequence[Pointed], meant: Likeness) -> list[list[int]]:
    """The places of lessons that say the same, in the order of the first of each."""
    found: list[list[int]] = []
    for at, lesson in enumerate(lessons):
        # Compared with the first of a group alone: likeness is not transitive, and from neighbour
        # to neighbour a group would drift until its ends said different things.
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
    # What older lessons say again was settled when their batch closed, and stays: a lesson's tally
    # must not move to another mark because a newer one joined.
    known: dict[str, str] = dict(standing.get("same", {}))
    new = {lesson.mark for lesson in lessons if lesson.batch > before} - known.keys()
    asked = [each.vector for each in lessons if each.vector and each.mark in new]
    near = twins(asked, [each.vector for each in lessons if each.vector], meant)
    texts: dict[tuple[str, str], tuple[int, str]] = {}
    vectors: dict[tuple[str, str | None, Sided | None], tuple[int, str]] = {}
    for place, lesson in enumerate(lessons):
        mark, role, own, side = lesson.mark, lesson.role, lesson.vector, lesson.polarity
        if mark in new:
            said = [texts.get((role, lesson.text_digest))]
            said += [vectors.get((role, vector, side)) for vector in near.get(own or "", ())]
            _, first = min((one for one in said if one is not None), default=(place, mark))
            if first != mark:
                # The first may repeat another itself: marks lead to the head at once, in no chain.
                known[mark] = known.get(first, first)
        texts.setdefault((role, lesson.text_digest), (place, mark))
        vectors.setdefault((role, own, side), (place, mark))
    return {**standing, "same": known} if known else dict(standing)


def twins(
    asked: Iterable[str], among: Iterable[str], meant: Likeness
) -> dict[str, tuple[str, ...]]:
    """For each vector that is asked about, all ``among`` which it is that are one with it, itself included.

    The vectors are packed. No vector is one with zeros, or with one of another length. All are compared in single
    precision, which errs by far less than ``MARGIN``; those that lie as near as that to the threshold are compared
    exactly. One by one they would take half of the time in which a log folds.
    """
    import numpy as np

    every = list(dict.fromkeys(among))
    places = {vector: at for at, vector in enumerate(every)}
    wanted = [places[vector] for vector in dict.fromkeys(asked)]
    if not wanted:
        return {}
    raw = list(map(halves, every))
    longest = max(map(len, raw))
    widths = np.array([len(each) for each in raw])
    padded = b"".join([each.ljust(longest, b"\0") for each in raw])
    rows = np.frombuffer(padded, dtype="<f2").reshape(len(raw), -1).astype(np.float32)
    summed = np.einsum  # noqa: TID251 - in any order: what comes near the threshold is compared exactly
    lengths = np.sqrt(summed("ik,ik->i", rows, rows))
    rows /= np.where(lengths, lengths, 1.0)[:, None]
    cosines = summed("ik,jk->ij", rows[wanted], rows)
    cosines[widths[wanted][:, None] != widths] = 0.0
    found: dict[str, list[str]] = {every[at]: [] for at in wanted}
    for its, other in np.argwhere(cosines >= meant.same - MARGIN).tolist():
        one, two = every[wanted[its]], every[other]
        if cosines[its, other] < meant.same + MARGIN:  # too near to the threshold to be sure
            left, right = (Pointed.of("", unpack(each), None) for each in (one, two))
            if not left.near(right, meant):
                continue
        found[one].append(two)
    return {vector: tuple(others) for vector, others in found.items()}
