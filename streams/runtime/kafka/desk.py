"""Where sets are worked on of a partition that is ours: over its fold, under its claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from schemas.memory import Memory
from streams.core.closing import Closing
from streams.engine.running import work_on_set
from streams.runtime.kafka.append import KafkaWriter
from streams.runtime.kafka.owned import Owned

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker


class KafkaDesk:
    """Implements ``streams.engine.running.Desk``."""

    def __init__(self, worker: KafkaWorker, owned: Owned, writer: KafkaWriter) -> None:
        self.worker, self.owned, self.writer, self.world = worker, owned, writer, worker.leased
        self.backbones, self.grant = worker.world.description, worker.world.grant
        self.room: int | None = writer.room

    async def work_on(self, name: str, members: Sequence[str]) -> None:
        """Work on a set to its end."""
        for member in members:
            if self.owned.fold.open.get(member, {}) is None:
                await self.worker.reread.text(self.owned, member)
        if self.writer.fenced:
            return
        first = self.owned.admitted(members[0])
        for member in members:
            await self.worker.solver.version(self.journal(member), self.memories(first.scope))
        await work_on_set(self, name, members)
        self.worker.schedule.leave(name)

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an open episode."""
        return self.owned.journal(episode)

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that a problem asks for."""
        return self.worker.learner.known(admitted.scope).policy

    def memories(self, scope: str) -> Mapping[int, Memory]:
        """The memory versions of a scope."""
        return self.worker.learner.known(scope).memory.versions

    async def alone(self, episode: str) -> None:
        """Work on an episode by itself."""
        await self.worker.solver.work(self.owned, episode, self.writer)

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person."""
        await self.worker.solver.park(self.writer, episode, error, journal)

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Close episodes."""
        await self.worker.solver.close(self.owned, self.writer, ends, fresh)
