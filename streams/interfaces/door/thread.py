"""The thread in which a client's log is read and written, and whether brokers are known to be away.

SQLite wants all work with a connection in one thread, so jobs come one after another. A broker that is away is waited
for in it, ten seconds a job: without a memory of that, whoever comes would wait for all who came before him.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.kafka_log import is_kafka, place_of, reached
from streams.interfaces.door.errors import Error, in_our_words

T = TypeVar("T")
AWAY_S = 5.0
"""So long after a broker was away nobody but who waits for answers tries again."""
UNREACHABLE = "log.unreachable"


class LogThread:
    """One thread for one log. Jobs raise an ``Error`` in our words."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.loop = asyncio.get_running_loop()
        self.jobs = ThreadPoolExecutor(1, thread_name_prefix="metalogue-log")
        self.trying = False
        self.away: CliError | None = None
        """What the brokers' absence was told by, until one of them answers."""
        self.again_s = 0.0

    async def do(self, job: Callable[[], T], *, anyway: bool = False) -> T:
        """Do a job with the log. Where brokers are known to be away it is refused at once, unless it is to try
        ``anyway``.
        """
        if asyncio.get_running_loop() is not self.loop:
            what = "a client belongs to the event loop in which it was opened"
            raise Error(what, code="client.loop")
        with in_our_words():
            if not anyway:
                self._need_brokers(self.trying)
            return await self.loop.run_in_executor(self.jobs, lambda: self._done(job, anyway))

    def _done(self, job: Callable[[], T], anyway: bool) -> T:
        if not is_kafka(self.log):
            return job()
        if not anyway:
            self._need_brokers(False)  # who had the thread before us may have found out
        self.trying = True
        try:
            # What brokers raise says nothing to people: ``reached`` tells which of them is away,
            # or refuses.
            found = reached(place_of(self.log), job)
        except CliError as error:
            if error.error == UNREACHABLE:
                self.away, self.again_s = error, time.monotonic() + AWAY_S
            raise
        finally:
            self.trying = False
        self.away = None
        return found

    def _need_brokers(self, trying: bool) -> None:
        """Raise what is known of brokers that are away, while somebody tries them or has just tried."""
        if self.away is not None and (trying or time.monotonic() < self.again_s):
            raise self.away.with_traceback(None)

    def close(self) -> None:
        """End the thread, once its jobs are done."""
        self.jobs.shutdown()
