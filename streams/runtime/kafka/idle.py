"""Whether anything in the whole log can still move: told by the owners' checkpoints and the topics' ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from streams.engine.schedule import waiting_places
from streams.engine.settling import Statement, owing
from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.place import KafkaAddress

if TYPE_CHECKING:
    from streams.engine.scopes import Scope
    from streams.runtime.kafka.worker import KafkaWorker

LOOK_S = 0.2
SHARED = ("learning", "feedback")
"""Topics that owners of all partitions follow."""


class Idle:
    """Looks now and then, and settles what is ours when nothing else can move."""

    def __init__(self, worker: KafkaWorker) -> None:
        self.worker = worker
        self.looked_s = 0.0

    @property
    def place(self) -> KafkaAddress:
        """The log."""
        return self.worker.place

    def scopes(self, partition: int) -> list[Scope]:
        """The scopes whose learning lies in a partition, and can go on."""
        worker = self.worker
        found = worker.learner.scopes.values()
        return [
            each
            for each in found
            if worker.teacher.partition(each.id) == partition
            and each.id not in worker.teacher.stalled
        ]

    def due(self, partition: int) -> bool:
        """Whether there is something to learn from, or something of ours on its way."""
        worker = self.worker
        writer = worker.owning.learning_writer(partition)
        if writer is None or not worker.teacher.settled(partition, writer):
            return True
        if worker.owning.looks_back(partition):
            return True
        running = any(
            running.partition == partition and name.startswith("b/")
            for name, running in worker.schedule.tasks.items()
        )
        scopes = self.scopes(partition)
        return running or any(s.unfinished is not None or s.window.due() for s in scopes)

    def parked_seats(self) -> set[tuple[str, str | None, int | None]]:
        """Places whose episodes are parked, anywhere."""
        checkpoints = self.worker.view.checkpoints.values()
        return {(s, series, p) for c in checkpoints for _, s, series, p, *_ in c["parked"]}

    def gathered(self, series: str) -> set[int]:
        """The places of a series whose members wait for the others of their sets, anywhere."""
        checkpoints = self.worker.view.checkpoints.values()
        return {p for c in checkpoints for name, p in c.get("gathered", ()) if name == series}

    def _owed(self, partition: int) -> list[tuple[Scope, list[Statement]]]:
        """Return what settling would state in the scopes of a partition. Parked and waiting episodes keep their
        places.
        """
        parked = self.parked_seats()

        def of(scope: Scope) -> list[Statement]:
            def is_taken(series: str, position: int) -> bool:
                return (scope.id, series, position) in parked or position in self.gathered(series)

            return owing(scope, is_taken)

        return [(scope, of(scope)) for scope in self.scopes(partition)]

    def owing(self, partition: int) -> bool:
        """Whether settling would say something in a partition."""
        return any(found for _, found in self._owed(partition))

    async def committed(self, partition: int) -> int:
        """The offset of `problems` that the group committed."""
        found = await aio.patiently(lambda: topics.committed(self.place))
        return found.get(partition, 0)

    async def reached(self, *, settle: bool) -> bool:
        """Whether nothing can move; what settling says is said first."""
        if not self._quiet() or time.monotonic() - self.looked_s < LOOK_S:
            return False
        self.looked_s = time.monotonic()
        if not await self._still():
            return False
        if not settle:
            return True
        await self._settle()
        return not any(c["owing"] for c in self.worker.view.checkpoints.values())

    def _quiet(self) -> bool:
        worker = self.worker
        owned = worker.owning.partitions.values()
        return (
            worker.owning.joined
            and not worker.schedule.tasks
            and not worker.schedule.ready
            and not (worker.owning.busy or worker.owning.owing)
            and all(each.live and each.learns for each in owned)
        )

    async def _still(self) -> bool:
        """Whether every owner has seen the ends of its topics and has nothing under way."""
        worker = self.worker
        noted = worker.view.checkpoints
        if len(noted) < worker.partitions:
            return False
        if any(c["moving"] or c["due"] for c in noted.values()):
            return False
        ends = await worker.shared.ends(self._places())
        # It tells what is held by what it has read itself, which no checkpoint of another worker shows.
        if any(
            each < ends[self.place.topic("learning"), p] for p, each in enumerate(worker.view.upto)
        ):
            return False
        return all(self._seen(noted[p], p, ends) for p in range(worker.partitions))

    def _places(self) -> list[tuple[str, int]]:
        names = ("problems", "events", "learning", "feedback")
        return [(self.place.topic(n), p) for n in names for p in range(self.worker.partitions)]

    def _seen(self, noted: dict[str, Any], p: int, ends: dict[tuple[str, int], int]) -> bool:
        # What was learned or said on one partition releases what waits on any other.
        partitions = range(self.worker.partitions)
        shared = {n: sum(ends[self.place.topic(n), i] for i in partitions) for n in SHARED}
        return all(
            noted[n] == ends[self.place.topic(n), p] for n in ("problems", "events")
        ) and all(noted[name] == total for name, total in shared.items())

    async def _settle(self) -> None:
        for index in list(self.worker.owning.partitions):
            for scope, found in self._owed(index):
                if found:
                    await self.worker.teacher.settle(scope, found)

    def held(self) -> list[str]:
        """Episodes that wait for a batch which something holds back."""
        noted = [self.worker.view.checkpoints[p] for p in sorted(self.worker.view.checkpoints)]
        held = [episode for each in noted for episode in each["held"]]
        return held + waiting_places(self.worker.learner, self.gathered)

    def parked(self) -> list[str]:
        """Episodes that wait for a person."""
        noted = self.worker.view.checkpoints.values()
        return [str(each[0]) for c in noted for each in c["parked"]]
