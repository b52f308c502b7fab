"""Episodes of a partition that is ours, as the runner sees them: over its fold, under its claim."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from handlers.policies.base import Policy
from schemas.events.base import Event
from schemas.events.episode import EpisodeOpened, ProblemAdmitted
from streams.core.closing import Closing
from streams.engine.running import SeatedStore
from streams.engine.scopes import Scope
from streams.runtime.kafka.append import KafkaWriter
from streams.runtime.kafka.owned import Owned

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker

VERSION_WAIT_S = 30.0


class KafkaStore(SeatedStore[KafkaWriter]):
    """Implements ``streams.engine.running.EpisodeStore``."""

    def __init__(self, worker: KafkaWorker, owned: Owned, writer: KafkaWriter) -> None:
        super().__init__(worker.schedule, writer, worker.view.said)
        self.worker, self.owned, self.world = worker, owned, worker.leased
        self.terms = worker.world.terms
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
        opened = self.journal(episode).get("opened")
        if not isinstance(opened, EpisodeOpened):
            return
        wanted = opened.memory_version, opened.memory_revision
        if not versions.has(*wanted):
            waiting = self.worker.shared.until(lambda: versions.has(*wanted))
            with suppress(TimeoutError):
                await asyncio.wait_for(waiting, VERSION_WAIT_S)

    def _scope(self, admitted: ProblemAdmitted) -> Scope:
        """The scope of an admitted problem. Raises ``LookupError`` where its policy is not here."""
        return self.schedule.learner.scope_of(admitted, self.worker.default_policy)

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an open episode."""
        return self.owned.journal(episode)

    def policy(self, admitted: ProblemAdmitted) -> Policy[Any]:
        """The policy that a problem asks for. Raises ``LookupError``."""
        return self._scope(admitted).policy

    async def close(self, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        """Record the closings; the relay sends the rest once they are accepted."""
        for episode, end in ends:
            # Before it is stated: the relay may read it back as soon as the commit is under way.
            self.owned.closings[episode] = end
            self.writer.state("events", episode, "closed", end.closed)
        await self.writer.commit()
        for episode, end in ends:
            self.schedule.leave(episode)
            self.worker.progress.ended(end.closed, fresh)
