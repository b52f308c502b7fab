"""The mirror: lessons of a memory as NumPy blocks by role, so that a recall takes microseconds.

A float32 product proposes, exact arithmetic decides. The product (NumPy's own loop: a BLAS would start
threads, which wait for everybody else's) is only trusted up to a bound on its error; everything within
the bound is reckoned again in float64 in a fixed order, and ties go by id.
So what is recalled equals ``handlers.learning.recall.select`` on every machine. A scope is of one
domain and policy: its memory is the mirror's partition by domain, a block the one by role.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from handlers.learning.cosine import cosine
from handlers.learning.likeness import USUAL, Likeness, likeness_of
from handlers.learning.recall import Hit, nearest, wanted
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall

Vectors: TypeAlias = NDArray[np.float32]
# As many digits as ``recall.select`` rounds to: scores that agree so far are a tie, and go by id.
DIGITS = 9
# Episodes that are under way pin few different versions; an older block is made again when it is
# needed.
KEPT = 64
# So few lessons are scored exactly at once.
SMALL = 24
# So many times more are looked at where too few of the nearest are wanted.
MORE = 4


@dataclass(slots=True)
class Block:
    """The lessons of one role in one memory, normalised, in memory order."""

    items: tuple[MemoryItem, ...]
    matrix: Vectors | None
    """None where the vectors are not all of one length."""
    own: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Rows by the problem that they came from."""

    @classmethod
    def of(cls, items: tuple[MemoryItem, ...], before: Block | None = None) -> Block:
        """The block of these lessons; rows that an earlier block has are copied."""
        own: dict[str, list[int]] = {}
        for row, item in enumerate(items):
            own.setdefault(item.subject, []).append(row)
        return cls(items, _matrix(items, before), own)

    def nearest(
        self, question: Recall, query: Sequence[float], meant: Likeness = USUAL
    ) -> list[Hit]:
        """As ``handlers.learning.recall.nearest``, over the few that can be among the nearest.

        Where some of those are not wanted, over more of them.
        """
        matrix = self.matrix
        # A handful of lessons, or vectors of another length than the question's, are left to the
        # exact search: the product would save nothing, or say nothing.
        if matrix is None or len(self.items) <= SMALL or matrix.shape[1] != len(query):
            return nearest(self.items, question, query, meant)
        top = question.top
        while True:
            rows = self._candidates(matrix, replace(question, top=top), query)
            if rows is None:
                return nearest(self.items, question, query, meant)
            # In float64 and in a fixed order, as the exact search does it for all items.
            scored = [
                (item, round(cosine(query, _halves(item.vector).tolist()), DIGITS))
                if item.vector is not None
                else (item, 0.0)
                for item in (self.items[row] for row in rows)
            ]
            scored.sort(key=lambda hit: (-hit[1], hit[0].id))
            scored = scored[:top]
            found = wanted(scored, question, meant)
            # Found are enough, or there are no more, or those that are left are too far away to be
            # shown. Only then the search may end, else an unwanted lesson near by would hide a
            # wanted one.
            if len(found) == question.top or len(scored) < top or scored[-1][1] < meant.floor:
                return found
            top *= MORE

    def _candidates(
        self, matrix: Vectors, question: Recall, query: Sequence[float]
    ) -> list[int] | None:
        """Rows that can be among the nearest, or None where the product says nothing."""
        sought = _unit(np.array(query, dtype=np.float64))
        if sought is None:
            return None
        # ``einsum`` adds in NumPy's own loop. Its last bits still hang on the processor, and so
        # nothing is decided by them.
        about = np.einsum("ij,j->i", matrix, sought)
        # Lessons of the problem itself are left out, and marked so low that no bound reaches them.
        for row in self.own.get(question.exclude, ()) if question.exclude else ():
            about[row] = -2.0
        left = len(self.items) - len(self.own.get(question.exclude, ()) if question.exclude else ())
        top = min(question.top, left)
        if top <= 0:
            return []
        # The bound is twice the error of a float32 product of unit vectors, and of rounding to
        # nine digits: whatever the product may have put in the wrong order is looked at exactly.
        bound = 2.0 * ((len(query) + 8) * 2.0**-23 + 10.0**-DIGITS)
        least = np.partition(about, len(about) - top)[len(about) - top] - bound
        rows = np.flatnonzero(about >= least).tolist()
        return [row for row in rows if about[row] > -1.5]


def _halves(packed: str) -> NDArray[np.float64]:
    return np.frombuffer(b64decode(packed), dtype="<f2").astype(np.float64)


def _unit(vector: NDArray[np.float64]) -> Vectors | None:
    """The vector at length 1; none for one that has no direction or is not finite."""
    length = float(np.sqrt(np.sum(vector * vector)))
    if not np.isfinite(length) or length == 0.0:
        return None
    return (vector / length).astype(np.float32)


def _matrix(items: Sequence[MemoryItem], before: Block | None) -> Vectors | None:
    """Unit rows; zeros for lessons without a vector or direction."""
    # Items are the same objects from version to version, so rows are found by identity: comparing
    # them would take longer than to make their rows anew.
    known: dict[int, int] = {}
    if before is not None and before.matrix is not None:
        known = {id(item): row for row, item in enumerate(before.items)}
    new = [row for row, item in enumerate(items) if id(item) not in known]
    made = _rows([items[row] for row in new])
    if made is None or before is None or before.matrix is None or len(new) == len(items):
        return made
    old = [row for row, item in enumerate(items) if id(item) in known]
    if new and made.shape[1] != before.matrix.shape[1]:
        return None
    whole = np.zeros((len(items), before.matrix.shape[1]), dtype=np.float32)
    whole[old] = before.matrix[[known[id(items[row])] for row in old]]
    if new:
        whole[new] = made
    return whole


def _rows(items: Sequence[MemoryItem]) -> Vectors | None:
    rows = [None if item.vector is None else _halves(item.vector) for item in items]
    lengths = {len(row) for row in rows if row is not None}
    if len(lengths) > 1 or (rows and not lengths):
        return None
    made = np.zeros((len(rows), lengths.pop() if lengths else 0), dtype=np.float32)
    for at, row in enumerate(rows):
        if row is None:
            continue
        # A vector that is not finite would spoil the bound for all others; the exact search tells
        # it apart.
        if not np.isfinite(row).all():
            return None
        unit = _unit(row)
        if unit is not None:
            made[at] = unit
    return made


class Mirrors:
    """Blocks of the memories that episodes pin, the latest ones kept."""

    def __init__(self, kept: int = KEPT) -> None:
        self.kept = kept
        self.blocks: dict[tuple[str, int, str], tuple[Memory, Block]] = {}
        self.latest: dict[tuple[str, str], Block] = {}

    def select(self, memory: Memory, question: Recall, query: Sequence[float]) -> list[Hit]:
        """For each role its rules in order, then its nearest lessons."""
        hits: list[Hit] = []
        meant = likeness_of(memory.embedder)
        for role in question.roles:
            if "rule" in question.kinds:
                hits.extend((rule, None) for rule in memory.of(role, "rule"))
            if "lesson" in question.kinds:
                hits.extend(self.block(memory, role).nearest(question, query, meant))
        return hits

    def block(self, memory: Memory, role: str) -> Block:
        """The lessons of one role."""
        key = (memory.scope, memory.number, role)
        # Taken out and put in again, so that the oldest in the dictionary is the one that was
        # longest unused.
        known = self.blocks.pop(key, None)
        # A version may be closed again under its number; the memory itself says whether the block
        # is still its own.
        if known is None or known[0] is not memory:
            before = self.latest.get((memory.scope, role))
            known = (memory, Block.of(memory.of(role, "lesson"), before))
            self.latest[memory.scope, role] = known[1]
        self.blocks[key] = known
        while len(self.blocks) > self.kept:
            del self.blocks[next(iter(self.blocks))]
        return known[1]
