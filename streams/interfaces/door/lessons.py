"""Lessons that have to do with a question, and what became of those who were given them.

Likeness is a cosine of vectors by the embedder that made a memory's own. Where that embedder is not at hand (an
endpoint's model, a wheel that is not installed), or a lesson never got a vector, the texts are compared by
hashed n-grams instead, and each result says by which of the two it was found: cosines of two embedders are never
put in one order as if they meant the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from handlers.learning.cosine import cosine, rounded
from handlers.learning.retire import one
from schemas.memory import Memory, MemoryItem
from schemas.vectors import unpack
from streams.answering.embedders.choosing import Embedders
from streams.answering.embedders.hashed import HashedEmbedder
from streams.interfaces.cli.show.library import Library
from streams.research.analysis.effects import Probed


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The effect of a lesson in batches where other episodes did without it.

    ``points`` is the share of right answers with it minus the share that the others led to expect, in points of
    accuracy; it is unknown while no such episode has a known outcome.
    """

    opportunities: float
    points: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson in force, and what became of the episodes that had it in their prompts."""

    item: MemoryItem
    scope: str
    embedder: str | None
    used: int
    right: int
    wrong: int
    effect: Effect
    probed: Sequence[Probed]
    """What `metalogue effect lesson` found when its episodes were run again without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLesson:
    """A lesson beside how like the question it is, and by whose vectors."""

    lesson: Lesson
    similarity: float
    by: str


def lessons_of(library: Library, memory: str) -> Iterator[Lesson]:
    """All lessons in force that episodes under this name of a memory are given, of every domain and policy."""
    for shelf in sorted(library.shelves.values(), key=lambda shelf: shelf.scope):
        # A scope ends in the memory's name and a digest, whatever stands in the domain's name.
        if shelf.scope.rsplit("/", 2)[1] != memory:
            continue
        latest = shelf.memory.latest
        for item in latest.items:
            if item.kind != "lesson":
                continue
            uses = shelf.uses_of(item)
            outcomes = library.outcomes(uses)
            yield Lesson(
                item=item,
                scope=shelf.scope,
                embedder=latest.embedder if item.vector else None,
                used=len(uses),
                right=outcomes.get("right", 0),
                wrong=outcomes.get("wrong", 0),
                effect=effect_of(latest, item),
                probed=library.effects(shelf, item),
            )


def effect_of(memory: Memory, item: MemoryItem) -> Effect:
    """The effect that retirement goes by; lessons that say the same are measured as one."""
    tally = memory.standing.get("tally", {}).get(one(memory.standing, item.mark))
    # No tally is no effect of zero: nobody has compared it with anything yet.
    if tally is None:
        return Effect(opportunities=0, points=None)
    right, wrong, expected = tally
    uses = right + wrong
    return Effect(
        opportunities=uses, points=round(100 * (right - expected) / uses, 6) if uses else None
    )


async def nearest(query: str, lessons: Sequence[Lesson], top: int) -> list[FoundLesson]:
    """The ``top`` lessons that are most like the query, the nearest first; ties go by id.

    Lessons with comparable vectors come before those that only letters were compared of.
    """
    by_letters, at_hand = HashedEmbedder(), Embedders(HashedEmbedder())
    asked: dict[str, tuple[float, ...]] = {}
    found: list[FoundLesson] = []
    for lesson in lessons:
        embedder = at_hand.of(lesson.embedder)
        own = lesson.item.vector if embedder.name == lesson.embedder else None
        if own is None:
            embedder = by_letters
        # The question is embedded once by each, since an endpoint may charge for it.
        if embedder.name not in asked:
            (asked[embedder.name],) = await embedder.embed([query])
        # A lesson's vector was made when it was learned; without one its text is embedded for
        # this question alone.
        said = unpack(own) if own else (await embedder.embed([lesson.item.text]))[0]
        found.append(
            FoundLesson(
                lesson=lesson,
                similarity=rounded(cosine(asked[embedder.name], said)),
                by=embedder.name,
            )
        )
    await at_hand.close()
    # First by embedder and only then by likeness: numbers of two embedders are in no common order.
    found.sort(
        key=lambda each: (
            each.by == by_letters.name and each.lesson.embedder != by_letters.name,
            each.by,
            -each.similarity,
            each.lesson.item.id,
        )
    )
    return found[:top]
