"""The state: everything that a log adds up to, with no policy code, so that old logs fold for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from handlers.answers.grade import CHECKERS
from schemas.events.base import Event
from schemas.events.cascade import CandidatesGraded
from schemas.events.episode import (
    Completed,
    Embedded,
    EpisodeClosed,
    EpisodeOpened,
    ProblemAdmitted,
)
from schemas.events.graph import PairCompared, PathGrounded, PrincipleInduced
from schemas.events.learning import (
    BatchClosed,
    EmbedderChanged,
    Graded,
    KnowledgeConsolidated,
    KnowledgeRevised,
    LessonDistilled,
    MemoryVersioned,
    PositionVoided,
    ProblemForgotten,
    Reflected,
    SeriesOpened,
    TickPassed,
)
from schemas.identity import canonical, episode_id, learning_id
from schemas.places import stands
from state.folds.costs import CostsFold
from state.folds.forgetting import Records
from state.folds.lives import ItemKey, ItemUsage, LivesFold
from state.folds.memory import MemoryFold
from state.folds.outcomes import OutcomesFold
from state.folds.strays import Strays
from state.folds.windows import Windows

Take: TypeAlias = Callable[[Any, int, str, str, Any], None]
Said: TypeAlias = KnowledgeRevised | EmbedderChanged
VersionKey: TypeAlias = tuple[str, int]


# Keys are noted and not copied: what is written is read from the state when it is written, so that
# a key that changed ten times is written once.
@dataclass(slots=True)
class Touched:
    """Keys that changed since somebody last looked: what a snapshot or a table must write again."""

    lives: set[ItemKey] = field(default_factory=set[ItemKey])
    versions: set[VersionKey] = field(default_factory=set[VersionKey])
    episodes: set[str] = field(default_factory=set[str])
    batches: set[str] = field(default_factory=set[str])
    waiting: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Scope and episode of reflections that began or ceased to wait for their batch."""
    scopes: set[str] = field(default_factory=set[str])
    """Scopes in which a person said something, or something is being forgotten."""
    anew: bool = False
    """Whether something was withdrawn: then tables are written anew, for rows go that nobody names."""

    def clear(self) -> None:
        """Everything was written."""
        for keys in (self.lives, self.versions, self.episodes, self.batches):
            keys.clear()
        self.waiting.clear()
        self.scopes.clear()
        self.anew = False


# A policy may state any fact, also one of a learned kind at a place of its own. It must not become
# part of a memory that others read.
def _placed(take: Callable[[Any, int, str, str, Any], object]) -> Take:
    """Return the method that takes a record, if the record stands where its kind belongs."""

    def checked(state: State, offset: int, episode: str, address: str, event: Event) -> None:
        if stands(episode, address, event):
            take(state, offset, episode, address, event)
        else:
            state.strays.add(episode, address, event)

    return checked


class State:
    """Memories by scope, the lives of their items, outcomes and costs, up to one offset."""

    def __init__(self) -> None:
        self.memories: dict[str, MemoryFold] = {}
        self.digests: dict[VersionKey, str] = {}
        self.lives = LivesFold()
        self.outcomes = OutcomesFold()
        self.costs = CostsFold()
        # Whose domain has a checker is known without a policy; a window waits for its word.
        self.windows = Windows(frozenset(CHECKERS))
        self.offset = self.events = 0
        self.dimensions: int | None = None
        """Length of the vectors of lessons, by the first that were recorded or the last made anew."""
        self.records: Records | None = None
        """Where forgetting reads what folds do not keep."""
        self.forgotten: dict[str, dict[str, int]] = {}
        """By scope, what names of forgotten problems' episodes begin with, and since which offset."""
        self.watchers: list[Touched] = []
        self.strays = Strays()
        """Records of ``learning`` that count for nothing, by where they stand; snapshots do not keep it."""

    def feed(self, offset: int, episode: str, address: str, event: Event) -> None:
        """Take one accepted record, in log order."""
        # The dictionary is by exact type: most records of a log concern no fold, and this is
        # looked up for each.
        take = self.TAKES.get(type(event))
        if take is not None:
            take(self, offset, episode, address, event)
        self.passed(offset, 1)

    def attach(self, records: Records) -> None:
        """The log that this is the state of."""
        self.records = records
        for fold in self.memories.values():
            fold.records = records

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
            told = self.outcomes
            known = MemoryFold(scope, told.outcome, self.records, anew=told.anew)
            self.memories[scope] = known
        return known

    def _learning(self, episode: str) -> MemoryFold | None:
        """The memory that a learning episode adds to, while it is open."""
        scope = scope_of(episode)
        # An episode of a scope that nothing was said of yet awaits what an empty memory would.
        fold = self.memories.get(scope) or MemoryFold(scope)
        return self.memory(scope) if fold.awaits(episode) else None

    # -- taking records ----------------------------------------------------------------------------

    def _completed(self, offset: int, episode: str, address: str, event: Completed) -> None:
        self.costs.feed(episode, event)

    def _moved(self, offset: int, episode: str, address: str, event: Event) -> None:
        for each in self.watchers:
            each.episodes.add(episode)

    def _learned(self, offset: int, episode: str, address: str, event: Event) -> MemoryFold | None:
        """Take what a learning episode says; the memory that it goes into, if it does."""
        if not episode.startswith("b/"):
            return None  # a policy stated it while it solved
        fold = self._learning(episode)
        if fold is None:
            self.strays.add(episode, address, event)
            return None
        fold.feed(episode, address, event)
        for each in self.watchers:
            each.batches.add(episode)
        return fold

    def _closed(self, offset: int, episode: str, address: str, event: BatchClosed) -> None:
        self._window(episode, event)
        fold = self.memory(event.scope)
        before = fold.batches.get(event.batch)
        fold.feed(episode, address, event)
        for each in self.watchers:
            if before is not None:  # this one takes its place
                each.batches.add(learning_id(event.scope, before.batch, before.revision))
            each.batches.add(episode)
            each.scopes.add(event.scope)
            each.waiting.update((event.scope, member) for member in event.members)

    def _embedded(self, offset: int, episode: str, address: str, event: Embedded) -> None:
        fold = self._learned(offset, episode, address, event)
        # Vectors of measures may have another length than those of lessons, which recalls compare.
        if fold is None or not event.vectors or event.texts is not None:
            return
        closed = fold.batches.get(number_of(episode))
        if self.dimensions is None or (closed is not None and closed.embedder is not None):
            self.dimensions = event.dimensions

    def _versioned(self, offset: int, episode: str, address: str, event: MemoryVersioned) -> None:
        fold, revision = self._learning(episode), event.revision is not None
        if fold is None:
            self.strays.add(episode, address, event)
            return
        before = fold.versions[event.number - 1] if revision else fold.latest
        old = fold.versions.get(event.number)
        closed = fold.batches.get(event.number)
        fold.feed(episode, address, event)
        after = fold.versions[event.number]
        if after is old:  # overtaken by what was said since its closing: it counts nothing
            for each in self.watchers:
                each.batches.add(episode)
            return
        self.digests[event.scope, event.number] = event.state
        self._window(episode, event)
        changed = list(self.lives.versioned(before, after, offset))
        if revision and old is not None:
            changed += self.lives.revised(old, fold.versions, offset)
        for each in self.watchers:
            each.anew = each.anew or revision
            each.scopes.add(event.scope)
            each.versions.add((event.scope, event.number))
            each.batches.add(episode)
            # All that the batch held is waiting no more, and labels that it counted changed.
            each.waiting.update((event.scope, m) for m in (closed.members if closed else ()))
            if after.labels is not None and after.labels.number == after.number:
                each.waiting.update((event.scope, label.episode) for label in after.labels.new)
        self._changed(changed)

    def _window(self, episode: str, event: Any) -> None:
        """What is said of a scope's windows; whoever learns hears nothing of a scope before it has one."""
        scope = event.scope
        # Somebody may teach a scope before any problem of it arrives; whoever learns did not hear
        # that. Asked of a scope's first record alone, since to compare a memory is to look at
        # every version of it.
        first = scope not in self.windows.open
        late = first and scope in self.memories and self.memories[scope] != MemoryFold(scope)
        self.windows.feed(scope, episode, event, late=late)
        for each in self.watchers:
            each.scopes.add(scope)

    def _announced(self, offset: int, episode: str, address: str, event: Event) -> None:
        self._window(episode, event)

    def _reflected(self, offset: int, episode: str, address: str, event: Reflected) -> None:
        self._moved(offset, episode, address, event)
        self._window(episode, event)
        fold = self.memory(event.scope)
        fold.feed(episode, address, event)
        for each in self.watchers:
            each.waiting.add((event.scope, episode))
        known = event.memory_version in fold.versions
        # The version may be gone, or may be one that a crashed worker never wrote.
        if event.items and known and not fold.forgetting.covers(episode):
            memory = fold.versions.pinned(event.memory_version, event.memory_revision)
            outcome = self.outcomes.outcome(episode)
            self._changed(self.lives.used(episode, memory, event.items, outcome, offset))

    def _graded(self, offset: int, episode: str, address: str, event: Graded) -> None:
        fold = self.memory(event.scope)
        self._window(episode, event)
        # A grade of a forgotten answer would bring it back into outcomes and tables.
        if fold.forgetting.covers(episode):
            return
        before = self.outcomes.outcome(episode)
        self.outcomes.take(offset, episode, event)
        self._moved(offset, episode, address, event)
        now = self.outcomes.outcome(episode)
        # A second grade with the same outcome teaches nothing; it is kept as what is known.
        if now != before or event.relearned_from is not None:
            fold.feed(episode, address, event)
            for each in self.watchers:
                each.scopes.add(event.scope)
            self._changed(self.lives.graded(episode, before, now, offset))

    def _said(self, offset: int, episode: str, address: str, event: Said) -> None:
        self.memory(event.scope).feed(episode, address, event)
        for each in self.watchers:
            each.scopes.add(event.scope)

    def _forgotten(self, offset: int, episode: str, address: str, event: ProblemForgotten) -> None:
        prefix = episode_id(event.domain, event.problem_id, "")
        self._window(episode, event)
        self.memory(event.scope).feed(episode, address, event)
        # The offset of the first forgetting stays: rows of the problem say when it went.
        self.forgotten.setdefault(event.scope, {}).setdefault(prefix, offset)
        read = self.records
        names = set[str]() if read is None else set(read.episodes(event.scope, prefix))
        self._changed(list(self.lives.forget(names, self.outcomes.outcome, offset)))
        self.outcomes.forget(names)
        for each in self.watchers:
            each.anew = True
            each.scopes.add(event.scope)
            each.episodes.update(names)
            each.waiting.update((event.scope, name) for name in names)

    def forgotten_since(self, scope: str, episode: str) -> int | None:
        """The offset from which on a scope's episode is forgotten, if it is."""
        known = self.forgotten.get(scope, {})
        return next((at for prefix, at in known.items() if episode.startswith(prefix)), None)

    def _changed(self, lives: Iterable[ItemUsage]) -> None:
        for each in self.watchers:
            each.lives.update(life.key for life in lives)

    TAKES: ClassVar[Mapping[type[Event], Take]] = {
        Completed: _completed,
        ProblemAdmitted: _moved,
        EpisodeOpened: _moved,
        EpisodeClosed: _moved,
        LessonDistilled: _placed(_learned),
        Embedded: _placed(_embedded),
        KnowledgeConsolidated: _placed(_learned),
        PathGrounded: _placed(_learned),
        PrincipleInduced: _placed(_learned),
        PairCompared: _placed(_learned),
        CandidatesGraded: _placed(_learned),
        BatchClosed: _placed(_closed),
        MemoryVersioned: _placed(_versioned),
        Reflected: _placed(_reflected),
        Graded: _placed(_graded),
        KnowledgeRevised: _placed(_said),
        EmbedderChanged: _placed(_said),
        ProblemForgotten: _placed(_forgotten),
        SeriesOpened: _placed(_announced),
        PositionVoided: _placed(_announced),
        TickPassed: _placed(_announced),
    }
    """What takes each type of event; of the others only the offset counts."""

    # -- what it adds up to ------------------------------------------------------------------------

    def hash(self) -> str:
        """One SHA-256 over everything learned: memory versions, lives of items, outcomes."""
        total = hashlib.sha256()
        # Sorted, and of what was meant alone: offsets and the order of records differ between two
        # runs of the same series, and what was withdrawn must not be told apart from what never
        # was.
        outcomes, lives = self.outcomes, self.lives.known.items()
        versions = sorted([*key, digest] for key, digest in self.digests.items())
        stood = sorted(
            [*key, life.since, life.until or 0, False, life.uses, life.right, life.wrong]
            for key, life in lives
            if not life.withdrawn
        )
        known = sorted([episode, outcomes.outcome(episode)] for episode in outcomes.known)
        parts: tuple[list[Any], ...] = (versions, stood, known)
        for part in parts:
            total.update(canonical(part))
        return total.hexdigest()


def scope_of(episode: str) -> str:
    """The scope of a learning episode."""
    return episode[2:].rpartition("/")[0]


def number_of(episode: str) -> int:
    """The batch of a learning episode."""
    return int(episode.rpartition("/")[2].partition(".")[0])
