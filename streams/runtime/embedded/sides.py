"""Side runs: a solve or a fork works on one episode of its own, beside the worker and beside each other.

Its *episode* is held by a lock that dies with its process. Whoever wants the same episode meanwhile waits:
then it finds the answer there, or takes over what a killed owner left, and reads all that one recorded.
Its *partition* is the lowest above the worker's that no living side run has, chosen inside the
transaction that claims it, and given back at the end. So no two that live are ever fenced by each other,
and nothing that was paid for is thrown away. The fence stays behind both: whose claim is no longer the
latest writes nothing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import struct
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path

from schemas.identity import digest
from streams.answering.calls import Draining
from streams.answering.world import World
from streams.runtime.embedded.files import MEMORY
from streams.runtime.embedded.log import SqliteLog, Writer

GLANCE_S = 0.05
FLOCK = "hhqqi"
"""The C structure of a lock on a range of bytes: kind, whence, start, length, process."""


class EpisodeLock:
    """The right to work on an episode: one byte of a file beside the log, at the episode's digest."""

    def __init__(self, log: Path, episode: str) -> None:
        self.file = open(f"{log}.side.lock", "ab")  # noqa: SIM115 - it is held until close()
        # One file serves all episodes. A file for each would never be removed, since a process that
        # is killed cannot, and one that removes it takes it from who opened it meanwhile.
        self.place = int(digest(episode), 16)

    def close(self) -> None:
        """Let go of it."""
        self.file.close()

    if sys.platform == "linux":
        # Locks of an open file, not of a process: several runs in one process exclude each other too.
        def take(self) -> bool:
            """Take it, if nobody has it."""
            try:
                fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, self._asked())
            except (BlockingIOError, PermissionError):
                return False
            return True

        def is_held(self) -> bool:
            """Whether somebody else has it."""
            found = fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, self._asked())
            return bool(struct.unpack(FLOCK, found)[0] != fcntl.F_UNLCK)

        def _asked(self) -> bytes:
            return struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, self.place, 1, 0)
    else:

        def take(self) -> bool:
            """Take it, if no other process has it."""
            try:
                fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self.place)
            except (BlockingIOError, PermissionError):
                return False
            return True

        def is_held(self) -> bool:
            """Nobody can be asked here: a killed run's partition waits until its episode is taken up."""
            return True


@asynccontextmanager
async def alone_on(
    log: SqliteLog, episode: str, world: World, told: Callable[[str], None]
) -> AsyncGenerator[None]:
    """Hold an episode, once whoever else works on it has ended. Raises ``Draining`` if told to stop before."""
    if str(log.path) == MEMORY:
        yield  # nobody else can have it
        return
    # A lock, and no record: it ends with its process, however that ends, and nobody has to clear it away.
    lock = EpisodeLock(log.path, episode)
    waiting = False
    try:
        while not lock.take():
            if world.draining:
                raise Draining
            if not waiting:
                # Claims name their episode behind the process, as ``beside`` writes them.
                named = [who.partition(" ") for who in log.claims().values()]
                owners = [who.replace(":", ", process ") for who, _, its in named if its == episode]
                owner = owners[0] if owners else "another process"
                told(f"{owner} works on the same: waits for what it finds")
                waiting = True
            await asyncio.sleep(GLANCE_S)
        yield
    finally:
        lock.close()


@contextmanager
def beside(log: SqliteLog, kind: str, episode: str) -> Generator[Writer]:
    """A writer on a partition of its own, given back at the end. Who calls holds the episode."""

    def is_over(worker: str) -> bool:
        its = worker.partition(" ")[2]
        if its in ("", episode):
            return its == episode  # who names no episode holds no lock that could be asked for
        with closing(EpisodeLock(log.path, its)) as lock:
            return not lock.is_held()

    writer = log.claim_beside(f"{kind}:{os.getpid()} {episode}", is_over)
    try:
        yield writer
    finally:
        # Where it cannot be given back, the next one finds that nobody holds the episode any more.
        with suppress(sqlite3.Error):
            log.give_back(writer)
