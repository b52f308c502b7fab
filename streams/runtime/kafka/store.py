"""Episodes of a partition that is ours, as the runner sees them: over its fold, under its claim."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import ProblemAdmitted
from schemas.memory import Memory
from streams.core.closing import Closing
from streams.core.drive import Run, Waiting
from streams.engine.running import parking
from streams.engine.scopes import Scope
from streams.runtime.kafka.append import KafkaWriter
from streams.runtime.kafka.owned import Owned

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker

VERSION_WAIT_S = 30.0


class KafkaStore:
    """Implements ``streams.engine.running.EpisodeStore``."""

    purpose: str | None = None

    def __init__(self, worker: KafkaWorker, owned: Owned, writer: KafkaWriter) -> None:
        self.worker, self.owned, self.writer, self.world = worker, owned, writer, worker.leased
        self.backbones, self.grant = worker.world.description, worker.world.grant
        self.room: int | None = writer.room

    async def at_hand(self, episodes: Sequence[str]) -> bool:
        """Read again what was let go of these episodes' records. Whether the partition is still ours."""
        for episode in episodes:
            if self.owned.fold.open.get(episode, {}) is None:
                await self.worker.reread.text(self.owned, episode)
        if self.writer.fenced:
            return False  # it was claimed by another worker while we read
        with suppress(LookupError):  # then the runner parks them
            for episode in episodes:
                await self._version(episode)
        return True

    async def _version(self, episode: str) -> None:
        """A version that the record pins exists on the log; we may not have read so far yet."""
        versions = self._scope(self.owned.admitted(episode)).memory.versions
        wanted = getattr(self.journal(episode).get("opened"), "memory_version", 0)
        if wanted not in versions:
            waiting = self.worker.shared.until(lambda: wanted in versions)
            with suppress(TimeoutError):
                await asyncio.wait_for(waiting, VERSION_WAIT_S)

    def _scope(self, admitted: ProblemAdmitted) -> Scope:
        """The scope of an admitted problem. Raises ``LookupError`` where its policy is not here."""
        return self.worker.learner.scope_of(admitted, self.worker.default_policy)

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an open episode."""
        return self.owned.journal(episode)

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that a problem asks for. Raises ``LookupError``."""
        return self._scope(admitted).policy

    def memories(self, scope: str) -> Mapping[int, Memory]:
        """The memory versions of a scope."""
        return self.worker.learner.known(scope).memory.versions

    def wait(self, episode: str, run: Run | None, why: Waiting) -> None:
        """Let an episode wait for a person or for its tenant's next day, unless somebody has answered meanwhile."""
        self.worker.schedule.wait(episode, run, why, self.worker.view.said)

    def leave(self, episode: str) -> None:
        """Let go of an episode that somebody else has ended."""
        self.worker.schedule.leave(episode)

    async def park(self, episode: str, error: Exception, journal: dict[str, Event]) -> None:
        """Leave an episode to a person, with the reason."""
        self.writer.state("events", episode, *parking(error, journal))
        await self.writer.commit()
        self.worker.schedule.leave(episode)

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Record the closings; the relay sends the rest once they are accepted."""
        for episode, end in ends:
            # Before it is stated: the relay may read it back as soon as the commit is under way.
            self.owned.closings[episode] = end
            self.writer.state("events", episode, "closed", end.closed)
        await self.writer.commit()
        for episode, end in ends:
            self.worker.schedule.leave(episode)
            self.worker.progress.ended(end.closed, fresh)
