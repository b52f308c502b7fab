"""The learner is one pure fold: it holds the windows, memory versions and grades of every scope.

The worker asks it which batches are due, and verification asks it which should have been due. Both feed it
the same records in the same order. It decides nothing by a clock and reads nothing but what it is fed, so
whoever has folded the same records knows the same.

A batch passes through it in four steps: ``batch_closed`` pins its members and everything else that learning
depends on, ``batch`` and ``steps`` make the learning episode that a driver runs, and ``version`` closes the
memory version that follows from what that episode said.

Everything that learning depends on is written into ``BatchClosed`` before the first question of its learning
episode is asked: outcomes as they were known, settings, constants, seed. A grade that arrives a second later changes
the next batch and never this one. Else a worker that resumed after a crash would learn something else than the one
that crashed.

A scope whose policy is not here is *lost*. It stays lost as long as this fold lives, even if the policy is found
later: its window has not seen the records that passed meanwhile, and would close other batches than the log holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from handlers.learning.calibrate import RULE as CALIBRATION
from handlers.learning.embedding import embed_anew, embed_named
from handlers.policies.base import Batch, Member
from schemas.asking import Steps
from schemas.events.base import Event
from schemas.events.codec import as_written
from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import (
    BatchClosed,
    Graded,
    MemoryVersioned,
    ProblemForgotten,
    Reflected,
    SeriesOpened,
)
from schemas.events.union import kind_of
from schemas.identity import canonical, learning_id, seed_of, text_digest
from schemas.memory import Memory
from schemas.places import stands
from schemas.problem import Limits, Profile
from state.folds.forgetting import Records
from state.folds.grades import GradesFold
from state.folds.learned import TAUGHT
from state.folds.memory import Learned, MemoryFold, next_memory
from state.folds.remeasuring import aligned, wanted
from state.folds.state import scope_of
from state.folds.strays import Strays
from state.folds.windows import Due, ScopeWindow
from streams.engine.overturned import marked
from streams.engine.policies import Find, NoPolicy, find_recorded
from streams.engine.scopes import Lost, Scope, scope_made

Told = Callable[[str, str], None]
HEARD: frozenset[type[Event]] = frozenset({*ScopeWindow.TAKES, *MemoryFold.TAKES, *TAUGHT})
"""Events of ``learning`` that the learner takes; questions and answers of learning episodes are not among them."""
HEARD_KINDS = tuple(sorted(map(kind_of, HEARD)))
LEARNED: frozenset[type[Event]] = frozenset({*TAUGHT, MemoryVersioned})
"""Events that learning episodes state. They count only between the closing of their batch and its version."""
MET_BY = (SeriesOpened, Reflected)
"""Events by which a scope is first seen, since they name its policy."""


def nobody(scope: str, why: str) -> None:
    """Nobody is told of a scope that is lost."""


@dataclass(slots=True)
class Learner:
    """The fold over ``learning``. ``find`` turns a policy's name into the policy."""

    find: Find
    records: Records | None = None
    """The part of the log that forgetting reads, because folds do not keep it."""
    told: Told = nobody
    """Told of each scope that is lost, and why."""
    scopes: dict[str, Scope] = field(default_factory=dict[str, Scope])
    lost: dict[str, Lost] = field(default_factory=dict[str, Lost])
    """Scopes whose policy is not here. One stays lost for as long as this fold lives: it passed records over."""
    early: dict[str, list[tuple[str, str, ProblemForgotten]]] = field(
        default_factory=dict[str, list[tuple[str, str, ProblemForgotten]]]
    )
    """Problems that a scope was told to forget before it was seen; they were queued by then."""
    grades: GradesFold = field(default_factory=GradesFold)
    strays: Strays = field(default_factory=Strays)
    """Records that stand where nobody of ours puts them, or came when nobody learned."""

    def feed(self, episode: str, address: str, event: Event) -> bool:
        """Take one record of ``learning``, in log order. Returns whether it may count."""
        if type(event) not in HEARD:
            return True
        named = scope_of(episode) if type(event) in TAUGHT else getattr(event, "scope", "")
        # What a learning episode says counts only while its batch is open. The version that closed
        # it states what was known then: a record that comes later would make another memory of it.
        if not stands(episode, address, event) or (
            type(event) in LEARNED and not self.memory(named).awaits(episode)
        ):
            self.strays.add(episode, address, event)
            return False
        scope = self.meet(named, event)
        # Grades are kept for all scopes, lost ones too, and before the window looks
        # whether it has them all.
        if isinstance(event, Graded):
            self.grades.feed(episode, event)
        if scope is not None:
            self._take(scope, episode, address, event)
        elif named in self.lost:
            self.lost[named].memory.feed(episode, address, event)
        elif isinstance(event, ProblemForgotten):
            self.early.setdefault(named, []).append((episode, address, event))
        return True

    def _take(self, scope: Scope, episode: str, address: str, event: Event) -> None:
        """A record of a scope that learns here."""
        scope.window.feed(episode, event)
        scope.memory.feed(episode, address, event)
        if isinstance(event, BatchClosed):
            # As in the state that others fold: whoever learns for months must not keep all who ever came.
            scope.window.let_go(event.members)
        # As they stand now: records that come while the batch is learned from must not
        # change what it asks.
        if isinstance(event, BatchClosed) and event.measured is not None:
            scope.texts[episode] = tuple(wanted(scope.memory, event).lacks)
        if scope.window.owed or scope.owes:
            scope.settle_owed()
        if isinstance(event, MemoryVersioned):
            # Only a warm start records version 0; every other scope begins with an empty one.
            scope.warmed = scope.warmed or event.number == 0
            scope.texts.pop(episode, None)

    def meet(self, named: str, event: Event) -> Scope | None:
        """The scope of this name, if it is not lost; one that is new is made where the event may do that."""
        known = self.scopes.get(named)
        if known is not None or named in self.lost or not isinstance(event, MET_BY):
            return known
        if isinstance(event, SeriesOpened):
            policy, version, values = event.policy, event.policy_version, event.settings
        else:
            policy, _, version = event.policy.rpartition("@")
            values = event.learning
        try:
            return self.scope(named, policy, event.profile, values, version)
        except NoPolicy:
            return None

    def scope(
        self,
        scope: str,
        policy_name: str,
        profile: Profile,
        values: dict[str, Any],
        version: str = "",
    ) -> Scope:
        """The scope of this name, made at first sight from its policy and learning settings.

        ``version`` is the policy's as a record has it, where one does.
        Raises ``NoPolicy`` where its policy is not here, or was not when this fold first looked for it.
        """
        if scope not in self:
            memory = self.memory(scope)
            try:
                policy = find_recorded(self.find, policy_name, version)
                self.scopes[scope] = scope_made(policy, memory, profile, values)
            except NoPolicy as error:
                # One missing policy must not stop the worker for all others. The scope's memory
                # goes on being folded, so that it can be read and shown.
                self.lost[scope] = Lost(str(error), memory)
                self.told(scope, str(error))
            for record in self.early.pop(scope, ()):
                self.feed(*record)
        return self.known(scope)

    def lose(self, scope: str, why: str) -> None:
        """Learn no more in a scope whose record contradicts itself; its memory stays as it was. Told once."""
        known = self.scopes.pop(scope, None)
        if known is not None:
            self.lost[scope] = Lost(why, known.memory)
            self.told(scope, why)

    def scope_of(self, admitted: ProblemAdmitted, default_policy: str) -> Scope:
        """The scope of an admitted problem. Raises ``NoPolicy`` where its policy is not here."""
        problem = admitted.problem
        name = problem.policy or default_policy
        return self.scope(admitted.scope, name, problem.profile, problem.settings)

    def known(self, scope: str) -> Scope:
        """A scope that was seen. Raises ``NoPolicy`` where it is lost."""
        lost = self.lost.get(scope)
        if lost is not None:
            raise NoPolicy(lost.why)
        return self.scopes[scope]

    def __contains__(self, scope: object) -> bool:
        """Whether a scope of this name was seen, be its policy here or not."""
        return scope in self.scopes or scope in self.lost

    def memory(self, scope: str) -> MemoryFold:
        """The memory of a scope, which needs no policy; it is empty for a scope that was never seen."""
        known = self.scopes.get(scope) or self.lost.get(scope)
        if known is None:
            told = self.grades
            return MemoryFold(scope, told.outcome, self.records, anew=told.anew)
        return known.memory

    def batch_closed(self, scope: Scope, due: Due, limits: Limits) -> BatchClosed:
        """The event that closes a batch: everything that learning from it hangs on."""
        if due.again is not None:
            # Closed again, with all that it was closed with. The policy alone is today's,
            # for it does the work.
            policy = scope.policy
            said = {"policy": policy.name, "policy_version": policy.version}
            again = structs.replace(due.again, **said)
            # Other vectors change nothing of what stands.
            return again if again.embedder is not None else marked(scope, again)
        closed = BatchClosed(
            scope=scope.id,
            batch=due.batch,
            series=due.series,
            members=due.members,
            outcomes=tuple(self.grades.outcome(member) for member in due.members),
            previous=scope.memory.latest.number,
            policy=scope.policy.name,
            policy_version=scope.policy.version,
            settings=text_digest(scope.settings_text),
            limits=limits,
            rule=scope.policy.rule,
            constants=scope.constants or None,
            revised=tuple(sorted(scope.memory.words)) or None,
            retirement=scope.policy.retirement if scope.profile == "service" else None,
            calibration=CALIBRATION,
            seed=seed_of("learn", scope.id, due.batch),
        )
        return as_written(aligned(scope.memory, closed))

    def batch(self, scope: Scope, closed: BatchClosed) -> Batch:
        """The batch that a learning episode is given: members, memory and seed."""
        members = tuple(
            Member(episode, scope.memory.reflection(episode), outcome)
            for episode, outcome in zip(closed.members, closed.outcomes, strict=True)
        )
        memory = scope.memory.versions[closed.previous]
        batch = Batch(scope.id, closed.batch, members, memory, closed.seed)
        if closed.revision is None:
            return batch
        aside = closed.overturned or ()
        # A revision keeps what was learned from the members that remain, and asks only for
        # what was made of both.
        return replace(
            batch,
            revision=closed.revision,
            kept=tuple(item for item in scope.memory.kept(closed.batch) if item.mark not in aside),
            facts=tuple(scope.memory.retold(scope.memory.facts_kept(closed.batch), closed)),
            stale=frozenset(scope.memory.touched(closed)[1]),
        )

    def steps(self, scope: Scope, closed: BatchClosed) -> Steps[None]:
        """Yield what the policy does with a closed batch, or less if the batch only lost a forgotten problem.

        Where only outcomes changed nobody is asked. Measures that were made with another embedder then ask for
        new vectors.
        """
        if closed.embedder is not None:
            memory = scope.memory.versions[closed.batch]
            yield from embed_anew(memory, lambda item: scope.policy.found_by(item, scope.settings))
        elif not closed.regraded:
            again = closed.revision is not None
            how = scope.policy.relearn if again else scope.policy.learn
            yield from how(self.batch(scope, closed), scope.settings)
        yield from embed_named(scope.texts.get(episode_of(closed), ()))

    def warm(self, scope: Scope, source: Memory) -> list[tuple[str, Event]]:
        """Version 0 of a scope that starts from another's memory: address and event of each record."""
        # The facts are recorded beside the version, and it is built from them, as every
        # later version is built from what its learning episode said: whoever folds the log
        # comes to the same.
        facts = [(str(at), fact) for at, fact in enumerate(scope.policy.warm_start(source))]
        learned = Learned()
        for address, fact in facts:
            learned.feed(address, fact)
        memory = next_memory(Memory(scope.id, 0), learned, 0, 1)
        origin = f"{source.scope}@{source.name}"
        version = MemoryVersioned(
            scope=scope.id, number=0, live_from=1, state=memory.state(), origin=origin
        )
        return [*facts, ("version", version)]

    def version(self, scope: Scope, closed: BatchClosed) -> MemoryVersioned:
        """The memory version that follows from what the learning episode has said."""
        memory = self.next_memory(scope, closed)
        return MemoryVersioned(
            scope=scope.id,
            number=closed.batch,
            revision=closed.revision,
            live_from=scope.live_from(closed.batch),
            state=memory.state(),
        )

    def next_memory(self, scope: Scope, closed: BatchClosed) -> Memory:
        """The memory after a batch."""
        learned, live_from = scope.memory.learned(closed), scope.live_from(closed.batch)
        return scope.memory.following(learned, closed.batch, live_from, closed)

    def state_hash(self) -> str:
        """One SHA-256 over everything learned: memories and outcomes."""
        outcomes = {episode: known.outcome for episode, known in self.grades.known.items()}
        scopes = {
            name: [[m.number, m.state()] for m in scope.memory.versions.values()]
            for name, scope in self.scopes.items()
        }
        return hashlib.sha256(canonical([scopes, outcomes])).hexdigest()


def episode_of(closed: BatchClosed) -> str:
    """The learning episode of a closed batch."""
    return learning_id(closed.scope, closed.batch, closed.revision)
