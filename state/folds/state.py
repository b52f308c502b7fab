"""The state: everything that a log adds up to, with no policy code, so that old logs fold for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from schemas.events.base import Event
from schemas.events.episode import (
    Completed,
    Embedded,
)
from schemas.events.learning import (
    Graded,
    MemoryVersioned,
    Reflected,
)
from schemas.identity import canonical
from state.folds.costs import CostsFold
from state.folds.lives import Life, LifeKey, LivesFold
from state.folds.memory import MemoryFold
from state.folds.outcomes import OutcomesFold

Take: TypeAlias = Callable[[int, str, Any], None]
VersionKey: TypeAlias = tuple[str, int]


@dataclass(slots=True)
class Touched:
    """Keys that changed since somebody last looked: what a snapshot or a table must write again."""

    lives: set[LifeKey] = field(default_factory=set[LifeKey])
    versions: set[VersionKey] = field(default_factory=set[VersionKey])
    episodes: set[str] = field(default_factory=set[str])
    batches: set[str] = field(default_factory=set[str])
    waiting: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Scope and episode of reflections that began or ceased to wait for their batch."""

    def clear(self) -> None:
        """Everything was written."""
        for keys in (self.lives, self.versions, self.episodes, self.batches, self.waiting):
            keys.clear()


class State:
    """Memories by scope, the lives of their items, outcomes and costs, up to one offset."""

    def __init__(self) -> None:
        self.memories: dict[str, MemoryFold] = {}
        self.digests: dict[VersionKey, str] = {}
        self.lives = LivesFold()
        self.outcomes = OutcomesFold()
        self.costs = CostsFold()
        self.offset = self.events = 0
        self.dimensions: int | None = None
        """Length of the vectors of lessons, by the first that were recorded."""
        self.watchers: list[Touched] = []
        self.takes: dict[str, Take] = {
            "completed": self._completed,
            "problem.admitted": self._moved,
            "episode.opened": self._moved,
            "episode.closed": self._moved,
            "lesson.distilled": self._learned,
            "embedded": self._embedded,
            "knowledge.consolidated": self._learned,
            "path.grounded": self._learned,
            "principle.induced": self._learned,
            "pair.compared": self._learned,
            "batch.closed": self._learned,
            "memory.versioned": self._versioned,
            "reflected": self._reflected,
            "graded": self._graded,
        }
        """What takes the events of a kind; of the others only the offset counts."""

    def feed(self, offset: int, episode: str, event: Event) -> None:
        """Take one accepted record, in log order."""
        take = self.takes.get(event.kind)
        if take is not None:
            take(offset, episode, event)
        self.passed(offset, 1)

    def passed(self, offset: int, events: int) -> None:
        """So many records up to this offset were taken."""
        self.offset = offset
        self.events += events

    def watch(self) -> Touched:
        """Be told from now on what changes."""
        touched = Touched()
        self.watchers.append(touched)
        return touched

    def memory(self, scope: str) -> MemoryFold:
        """The memory of a scope, made at first sight."""
        known = self.memories.get(scope)
        if known is None:
            known = self.memories[scope] = MemoryFold(scope)
        return known

    # -- taking records ----------------------------------------------------------------------------

    def _completed(self, offset: int, episode: str, event: Completed) -> None:
        self.costs.feed(episode, event)

    def _moved(self, offset: int, episode: str, event: Event) -> None:
        for each in self.watchers:
            each.episodes.add(episode)

    def _learned(self, offset: int, episode: str, event: Event) -> None:
        if episode.startswith("b/"):
            self.memory(scope_of(episode)).feed(episode, event)
            for each in self.watchers:
                each.batches.add(episode)

    def _embedded(self, offset: int, episode: str, event: Embedded) -> None:
        self._learned(offset, episode, event)
        if self.dimensions is None and event.vectors and episode.startswith("b/"):
            self.dimensions = event.dimensions

    def _versioned(self, offset: int, episode: str, event: MemoryVersioned) -> None:
        fold = self.memory(event.scope)
        before, learned = fold.latest, fold.learning.get(episode)
        closed = fold.batches.get(event.number)
        fold.feed(episode, event)
        after = fold.versions[event.number]
        self.digests[event.scope, event.number] = event.state
        embedder = None if learned is None else learned.embedder
        changed = list(self.lives.versioned(before, after, offset, embedder))
        for each in self.watchers:
            each.versions.add((event.scope, event.number))
            each.batches.add(episode)
            each.waiting.update((event.scope, m) for m in (closed.members if closed else ()))
        self._changed(changed)

    def _reflected(self, offset: int, episode: str, event: Reflected) -> None:
        self._moved(offset, episode, event)
        fold = self.memory(event.scope)
        fold.feed(episode, event)
        for each in self.watchers:
            each.waiting.add((event.scope, episode))
        memory = fold.versions.get(event.memory_version)
        if event.items and memory is not None:
            outcome = self.outcomes.outcome(episode)
            self._changed(self.lives.used(episode, memory, event.items, outcome, offset))

    def _graded(self, offset: int, episode: str, event: Graded) -> None:
        before = self.outcomes.outcome(episode)
        self.outcomes.feed(offset, episode, event)
        self._moved(offset, episode, event)
        now = self.outcomes.outcome(episode)
        if now != before:
            self._changed(self.lives.graded(episode, before, now, offset))

    def _changed(self, lives: Iterable[Life]) -> None:
        for each in self.watchers:
            each.lives.update(life.key for life in lives)

    # -- what it adds up to ------------------------------------------------------------------------

    def hash(self) -> str:
        """One SHA-256 over everything learned: memory versions, lives of items, outcomes."""
        total = hashlib.sha256()
        for part in (self._versions_meant(), self._lives_meant(), self._outcomes_meant()):
            total.update(canonical(part))
        return total.hexdigest()

    def _versions_meant(self) -> list[Any]:
        return sorted([*key, digest] for key, digest in self.digests.items())

    def _lives_meant(self) -> list[Any]:
        return sorted(
            [*key, life.since, life.until or 0, life.withdrawn, life.uses, life.right, life.wrong]
            for key, life in self.lives.known.items()
        )

    def _outcomes_meant(self) -> list[Any]:
        known = self.outcomes.known
        return sorted([episode, self.outcomes.outcome(episode)] for episode in known)


def scope_of(episode: str) -> str:
    """The scope of a learning episode."""
    return episode[2:].rpartition("/")[0]


def number_of(episode: str) -> int:
    """The batch of a learning episode."""
    return int(episode.rpartition("/")[2].partition(".")[0])
