"""Episodes of partitions that are ours: opened or resumed, driven, closed; or parked for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from schemas.asking import ReplayError
from schemas.events.base import Event
from schemas.events.episode import EpisodeParked, ProblemAdmitted
from schemas.settings import BadSetting
from state.journal import TooLarge
from streams.answering.budgets import OutOfBudget
from streams.core.backbone import Stuck
from streams.core.closing import Closing, closing
from streams.core.drive import Run, Waiting
from streams.engine.episode import conclude, prepare
from streams.engine.pending import seat_of
from streams.engine.scopes import settings_text
from streams.runtime.kafka.append import KafkaWriter
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.place import partition_of

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker

VERSION_WAIT_S = 30.0


class Solver:
    """Works on one worker's episodes."""

    def __init__(self, worker: KafkaWorker) -> None:
        self.worker = worker

    def enqueue(self, owned: Owned, episode: str, admitted: ProblemAdmitted) -> None:
        """An admitted episode is to be worked on."""
        problem = admitted.problem
        seat = seat_of(
            self.worker.learner,
            admitted,
            problem.policy or self.worker.default_policy,
            lambda: "opened" in owned.fold.journal(episode),
            partition=owned.index,
            in_sets=self._is_home(problem.series, owned),
        )
        self.worker.schedule.enqueue(episode, seat)

    def _is_home(self, series: str | None, owned: Owned) -> bool:
        """Whether a series whose members are worked on in sets lies here. One that strayed is by itself."""
        return series is not None and owned.index == partition_of(
            series.encode(), self.worker.partitions
        )

    async def work(self, owned: Owned, episode: str, writer: KafkaWriter) -> None:
        """Work on an episode to its end, from wherever its record stands."""
        if owned.fold.open.get(episode, {}) is None:
            await self.worker.reread.text(owned, episode)
        if writer.fenced:
            return
        journal = owned.journal(episode)
        admitted = journal["admitted"]
        assert isinstance(admitted, ProblemAdmitted)
        problem = admitted.problem
        fresh = "opened" not in journal
        try:
            name = problem.policy or self.worker.default_policy
            scope = self.worker.learner.scope(
                admitted.scope, name, problem.profile, problem.settings
            )
            policy = scope.policy
            await self.version(journal, scope.memory.versions)
            work = prepare(
                episode,
                admitted,
                journal,
                policy,
                scope.memory.versions,
                self.worker.world.description,
                self.worker.world.grant,
            )
            if fresh:
                writer.keep(work.opened.settings, settings_text(work.settings))
                writer.state("events", episode, "opened", work.opened)
            run = work.run(writer, self.worker.leased)
            try:
                conclusion, seconds = await conclude(work, run)
            except OutOfBudget:
                self.worker.schedule.unpay(episode)
                return
            except Waiting:
                self.rest(episode, run)
                return
        except (ReplayError, LookupError, BadSetting, Stuck, TooLarge) as error:
            await self.park(writer, episode, error, journal)
            return
        end = closing(
            *(work.policy, work.settings, episode, admitted, work.opened, work.journal),
            *(conclusion, seconds, run.tally, writer.room),
        )
        await self.close(owned, writer, [(episode, end)], fresh)

    def rest(self, episode: str, run: Run) -> None:
        """Let an episode wait for a person, unless somebody has answered meanwhile."""
        schedule, said = self.worker.schedule, self.worker.view.said
        schedule.rest(episode)
        if any(said.reply(episode, address) for address in run.waits):
            schedule.wake(episode)

    async def close(
        self, owned: Owned, writer: KafkaWriter, ends: Sequence[tuple[str, Closing]], fresh: bool
    ) -> None:
        """Record the closings; the relay sends the rest once they are accepted."""
        for episode, end in ends:
            owned.closings[episode] = end
            writer.state("events", episode, "closed", end.closed)
        await writer.commit()
        for episode, end in ends:
            self.worker.schedule.leave(episode)
            self.worker.progress.closed += 1
            self.worker.progress.failed += end.closed.status == "failed"
            self.worker.progress.resumed += not fresh

    async def version(self, journal: dict[str, Event], versions: Container[int]) -> None:
        """A version that the record pins exists on the log; we may not have read so far yet."""
        wanted = getattr(journal.get("opened"), "memory_version", 0)
        if wanted not in versions:
            waiting = self.worker.shared.until(lambda: wanted in versions)
            with suppress(TimeoutError):
                await asyncio.wait_for(waiting, VERSION_WAIT_S)

    async def park(
        self, writer: KafkaWriter, episode: str, error: Exception, journal: dict[str, Event]
    ) -> None:
        """Leave an episode to a person, with the reason."""
        number = sum(address.startswith("parked.") for address in journal)
        reason = f"{type(error).__name__}: {error}"[:500]
        event = EpisodeParked(reason=reason, address=getattr(error, "address", None))
        writer.state("events", episode, f"parked.{number}", event)
        await writer.commit()
        self.worker.schedule.leave(episode)
