"""Vectors of a memory by another embedder: asked for once, recorded, and folded into its next revision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

from schemas.asking import Steps
from schemas.identity import text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed
from schemas.vectors import width

# Vectors are questions like any other: once recorded they are never asked for again, and a
# replay needs no embedder. A change of embedder asks for all of a memory's texts here, and folds
# put the vectors in.
TOGETHER = 128
"""Texts of one question, so that its record stays small."""


@dataclass(slots=True)
class Anew:
    """The vectors of one embedder, found by what they are made of; notes what it lacks.

    ``known`` are packed vectors by the digests of their texts.
    """

    known: dict[str, str] = field(default_factory=dict[str, str])
    lacks: dict[str, None] = field(default_factory=dict[str, None])
    unsaid: int = 0
    """Vectors of which nobody knows what they are made of: builds before this one did not say it."""

    def __call__(self, text: str | None) -> str | None:
        """The vector of a text, if there is one."""
        if text is None:
            self.unsaid += 1
            return None
        found = self.known.get(text_digest(text))
        if found is None:
            # A dict keeps the order in which texts were missed, so that the question that asks for
            # them has the same fingerprint on every run; a set would not.
            self.lacks[text] = None
        return found


def width_of(memory: Memory) -> int | None:
    """How many numbers the vectors of a memory have; unknown where it keeps none as they were made."""
    parts: list[Any] = [
        each.values() if isinstance(each, Mapping) else each for each in memory.learned.values()
    ]
    # Of cases, principles and arms. The contexts of an arm's pulls are left out: not every bandit's are vectors of
    # texts.
    measured = (
        cast("Mapping[str, Any]", each).get("vector")
        for part in parts
        if isinstance(part, Iterable)
        for each in cast("Iterable[Any]", part)
        if isinstance(each, Mapping)
    )
    found = next(filter(None, chain((item.vector for item in memory.items), measured)), None)
    return None if found is None else width(found)


def embed_anew(memory: Memory, found_by: Callable[[MemoryItem], str]) -> Steps[None]:
    """One vector for each item that has one, in order, by what it is found by."""
    yield from _in_parts([found_by(item) for item in memory.embedded()], named=False)


def embed_named(texts: Sequence[str]) -> Steps[None]:
    """One vector for each text, which the record names: measures take theirs by it."""
    yield from _in_parts(texts, named=True)


def _in_parts(texts: Sequence[str], *, named: bool) -> Steps[None]:
    for start in range(0, len(texts), TOGETHER):
        yield from Embed(tuple(texts[start : start + TOGETHER]), named)
