"""Whether brokers are there for what a worker owns: it can read what they hold, and they take what it states.

What was stated and not acknowledged has an age, which tells whoever is busy. The leaders of our partitions are
asked how far they are, which tells whoever is idle, and is the lag as well. A partition with fewer replicas in
sync than its topic demands takes nothing, though its leader answers. And who hears nothing of the group's
coordinator asks no model.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from streams.runtime.kafka import aio, topics
from streams.runtime.outage import Outage, Trouble, waiting

if TYPE_CHECKING:
    from streams.runtime.kafka.follow import Spot
    from streams.runtime.kafka.worker import KafkaWorker

_log = logging.getLogger(__name__)
PATIENCE_S: Final = 10.0
"""Brokers may be silent, or an append may wait, for so long before that is called trouble."""
LOOK_S: Final = 2.0
"""Brokers are asked so often."""
GLANCE_S: Final = 0.5
"""What they said is looked at so often."""
SILENT_S: Final = 2 * LOOK_S + 1
"""Leaders that have said nothing for so long may be away: then nothing else is called the trouble before that is."""
FROZEN_S: Final = 5.0
"""Who has not looked for so long was not running: the silence was its own."""
READ: Final = ("problems", "events", "learning")
APPENDED: Final = ("events", "learning", "answers", "checkpoints")


class Health:
    """The brokers as one worker finds them."""

    def __init__(self, worker: KafkaWorker) -> None:
        self.worker = worker
        self.began_s = self.heard_s = self.looked_s = time.monotonic()
        """When we began or were last woken; when all leaders of ours answered; when we looked at that."""
        self.ends: Mapping[Spot, int] = {}
        """The ends of our partitions, as they were told last."""
        self.replication: topics.Replication | None = None
        self.counted_s = self.began_s
        """The copies of the log's partitions as they were told last, and when that was."""
        self.thin: list[Spot] = []
        self.thin_s = self.began_s
        """Partitions of ours that lack replicas in sync, and when that was found first."""
        self.outage = Outage(worker.place.url)
        self.still: dict[int, int] = {}
        """How far partitions of `problems` were when this was looked at last."""
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to look."""
        self.began_s = self.heard_s = self.looked_s = time.monotonic()
        loops = self._glance(), _again_and_again(self._ask_leaders), self._count_replicas()
        self.tasks = [asyncio.create_task(each) for each in loops]

    async def stop(self) -> None:
        """Look no more."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    # -- what is found -----------------------------------------------------------------------------

    def trouble(self, now_s: float) -> Trouble | None:
        """Why nothing can be read or appended, once that has outlasted our patience."""
        silent = Trouble("brokers away", max(self.heard_s, self.began_s))
        if now_s - silent.since_s > PATIENCE_S:
            return silent
        if self.thin:
            many = len(self.thin)
            lack = f"{many} partition{'s' * (many > 1)} below min.insync.replicas"
            return Trouble(lack, self.thin_s)
        waits_s = self.worker.appender.standing.since_s
        if waits_s is not None and now_s - max(waits_s, self.began_s) > PATIENCE_S:
            return Trouble("no append acknowledged", max(waits_s, self.began_s))
        # The coordinator last of all: a broker that is away takes its heartbeats with it, and is the better reason.
        lease = self.worker.lease
        beat = Trouble("no heartbeat answered", max(lease.renewed, self.began_s))
        heard = now_s - silent.since_s < SILENT_S
        if (
            heard
            and self.worker.owning.joined
            and now_s - beat.since_s > max(lease.session_s, PATIENCE_S)
        ):
            return beat
        return None

    def lags(self) -> dict[Spot, int]:
        """How many records of each partition of ours are still to be read; none where that is not known."""
        worker, found = self.worker, dict[tuple[str, int], int]()
        for index, owned in worker.owning.partitions.items():
            at = {
                "problems": owned.position if owned.live else None,
                "events": owned.fold.upto,
                "learning": worker.view.upto[index],
            }
            for name, upto in at.items():
                end = self.ends.get((worker.place.topic(name), index))
                if end is not None and upto is not None:
                    found[name, index] = max(end - upto, 0)
        return found

    def copies(self, now_s: float) -> topics.Replication | None:
        """How the log's partitions are replicated; unknown where the cluster has not said so of late."""
        return self.replication if now_s - self.counted_s < PATIENCE_S else None

    # -- looking -----------------------------------------------------------------------------------

    async def _glance(self) -> None:
        while True:
            now_s = time.monotonic()
            # After a freeze every age is old. Brokers get their whole patience again before anybody is blamed.
            if now_s - self.looked_s > FROZEN_S:
                self.began_s = now_s
            self.looked_s = now_s
            waits = waiting(self.worker.appender.standing.waiting, "append")
            said = self.outage.look(self.trouble(now_s), now_s, waits)
            if said is not None:
                _log.warning("%s", said)
            await asyncio.sleep(GLANCE_S)

    async def _ask_leaders(self) -> None:
        worker, place = self.worker, self.worker.place
        # Who owns nothing yet asks for any partition at all: what counts is that somebody answers.
        ours = [(place.topic(name), p) for p in worker.owning.partitions for name in READ]
        self.ends = await worker.shared.ends(ours or [(place.topic("checkpoints"), 0)])
        self.heard_s = time.monotonic()
        await self.pass_over()

    async def pass_over(self) -> None:
        """Go on behind offsets of `problems` that hold no record: the group's client tells nobody of them."""
        worker, topic = self.worker, self.worker.place.topic("problems")
        before, self.still = self.still, {}
        # All of them together: who hears nothing of the leaders for long takes the brokers for gone.
        async with asyncio.timeout(SILENT_S):
            for index, owned in list(worker.owning.partitions.items()):
                end, at = self.ends.get((topic, index), 0), owned.position
                if not owned.live or owned.queue or at >= end:
                    continue
                # What is on its way here is there by the next look.
                self.still[index] = at
                if before.get(index) == at and await worker.reread.is_empty(topic, index, at, end):
                    owned.position = max(owned.position, end)

    async def _count_replicas(self) -> None:
        """A client of its own asks: it may be slow to notice a broker that is gone, and holds nobody up."""
        admin = aio.admin(self.worker.place)
        await aio.patiently(admin.start)
        try:
            await _again_and_again(lambda: self._note_replicas(admin))
        finally:
            await admin.close()

    async def _note_replicas(self, admin: Any) -> None:
        place, ours = self.worker.place, self.worker.owning.partitions
        self.replication = found = await topics.replication(admin, place.topics())
        self.counted_s = time.monotonic()
        appended = [place.topic(name) for name in APPENDED]
        thin = [(name, p) for name in appended for p in found.thin.get(name, ()) if p in ours]
        if thin and not self.thin:
            self.thin_s = self.counted_s
        self.thin = thin


async def _again_and_again(look: Callable[[], Awaitable[None]]) -> None:
    """A look that fails tells nothing, whatever it failed of: what counts is how long nothing was told."""
    while True:
        try:
            await look()
        except Exception as error:
            _log.debug("%s: %s", type(error).__name__, error)
        await asyncio.sleep(LOOK_S)
