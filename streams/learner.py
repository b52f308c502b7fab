"""What the learner knows: windows, memory versions and grades of every scope, as one pure fold.

The worker asks it what is due, verification asks it what should have been due; both feed it the same
records in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from handlers.answers.grade import CHECKERS
from handlers.policies.base import Batch, Member, Policy
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed
from schemas.events.learning import (
    BatchClosed,
    Graded,
    MemoryVersioned,
    Reflected,
    SeriesOpened,
)
from schemas.identity import canonical, learning_id, seed_of, text_digest
from schemas.memory import Memory
from schemas.problem import Limits, Profile
from schemas.settings import PolicySettings
from state.folds.grades import GradesFold
from state.folds.memory import Learned, MemoryFold, next_memory, state_after
from streams.windows import Due, ScopeWindow

Find = Callable[[str], Policy[Any]]


@dataclass(slots=True)
class Scope:
    """One scope: whose memory it is, its open window, its versions, and what waits to be learned from."""

    id: str
    policy: Policy[Any]
    settings: PolicySettings
    window: ScopeWindow
    memory: MemoryFold
    warmed: bool = False

    @property
    def unfinished(self) -> BatchClosed | None:
        """A batch that was closed but has no memory version yet."""
        return self.batches.get(self.window.versioned + 1)

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
    scopes: dict[str, Scope] = field(default_factory=dict[str, Scope])
    grades: GradesFold = field(default_factory=GradesFold)
    learned_episodes: int = 0

    def feed(self, episode: str, event: Event) -> None:
        """Take one record of ``learning``, in log order."""
        scope = self._scope_of(episode, event)
        if isinstance(event, Graded):
            self.grades.feed(episode, event)
        if scope is None:
            return
        scope.window.feed(episode, event)
        scope.memory.feed(episode, event)
        match event:
            case MemoryVersioned(number=0):
                scope.warmed = True
            case EpisodeClosed():
                self.learned_episodes += 1
            case _:
                pass

    def _scope_of(self, episode: str, event: Event) -> Scope | None:
        match event:
            case SeriesOpened():
                policy, profile, values = event.policy, event.profile, event.settings
                return self.scope(event.scope, policy, profile, values)
            case Reflected():
                policy = event.policy.rpartition("@")[0]
                return self.scope(event.scope, policy, event.profile, event.learning)
            case _:
                named = getattr(event, "scope", None)
                if named is None and episode.startswith("b/"):
                    named = episode[2:].rpartition("/")[0]
                return self.scopes.get(named or "")

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
        made = Scope(scope, policy, settings, window, MemoryFold(scope))
        self.scopes[scope] = made
        return made

    def due(self) -> list[tuple[Scope, Due]]:
        """Batches that can be closed now, by scope."""
        found = ((scope, scope.window.due()) for scope in self.scopes.values())
        return [(scope, due) for scope, due in found if due is not None]

    def batch_closed(self, scope: Scope, due: Due, limits: Limits) -> BatchClosed:
        """The event that closes a batch: everything that learning from it hangs on."""
        return BatchClosed(
            scope=scope.id,
            batch=due.batch,
            series=due.series,
            members=due.members,
            outcomes=tuple(self.grades.outcome(member) for member in due.members),  # type: ignore[misc]
            previous=scope.memory.latest.number,
            policy=scope.policy.name,
            policy_version=scope.policy.version,
            settings=text_digest(settings_text(scope.settings)),
            limits=limits,
            rule=scope.policy.rule,
            constants=scope.policy.rule_constants(scope.settings) or None,
            seed=seed_of("learn", scope.id, due.batch),
        )

    def batch(self, scope: Scope, closed: BatchClosed) -> Batch:
        """What the learning episode of a closed batch is given."""
        members = tuple(
            Member(episode, scope.reflected[episode], outcome)
            for episode, outcome in zip(closed.members, closed.outcomes, strict=True)
        )
        memory = scope.memory.versions[closed.previous]
        return Batch(scope.id, closed.batch, members, memory, closed.seed)

    def warm(self, scope: Scope, source: Memory) -> list[tuple[str, Event]]:
        """Version 0 of a scope that starts from another's memory: address and event of each record."""
        facts = [(str(at), fact) for at, fact in enumerate(scope.policy.warm_start(source))]
        learned = Learned()
        for _, fact in facts:
            learned.feed(fact)
        memory = next_memory(Memory(scope.id, 0), learned, 0, 1)
        origin = f"{source.scope}@{source.number}"
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
            live_from=scope.live_from(closed.batch),
            state=memory.state(),
        )

    def next_memory(self, scope: Scope, closed: BatchClosed) -> Memory:
        """The memory after a batch."""
        previous = scope.memory.versions[closed.previous]
        learned = scope.memory.learned(closed.batch)
        state = state_after(previous, closed, scope.reflected, learned.said)
        return next_memory(previous, learned, closed.batch, scope.live_from(closed.batch), state)

    def state_hash(self) -> str:
        """One SHA-256 over everything learned: memories and outcomes."""
        import hashlib

        outcomes = {**{e: g.outcome for e, g in self.grades.checker.items()}}
        outcomes |= {e: g.outcome for e, g in self.grades.feedback.items()}
        scopes = {
            name: [[m.number, m.state()] for m in scope.memory.versions.values()]
            for name, scope in self.scopes.items()
        }
        return hashlib.sha256(canonical([scopes, outcomes])).hexdigest()


def settings_text(settings: PolicySettings) -> str:
    """Resolved settings as the text that is kept once per log."""
    return canonical(settings.model_dump(mode="json")).decode()


def episode_of_batch(scope: Scope, batch: int) -> str:
    """The learning episode of a batch."""
    return learning_id(scope.id, batch)
