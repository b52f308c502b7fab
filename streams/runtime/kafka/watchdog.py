"""The watchdog: a worker that has work but makes no progress ends itself; its supervisor starts it anew."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable

STILL_S = 300.0
LOOK_S = 1.0


class Watchdog:
    """Told of progress by a changing mark; ``busy`` says whether there is work.

    A thread watches too, so that a loop that hangs is noticed as well.
    """

    def __init__(
        self,
        mark: Callable[[], object],
        busy: Callable[[], bool],
        still_s: float = STILL_S,
    ) -> None:
        self.mark, self.busy, self.still_s = mark, busy, still_s
        self.moved = self.seen = time.monotonic()
        self.last: object = None
        self.stopped = threading.Event()

    @property
    def alive(self) -> bool:
        """Whether something moved lately, or there is nothing to move."""
        return time.monotonic() - self.moved < self.still_s

    def look(self) -> None:
        """Note whether anything moved since the last look."""
        # A laptop that slept, or a frozen container, looks like a worker that hung: nobody looked meanwhile.
        now, mark = time.monotonic(), self.mark()
        if mark != self.last or not self.busy() or now - self.seen > 5 * LOOK_S:
            self.moved = now  # a process that was frozen gets its time too
        self.last, self.seen = mark, now

    async def run(self) -> None:
        """Look now and then, for ever."""
        threading.Thread(target=self._watch, daemon=True, name="watchdog").start()
        while True:
            self.look()
            await asyncio.sleep(LOOK_S)

    def _watch(self) -> None:
        # In a thread: a loop that hangs cannot look at itself. It does not ask for the mark, which the loop changes.
        before = time.monotonic()
        while not self.stopped.wait(LOOK_S):
            now = time.monotonic()
            if now - before > 5 * LOOK_S:
                self.moved = now
            before = now
            if not self.alive:
                give_up()
                return


def give_up() -> None:
    """End the process at once: what was recorded is safe, what was not is asked again."""
    sys.stderr.write("nothing moved for too long: ending, so that a fresh worker takes over\n")
    sys.stderr.flush()
    os._exit(1)  # anything gentler waits for what hangs
