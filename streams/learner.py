"""What the learner knows: windows, memory versions and grades of every scope, as one pure fold.

The worker asks it what is due, verification asks it what should have been due; both feed it the same
records in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from handlers.answers.grade import CHECKERS
from handlers.learning.calibrate import RULE as CALIBRATION
from handlers.learning.embedding import embed_anew, embed_named
from handlers.policies.base import Batch, Member, Policy
from schemas.asking import Steps
from schemas.events.base import Event
from schemas.events.codec import as_written
from schemas.events.learning import (
    BatchClosed,
    Graded,
    MemoryVersioned,
    Reflected,
    SeriesOpened,
)
from schemas.events.union import kind_of
from schemas.identity import canonical, learning_id, seed_of, text_digest
from schemas.memory import Memory
from schemas.problem import Limits, Profile
from schemas.settings import PolicySettings
from state.folds.forgetting import Records
from state.folds.grades import GradesFold
from state.folds.learned import TAUGHT
from state.folds.memory import Learned, MemoryFold, next_memory
from state.folds.remeasuring import aligned, wanted
from state.folds.state import scope_of
from streams.windows import Due, ScopeWindow

Find = Callable[[str], Policy[Any]]
HEARD: frozenset[type[Event]] = frozenset({*ScopeWindow.TAKES, *MemoryFold.TAKES, *TAUGHT})
"""What the learner takes of ``learning``: not what its episodes asked and were answered."""
HEARD_KINDS = tuple(sorted(map(kind_of, HEARD)))


@dataclass(slots=True)
class Scope:
    """One scope: whose memory it is, its open window, its versions, and what waits to be learned from."""

    id: str
    policy: Policy[Any]
    settings: PolicySettings
    window: ScopeWindow
    memory: MemoryFold
    profile: Profile = "service"
    warmed: bool = False
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """What is to be embedded for measures, as it stood when the batch closed, by learning episode."""
    settings_text: str = field(init=False)
    """Its settings as the text that is kept once per log."""

    def __post_init__(self) -> None:
        self.settings_text = settings_text(self.settings)

    @property
    def unfinished(self) -> BatchClosed | None:
        """A batch that was closed but has no memory version, or revision of one, yet."""
        return self.batches.get(self.window.versioned + 1) or self._revision()

    def _revision(self) -> BatchClosed | None:
        """The batch that was closed again, as ``settle_owed`` says, and has no version yet."""
        owed = self.memory.forgetting.owed
        found = self.batches.get(owed[0] if owed else self.memory.latest.number)
        if found is None or found.embedder not in (None, self.memory.changing):
            return None  # somebody chose yet another embedder meanwhile
        return None if found.revision is None else found

    def settle_owed(self) -> None:
        """Let the window know which version is to be closed again next, and how.

        Without a problem that was forgotten, or with vectors of another embedder.
        """
        window, owed = self.window, self.memory.forgetting.owed
        window.owed = self.owes
        if not self.owes or window.versioned != window.closed or self.unfinished is not None:
            return
        if owed:
            window.again = self.memory.closing_without(owed[0])
        else:
            window.again = self.memory.closed_anew()

    @property
    def owes(self) -> bool:
        """Whether a version has to be closed again."""
        return bool(self.memory.forgetting.owed or self.memory.changing)

    @property
    def reflected(self) -> dict[str, Reflected]:
        """What waits to be learned from."""
        return self.memory.reflected

    @property
    def batches(self) -> dict[int, BatchClosed]:
        """Batches that were closed but have no memory version yet."""
        return self.memory.batches

    @property
    def warm_source(self) -> str | None:
        """The scope that this one still has to start from, if any."""
        return None if self.warmed else self.policy.warm_source(self.settings)

    def live_from(self, batch: int) -> int:
        """The first batch whose lessons are live after this one."""
        span = self.policy.live_batches(self.settings)
        return 1 if span is None else max(1, batch - span + 1)


@dataclass(slots=True)
class Learner:
    """The fold over ``learning``. ``find`` turns a policy's name into the policy."""

    find: Find
    records: Records | None = None
    """Where forgetting reads what folds do not keep."""
    scopes: dict[str, Scope] = field(default_factory=dict[str, Scope])
    grades: GradesFold = field(default_factory=GradesFold)

    def feed(self, episode: str, address: str, event: Event) -> None:
        """Take one record of ``learning``, in log order."""
        if type(event) not in HEARD:
            return
        scope = self._scope_of(episode, event)
        if isinstance(event, Graded):
            self.grades.feed(episode, event)
        if scope is None:
            return
        scope.window.feed(episode, event)
        scope.memory.feed(episode, address, event)
        if isinstance(event, BatchClosed) and event.measured is not None:
            scope.texts[episode] = tuple(wanted(scope.memory, event).lacks)
        if scope.window.owed or scope.owes:
            scope.settle_owed()
        if isinstance(event, MemoryVersioned) and event.number == 0:
            scope.warmed = True
        if isinstance(event, MemoryVersioned):
            scope.texts.pop(episode, None)

    def _scope_of(self, episode: str, event: Event) -> Scope | None:
        named = scope_of(episode) if type(event) in TAUGHT else getattr(event, "scope", "")
        known = self.scopes.get(named)
        if known is None and isinstance(event, SeriesOpened):
            return self.scope(named, event.policy, event.profile, event.settings)
        if known is None and isinstance(event, Reflected):
            policy = event.policy.rpartition("@")[0]
            return self.scope(named, policy, event.profile, event.learning)
        return known

    def scope(
        self, scope: str, policy_name: str, profile: Profile, values: dict[str, Any]
    ) -> Scope:
        """The scope of this name, made at first sight from its policy and learning settings."""
        known = self.scopes.get(scope)
        if known is not None:
            return known
        policy = self.find(policy_name)
        learning = {k: v for k, v in values.items() if k in policy.settings.learning}
        settings = policy.settings.resolve(profile, learning)
        stream_window = 10 if policy.learns == "none" else policy.window(settings, None)
        window = ScopeWindow(stream_window, frozenset(CHECKERS))
        memory = MemoryFold(scope, self.grades.outcome, self.records)
        made = Scope(scope, policy, settings, window, memory, profile)
        self.scopes[scope] = made
        return made

    def due(self) -> list[tuple[Scope, Due]]:
        """Batches that can be closed now, by scope."""
        found = ((scope, scope.window.due()) for scope in self.scopes.values())
        return [(scope, due) for scope, due in found if due is not None]

    def batch_closed(self, scope: Scope, due: Due, limits: Limits) -> BatchClosed:
        """The event that closes a batch: everything that learning from it hangs on."""
        if due.again is not None:
            policy = scope.policy
            return structs.replace(due.again, policy=policy.name, policy_version=policy.version)
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
            constants=scope.policy.rule_constants(scope.settings) or None,
            revised=tuple(sorted(scope.memory.words)) or None,
            retirement=scope.policy.retirement if scope.profile == "service" else None,
            calibration=CALIBRATION,
            seed=seed_of("learn", scope.id, due.batch),
        )
        return as_written(aligned(scope.memory, closed))

    def batch(self, scope: Scope, closed: BatchClosed) -> Batch:
        """What the learning episode of a closed batch is given."""
        members = tuple(
            Member(episode, scope.memory.reflection(episode), outcome)
            for episode, outcome in zip(closed.members, closed.outcomes, strict=True)
        )
        memory = scope.memory.versions[closed.previous]
        batch = Batch(scope.id, closed.batch, members, memory, closed.seed)
        if closed.revision is None:
            return batch
        return replace(
            batch,
            revision=closed.revision,
            kept=scope.memory.kept(closed.batch),
            facts=tuple(scope.memory.facts_kept(closed.batch)),
            stale=frozenset(scope.memory.touched(closed.batch)[1]),
        )

    def steps(self, scope: Scope, closed: BatchClosed) -> Steps[None]:
        """What its policy does with a closed batch, less where it only lost a forgotten problem.

        Then the vectors that measures need by another embedder than made theirs.
        """
        if closed.embedder is not None:
            memory = scope.memory.versions[closed.batch]
            yield from embed_anew(memory, lambda item: scope.policy.found_by(item, scope.settings))
        else:
            again = closed.revision is not None
            how = scope.policy.relearn if again else scope.policy.learn
            yield from how(self.batch(scope, closed), scope.settings)
        yield from embed_named(scope.texts.get(episode_of(closed), ()))

    def warm(self, scope: Scope, source: Memory) -> list[tuple[str, Event]]:
        """Version 0 of a scope that starts from another's memory: address and event of each record."""
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
        import hashlib

        outcomes = {**self.grades.checker, **self.grades.feedback}
        scopes = {
            name: [[m.number, m.state()] for m in scope.memory.versions.values()]
            for name, scope in self.scopes.items()
        }
        return hashlib.sha256(canonical([scopes, outcomes])).hexdigest()


def settings_text(settings: PolicySettings) -> str:
    """Resolved settings as the text that is kept once per log."""
    return canonical(settings.model_dump(mode="json")).decode()


def episode_of(closed: BatchClosed) -> str:
    """The learning episode of a closed batch."""
    return learning_id(closed.scope, closed.batch, closed.revision)
