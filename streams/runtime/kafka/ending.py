"""How a worker ends within seconds of being told, though brokers are away: what they do not take in time is given up.

As long as brokers take appends, a drain takes as long as the calls that are in flight: they are paid for, and
their answers are recorded. Without brokers waiting would not help. What is given up then is counted and told, and
the calls are made again by whoever owns the partition next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from streams.runtime.kafka.health import LOOK_S
from streams.runtime.kafka.sending import Unrecorded
from streams.runtime.outage import waiting

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker

T = TypeVar("T")
LAST_S: Final = 2.0
"""How long brokers may be silent before what is left is given up."""
GLANCE_S: Final = 0.1
HURRY_S: Final = 0.5
PATIENT_S: Final = 30.0
"""How long each part may take to let go: in a hurry, and else."""


async def unless(told: asyncio.Event, work: Coroutine[Any, Any, T], grace_s: float = 0) -> T | None:
    """Do some work. Returns nothing if it was told to end before that and does not end within so much more time."""
    task, asked = asyncio.ensure_future(work), asyncio.ensure_future(told.wait())
    try:
        await asyncio.wait([task, asked], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([task], timeout=grace_s)
        if task.done():
            return task.result()
    finally:
        asked.cancel()
        task.cancel()  # on the way out of an error too: nothing of it may go on behind our back
    task.add_done_callback(_hear)
    await asyncio.wait([task], timeout=HURRY_S)
    return None


def _hear(task: asyncio.Task[Any]) -> None:
    """Take note of work that was given up; its result is of no interest."""
    if not task.cancelled():
        task.exception()


class Ending:
    """The end of one worker."""

    def __init__(self, worker: KafkaWorker) -> None:
        self.worker = worker
        self.told = asyncio.Event()
        self.hurried = False
        """Whether nobody is waited for any more."""
        self.left = 0
        """Records that no broker took."""
        self.began_s = time.monotonic()

    async def finished(self) -> None:
        """Wait until nothing runs, or nothing can be recorded any more."""
        worker = self.worker
        self.began_s = time.monotonic()
        done = asyncio.ensure_future(worker.schedule.finished())
        while not done.done() and not self._stuck():
            await asyncio.wait([done], timeout=GLANCE_S)
        # Who never joined owns nothing, and has nothing to record.
        if self._stuck() or not worker.owning.joined:
            self._hurry()
            for partition in range(worker.partitions):
                worker.schedule.cancel(partition)
        # A task that does not end even so, in a library's thread perhaps, keeps nobody any longer.
        await asyncio.wait([done], timeout=HURRY_S)
        done.cancel()

    def _hurry(self) -> None:
        """Give up what no broker has taken."""
        self.hurried = True
        self.left = self.worker.appender.standing.waiting
        self.worker.appender.give_up(Unrecorded(f"{waiting(self.left, 'append')} for a broker"))

    def _stuck(self) -> bool:
        """Whether brokers have taken nothing, or said nothing, for too long since the end began."""
        now_s = time.monotonic()
        silent = now_s - self.worker.health.heard_s > LAST_S + LOOK_S
        return self._untaken() or (silent and now_s - self.began_s >= LAST_S)

    def _untaken(self) -> bool:
        """Whether what waits to be appended has been taken by no broker for too long since the end began."""
        standing, now_s = self.worker.appender.standing, time.monotonic()
        heard_s = max(standing.since_s or now_s, standing.appended_s or 0.0, self.began_s)
        return standing.since_s is not None and now_s - heard_s > LAST_S

    async def let_go(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Have a part let go, as far as it does in time: an answer on its way may wait for a broker too."""
        work, since_s = asyncio.ensure_future(stop()), time.monotonic()
        try:
            while not work.done() and time.monotonic() - since_s < PATIENT_S and not self.hurried:
                await asyncio.wait([work], timeout=GLANCE_S)
                if not work.done() and self._untaken():
                    self._hurry()
            await asyncio.wait([work], timeout=HURRY_S)
            # A library's part that was cancelled has let go too.
            if work.done() and not work.cancelled():
                work.result()
        finally:
            work.cancel()
        work.add_done_callback(_hear)
        await asyncio.wait([work], timeout=HURRY_S)
