"""Whether anything in the whole log can still move: told by the owners' checkpoints and the topics' ends.

No worker sees the others' queues. Each one notes in its checkpoints how far it has read and what is under way, and
whoever asks compares that with the ends of the topics. Where the two differ somebody has still something to read,
and may find work in it: then the answer is "not yet".
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from state.journal import Fenced
from streams.engine.schedule import Place, waiting_places
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
        scopes, teacher = self.scopes(partition), worker.teacher
        return running or any(
            s.unfinished is not None or s.window.due() or teacher.proposed(s, partition)
            for s in scopes
        )

    def taken(self) -> set[Place]:
        """Places whose episodes have come, anywhere, and wait for whatever it be; parked ones too."""
        checkpoints = self.worker.view.checkpoints.values()
        parked = {(s, series, p) for c in checkpoints for _, s, series, p, *_ in c["parked"]}
        # Builds before told only of what waits in sets.
        return parked | {(s, series, p) for c in checkpoints for s, series, p in c.get("came", ())}

    def gathered(self, series: str) -> set[int]:
        """The places of a series whose members wait for the others of their sets, anywhere."""
        checkpoints = self.worker.view.checkpoints.values()
        return {p for c in checkpoints for name, p in c.get("gathered", ()) if name == series}

    def _owed(self, partition: int) -> Iterator[tuple[Scope, Iterator[Statement]]]:
        """Return what settling would state in the scopes of a partition. Parked and waiting episodes keep their
        places.
        """
        taken, gathered = self.taken(), lru_cache(self.gathered)

        def of(scope: Scope) -> Iterator[Statement]:
            def is_taken(series: str, position: int) -> bool:
                return (scope.id, series, position) in taken or position in gathered(series)

            return owing(scope, is_taken)

        return ((scope, of(scope)) for scope in self.scopes(partition))

    def owing(self, partition: int) -> bool:
        """Whether settling would say something in a partition."""
        return any(True for _, found in self._owed(partition) for _ in found)

    async def committed(self, partition: int) -> int:
        """The offset of `problems` that the group committed."""
        found = await aio.patiently(lambda: topics.committed(self.place))
        return found.get(partition, 0)

    async def reached(self, *, settle: bool) -> bool:
        """Whether nothing can move; what settling says is said first."""
        worker = self.worker
        owned = worker.owning.partitions.values()
        # What is under way here is seen at once, and costs no request: brokers are asked only where nothing is.
        quiet = (
            worker.owning.joined
            and not worker.schedule.tasks
            and not worker.schedule.ready
            and not (worker.owning.busy or worker.owning.owing)
            and all(each.live and each.learns for each in owned)
        )
        if not quiet or time.monotonic() - self.looked_s < LOOK_S:
            return False
        self.looked_s = time.monotonic()
        if not await self._still():
            return False
        if not settle:
            return True
        for index in list(worker.owning.partitions):
            # All of it before any is said: each statement moves a window.
            for scope, found in [(scope, [*found]) for scope, found in self._owed(index)]:
                if found:
                    # A claim that is lost meanwhile is taken anew, and then there is more to say.
                    with suppress(Fenced):
                        await worker.teacher.settle(scope, found)
        # Other owners settle what is theirs: their checkpoints tell when they have.
        return not any(c["owing"] for c in worker.view.checkpoints.values())

    async def _still(self) -> bool:
        """Whether every owner has seen the ends of its topics and has nothing under way."""
        worker = self.worker
        noted = worker.view.checkpoints
        if len(noted) < worker.partitions:
            return False
        if any(c["moving"] or c["due"] for c in noted.values()):
            return False
        partitions = range(worker.partitions)
        names = ("problems", "events", *SHARED)
        places = [(self.place.topic(name), p) for name in names for p in partitions]
        ends = await worker.shared.ends(places)
        # It tells what is held by what it has read itself, which no checkpoint of another worker shows.
        if any(
            each < ends[self.place.topic("learning"), p] for p, each in enumerate(worker.view.upto)
        ):
            return False
        # What was learned or said on one partition releases what waits on any other: so every owner must have
        # seen all of it, and of problems and events its own.
        shared = {n: sum(ends[self.place.topic(n), p] for p in partitions) for n in SHARED}
        return all(
            noted[p][name] == shared.get(name, ends[self.place.topic(name), p])
            for p in partitions
            for name in names
        )

    def held(self) -> list[str]:
        """Episodes that wait for a batch which something holds back."""
        noted = [self.worker.view.checkpoints[p] for p in sorted(self.worker.view.checkpoints)]
        held = [episode for each in noted for episode in each["held"]]
        return held + waiting_places(self.worker.learner, self.gathered)

    def parked(self) -> list[str]:
        """Episodes that wait for a person."""
        noted = self.worker.view.checkpoints.values()
        return [str(each[0]) for c in noted for each in c["parked"]]
