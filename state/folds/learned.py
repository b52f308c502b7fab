"""The lessons, vectors and rules that one learning episode has stated so far, in the order of addresses.

Source: MC² eq. (10), (11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from schemas.events.base import Event
from schemas.events.cascade import CandidatesGraded
from schemas.events.episode import Embedded
from schemas.events.graph import PairCompared, PathGrounded, PrincipleInduced
from schemas.events.learning import KnowledgeConsolidated, LessonDistilled
from schemas.identity import address_order, text_digest
from schemas.memory import Memory, MemoryItem

MEASURED = (PathGrounded, PrincipleInduced, PairCompared, CandidatesGraded)
"""What learning rules take from."""
TAUGHT: frozenset[type[Event]] = frozenset(
    {LessonDistilled, KnowledgeConsolidated, Embedded, *MEASURED}
)
S = TypeVar("S", bound=Event)


@dataclass(slots=True)
class Learned:
    """Lanes of a learning episode end in any order: what they said counts by its address."""

    said: dict[str, Event] = field(default_factory=dict[str, Event])
    order: list[Event] | None = field(default=None, compare=False)
    """What was said in order of addresses, while nothing more is."""

    def feed(self, address: str, event: Event) -> None:
        """Take one record of the learning episode; the first at an address counts."""
        if type(event) in TAUGHT:
            self.said.setdefault(address, event)
            self.order = None

    def _ordered(self) -> list[Event]:
        # Sorting is put off until something is asked for, because a learning episode says much
        # before that.
        if self.order is None:
            self.order = [self.said[address] for address in sorted(self.said, key=address_order)]
        return self.order

    def _all(self, kind: type[S]) -> Iterator[S]:
        return (event for event in self._ordered() if type(event) is kind)

    @property
    def facts(self) -> list[Event]:
        """Facts that learning rules take, in order."""
        return [event for event in self._ordered() if type(event) in MEASURED]

    @property
    def embedder(self) -> str | None:
        """The embedder that made the vectors, if there are any."""
        return next((event.embedder for event in self._all(Embedded)), None)

    @property
    def vectors(self) -> list[str]:
        """Every vector that was made for what was said, in order."""
        bare = (event for event in self._all(Embedded) if event.texts is None)
        return [vector for event in bare for vector in event.vectors]

    @property
    def named(self) -> list[Embedded]:
        """The answers that name what each of their vectors is made of: those are for measures."""
        return [event for event in self._all(Embedded) if event.texts is not None]

    @property
    def rules(self) -> Mapping[str, KnowledgeConsolidated]:
        """The last statement of the rules of each role."""
        return {event.role: event for event in self._all(KnowledgeConsolidated)}

    def items(self, batch: int) -> list[MemoryItem]:
        """The lessons as memory items, each with its vector, or the one that stands in its place."""
        lessons = list(self._all(LessonDistilled))
        # Lessons whose vectors are not there yet still are lessons; the log may end between the
        # two.
        vectors: list[str | None] = [*self.vectors, *([None] * len(lessons))]
        return [
            lesson_of(lesson, batch, vector)
            for lesson, vector in zip(lessons, vectors, strict=False)
        ]


def lesson_of(event: LessonDistilled, batch: int, vector: str | None) -> MemoryItem:
    """A lesson as a memory item."""
    text = event.text
    return MemoryItem(
        *(event.id, "lesson", event.role, text, text_digest(text), batch, event.subject),
        *(event.evidence, event.polarity, event.vector or vector),
    )


def rules_of(event: KnowledgeConsolidated, batch: int) -> list[MemoryItem]:
    """The rules of one role as memory items."""
    role = event.role
    return [
        MemoryItem(rule, "rule", role, text, text_digest(text), batch) for rule, text in event.rules
    ]


def pairs_of(facts: Sequence[Event], before: Memory) -> Iterator[tuple[str, float, float]]:
    """Return the rewards of runs with and without a principle, by the mark that it had."""
    marks = {item.id: item.mark for item in before.items if item.kind == "rule"}
    for fact in facts:
        if isinstance(fact, PairCompared) and fact.principle in marks:
            yield marks[fact.principle], fact.with_reward, fact.without_reward
