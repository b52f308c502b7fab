"""Vectors of a memory by another embedder: asked for once, recorded, and folded into its next revision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    lessons = (item.vector for item in memory.items)
    found = next(filter(None, chain(lessons, _measured(memory.learned))), None)
    return None if found is None else width(found)


def _measured(learned: Mapping[str, Any]) -> Iterator[str | None]:
    """The packed vectors of cases, principles and arms, and of the pulls that arms keep."""
    for part in learned.values():
        held: Any = cast("Mapping[str, Any]", part).values() if isinstance(part, Mapping) else part
        many = cast("Iterable[Any]", held) if isinstance(held, Iterable) else ()
        for each in many:
            if isinstance(each, Mapping):
                known = cast("Mapping[str, Any]", each)
                yield known.get("vector")
                yield from (row[0] for row in known.get("rows", ()))


def embed_anew(memory: Memory, found_by: Callable[[MemoryItem], str]) -> Steps[None]:
    """One vector for each item that has one, in order, by what it is found by."""
    yield from _in_parts([found_by(item) for item in memory.embedded()], named=False)


def embed_named(texts: Sequence[str]) -> Steps[None]:
    """One vector for each text, which the record names: measures take theirs by it."""
    yield from _in_parts(texts, named=True)


def _in_parts(texts: Sequence[str], *, named: bool) -> Steps[None]:
    for start in range(0, len(texts), TOGETHER):
        yield from Embed(tuple(texts[start : start + TOGETHER]), named)
