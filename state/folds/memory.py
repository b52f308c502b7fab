"""Memory versions as a fold over learning episodes. Needs no policy code: golden logs rebuild for ever.

Source: MC² eq. (10), (11): lessons of the last w batches stay live, rules are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from handlers.learning.measured import Measured
from handlers.learning.rules import learned_after
from schemas.events.base import Event
from schemas.events.episode import Embedded
from schemas.events.graph import PairCompared, PathGrounded, PrincipleInduced
from schemas.events.learning import (
    BatchClosed,
    KnowledgeConsolidated,
    LessonDistilled,
    MemoryVersioned,
    Reflected,
)
from schemas.identity import learning_id, text_digest
from schemas.memory import Memory, MemoryItem
from state.folds.versions import Versions


class MemoryMismatch(ValueError):
    """A memory version's digest differs from what its records add up to."""


@dataclass(slots=True)
class Learned:
    """What one learning episode has said so far."""

    lessons: list[LessonDistilled] = field(default_factory=list[LessonDistilled])
    vectors: list[str] = field(default_factory=list[str])
    rules: dict[str, KnowledgeConsolidated] = field(
        default_factory=dict[str, KnowledgeConsolidated]
    )
    embedder: str | None = None
    said: list[Event] = field(default_factory=list[Event])
    """Facts that the scope's learning rule takes from the learning episode itself."""

    def feed(self, event: Event) -> None:
        """Take one record of the learning episode."""
        match event:
            case LessonDistilled():
                self.lessons.append(event)
            case Embedded():
                self.vectors.extend(event.vectors)
                self.embedder = event.embedder
            case KnowledgeConsolidated():
                self.rules[event.role] = event
            case PathGrounded() | PrincipleInduced() | PairCompared():
                self.said.append(event)
            case _:
                pass

    def items(self, batch: int) -> list[MemoryItem]:
        """The lessons as memory items, each with the vector that stands in its place."""
        vectors: list[str | None] = [*self.vectors, *[None] * len(self.lessons)]
        return [
            MemoryItem(
                id=lesson.id,
                kind="lesson",
                role=lesson.role,
                text=lesson.text,
                text_digest=text_digest(lesson.text),
                batch=batch,
                subject=lesson.subject,
                evidence=lesson.evidence,
                polarity=lesson.polarity,
                vector=vector,
            )
            for lesson, vector in zip(self.lessons, vectors, strict=False)
        ]


def rules_of(event: KnowledgeConsolidated, batch: int) -> list[MemoryItem]:
    """The rules of one role as memory items."""
    return [
        MemoryItem(
            id=rule,
            kind="rule",
            role=event.role,
            text=text,
            text_digest=text_digest(text),
            batch=batch,
        )
        for rule, text in event.rules
    ]


def next_memory(
    previous: Memory,
    learned: Learned,
    number: int,
    live_from: int,
    state: Mapping[str, Any] | None = None,
) -> Memory:
    """The memory version that follows: new rules for old, old lessons while they are live, new lessons.

    ``state`` is what the learning rule made of the batch; left out, the previous one stays.
    """
    kept = [i for i in previous.items if i.kind == "rule" and i.role not in learned.rules]
    rules = kept + [i for event in learned.rules.values() for i in rules_of(event, number)]
    rules.sort(key=lambda item: (item.role, item.id))
    lessons = [i for i in previous.items if i.kind == "lesson" and i.batch >= live_from]
    kept_state = previous.learned if state is None else state
    return Memory(previous.scope, number, (*rules, *lessons, *learned.items(number)), kept_state)


def measured(episode: str, outcome: str, reflected: Reflected) -> Measured:
    """What a member of a batch measured, as learning rules see it."""
    return Measured(
        episode,
        outcome,
        reflected.summary,
        reflected.problem,
        reflected.answer,
        reflected.usage.calls,
    )


def state_after(
    previous: Memory,
    closed: BatchClosed | None,
    reflected: Mapping[str, Reflected],
    said: Sequence[Event] = (),
) -> Mapping[str, Any]:
    """The learned state after a batch, by the rule that the batch names."""
    if closed is None or closed.rule is None:
        return previous.learned
    members = [
        measured(episode, outcome, reflected[episode])
        for episode, outcome in zip(closed.members, closed.outcomes, strict=True)
    ]
    return learned_after(closed.rule, previous.learned, members, closed.constants or {}, said)


@dataclass(slots=True)
class MemoryFold:
    """Every memory version of one scope."""

    scope: str
    versions: Versions = field(default_factory=Versions)
    learning: dict[str, Learned] = field(default_factory=dict[str, Learned])
    reflected: dict[str, Reflected] = field(default_factory=dict[str, Reflected])
    batches: dict[int, BatchClosed] = field(default_factory=dict[int, BatchClosed])

    def __post_init__(self) -> None:
        self.versions.setdefault(0, Memory(self.scope, 0))

    @property
    def latest(self) -> Memory:
        """The newest version."""
        return self.versions[max(self.versions)]

    def learned(self, batch: int) -> Learned:
        """What the learning episode of a batch has said so far."""
        return self.learning.setdefault(learning_id(self.scope, batch), Learned())

    def feed(self, episode: str, event: Event) -> None:
        """Take one record. Raises ``MemoryMismatch`` when a version's digest is not met."""
        if isinstance(event, Reflected):
            self.reflected[episode] = event
        elif not episode.startswith("b/"):
            return
        elif isinstance(event, BatchClosed):
            self.batches[event.batch] = event
        elif isinstance(event, MemoryVersioned):
            self._version(episode, event)
        else:
            self.learning.setdefault(episode, Learned()).feed(event)

    def _version(self, episode: str, event: MemoryVersioned) -> None:
        if event.number in self.versions and event.number > 0:
            return
        learned = self.learning.pop(episode, Learned())
        previous = self.versions.get(event.number - 1, Memory(self.scope, 0))
        closed = self.batches.pop(event.number, None)
        state = state_after(previous, closed, self.reflected, learned.said)
        memory = next_memory(previous, learned, event.number, event.live_from, state)
        if memory.state() != event.state:
            raise MemoryMismatch(
                f"{self.scope}: version {event.number} does not add up to its records"
            )
        self.versions[event.number] = memory
        for member in closed.members if closed is not None else ():
            self.reflected.pop(member, None)
