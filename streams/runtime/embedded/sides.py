"""Side runs: a solve or a fork works on one episode of its own, beside the worker and beside each other.

Its *episode* is held by a lock that dies with its process. Whoever wants the same episode meanwhile waits:
then it finds the answer there, or takes over what a killed owner left, and reads all that one recorded. A worker
begins no episode that is held, and whoever solves one that is a living worker's waits for it.
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
from streams.runtime.embedded.queries.episodes import is_open_on

GLANCE_S = 0.05
FLOCK = "hhqqi"
"""The C structure of a lock on a range of bytes: kind, whence, start, length, process."""


class EpisodeLock:
    """The right to work on an episode: one byte of a file beside the log, at the episode's digest."""

    def __init__(self, log: Path, episode: str) -> None:
        # One file serves all episodes. A file for each would never be removed, since a process that
        # is killed cannot, and one that removes it takes it from who opened it meanwhile.
        self.file = open(f"{log}.side.lock", "ab")  # noqa: SIM115 - it is held until close()
        self.place = place_of(episode)

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

        def give_back(self) -> None:
            """Let others have it."""
            fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, self._asked(fcntl.F_UNLCK))

        def is_held(self) -> bool:
            """Whether somebody else has it."""
            found = fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, self._asked())
            return bool(struct.unpack(FLOCK, found)[0] != fcntl.F_UNLCK)

        def _asked(self, kind: int = fcntl.F_WRLCK) -> bytes:
            return struct.pack(FLOCK, kind, os.SEEK_SET, self.place, 1, 0)
    else:

        def take(self) -> bool:
            """Take it, if no other process has it."""
            try:
                fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self.place)
            except (BlockingIOError, PermissionError):
                return False
            return True

        def give_back(self) -> None:
            """Let others have it."""
            fcntl.lockf(self.file, fcntl.LOCK_UN, 1, self.place)

        def is_held(self) -> bool:
            """Nobody can be asked here: a killed run's partition waits until its episode is taken up."""
            return True


class SideRuns:
    """The episodes that side runs work on, as a worker asks for them; on a log in memory there are none.

    A worker holds no lock for what is its own. It may be stopped and replaced, and whoever replaced it must not
    wait for it; side runs leave such an episode alone while a worker lives (``left_by_worker``).
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self.marks = f"{log}.side.lock"
        self.lock: EpisodeLock | None = None

    @property
    def any(self) -> bool:
        """Whether there was a side run at all, when an episode was last asked for."""
        return self.lock is not None

    def has(self, episode: str) -> bool:
        """Whether a side run works on an episode."""
        if not self.take(episode):
            return True
        self.give_back(episode)
        return False

    def take(self, episode: str) -> bool:
        """Take an episode that a side run began, if none works on it."""
        if self.lock is None:
            # The first side run makes the file.
            if str(self.log) == MEMORY or not os.path.exists(self.marks):
                return True
            self.lock = EpisodeLock(self.log, episode)
        self.lock.place = place_of(episode)
        return self.lock.take()

    def give_back(self, episode: str) -> None:
        """Let side runs have an episode."""
        if self.lock is not None:
            self.lock.place = place_of(episode)
            self.lock.give_back()

    def close(self) -> None:
        """Let go of all of them."""
        if self.lock is not None:
            self.lock.close()
            self.lock = None


def place_of(episode: str) -> int:
    """The byte of the file that stands for an episode."""
    return int(digest(episode), 16)


def has_worker(log: Path) -> bool:
    """Whether a worker has the log: it holds a lock on a file beside it, for as long as it lives."""
    try:
        with open(f"{log}.lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


async def left_by_worker(
    log: SqliteLog, episode: str, world: World, told: Callable[[str], None]
) -> None:
    """Wait while an episode is a living worker's, until that has closed it. Raises ``Draining`` if told to stop."""
    waiting = False
    while str(log.path) != MEMORY and is_open_on(log, episode, aside=False):
        if not has_worker(log.path):
            return
        if world.draining:
            raise Draining
        if not waiting:
            told("a worker has the same: waits for what it finds")
            waiting = True
        await asyncio.sleep(4 * GLANCE_S)


def _is_workers(log: SqliteLog, episode: str, lock: EpisodeLock) -> bool:
    """Whether a worker came in between, whose episode it is: then it is left to that."""
    if not (has_worker(log.path) and is_open_on(log, episode, aside=False)):
        return False
    lock.give_back()
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
        while not lock.take() or _is_workers(log, episode, lock):
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
