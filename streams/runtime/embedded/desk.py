"""Where sets are worked on in one process: over one log and its worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from schemas.memory import Memory
from streams.answering.world import World
from streams.core.closing import Closing
from streams.engine.learner import Learner
from streams.engine.running import work_on_set
from streams.engine.schedule import Schedule
from streams.runtime.embedded.intake import Intake
from streams.runtime.embedded.log import SqliteLog, Writer


class Host(Protocol):
    """The worker, as far as sets are its affair."""

    log: SqliteLog
    writer: Writer
    world: World
    learner: Learner
    intake: Intake
    schedule: Schedule
    fresh: dict[str, ProblemAdmitted]

    async def work(self, episode: str) -> None:
        """Work on an episode by itself."""
        ...

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person, with the reason."""
        ...

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Close episodes with all that they leave."""
        ...


class EmbeddedDesk:
    """Implements ``streams.engine.running.Desk``."""

    room: int | None = None
    """One file takes records of any size."""

    def __init__(self, worker: Host) -> None:
        self.worker, self.writer, self.world = worker, worker.writer, worker.world
        self.backbones, self.grant = worker.world.description, worker.world.grant

    async def work_on(self, name: str, members: Sequence[str]) -> None:
        """Work on a set to its end."""
        await work_on_set(self, name, members)
        self.worker.schedule.leave(name)

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an episode, from the log."""
        self.worker.fresh.pop(episode, None)
        return self.worker.log.journal(episode)

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that a problem asks for."""
        return self.worker.learner.known(admitted.scope).policy

    def memories(self, scope: str) -> Mapping[int, Memory]:
        """The memory versions of a scope."""
        return self.worker.learner.known(scope).memory.versions

    async def alone(self, episode: str) -> None:
        """Work on an episode by itself."""
        await self.worker.work(episode)

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person."""
        await self.worker.park(episode, error, journal)

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Close episodes with all that they leave."""
        await self.worker.close(ends, fresh)
