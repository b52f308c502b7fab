"""The metrics of a worker on an embedded log: what the log holds, and what is under way."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TYPE_CHECKING

from streams.runtime.embedded.health import Probe
from streams.telemetry.counts import Counts
from streams.telemetry.metrics import Sample, exposed, plain
from streams.telemetry.pages import Told

if TYPE_CHECKING:
    from streams.runtime.embedded.worker import Worker


def under_way(worker: Worker) -> list[Sample]:
    """Return what one worker does just now, and has done since it started."""
    schedule, writer = worker.schedule, worker.writer
    return plain(
        {
            # What nobody waits for goes with the next reply, however long a model thinks about that.
            "metalogue_appends_waiting": len(writer.rows) if writer.waiting else 0,
            "metalogue_append_wait_seconds": monotonic() - writer.asked_s if writer.waiting else 0,
            "metalogue_append_age_seconds": monotonic() - writer.appended_s,
            "metalogue_tasks_running": len(schedule.tasks),
            "metalogue_episodes_ready": len(schedule.ready),
            "metalogue_episodes_blocked": schedule.blocked_now,
            "metalogue_episodes_resumed_total": worker.progress.resumed,
            "metalogue_model_calls_total": worker.world.calls_begun,
        }
    )


class Pages:
    """The web pages of a worker on an embedded log."""

    # The log is counted on one thread of its own: the event loop, on which all calls wait, never
    # waits for it, and a connection to SQLite is used by the thread that made it.

    def __init__(self, worker: Worker) -> None:
        self.worker, self.probe = worker, Probe(worker.log.path)
        self.thread = ThreadPoolExecutor(1, "metrics")
        self.counts: Counts | None = None

    @property
    def told(self) -> Told:
        """Return what its pages say. Whatever answers at all is alive: there is one event loop."""
        return Told(lambda: True, self._unready, self._metrics)

    async def _unready(self) -> str | None:
        # It takes no new work, and whoever sends some should send it elsewhere.
        if self.worker.world.draining:
            return "draining"
        return await asyncio.to_thread(self.probe.trouble)

    async def _metrics(self) -> str:
        loop = asyncio.get_running_loop()
        return exposed(
            [*await loop.run_in_executor(self.thread, self._counted), *under_way(self.worker)]
        )

    def _counted(self) -> list[Sample]:
        """Every metric of the log up to its present end."""
        # Made here and not before, in the thread that will use it.
        if self.counts is None:
            self.counts = Counts(self.worker.log.path)
        self.counts.read_all()
        return list(self.counts.samples())

    def close(self) -> None:
        """Let go of the log."""
        if self.counts is not None:
            self.thread.submit(self.counts.close)
        self.thread.shutdown()
