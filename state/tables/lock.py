"""One writer for the tables of a log: a lock that dies with its process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


class Busy(Exception):
    """Another process writes these tables; the message names it."""


@contextmanager
def only_writer(folder: Path) -> Generator[None]:
    """Hold the lock beside the tables. Raises ``Busy``."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "a+", encoding="ascii") as lock:
        try:
            # The kernel gives the lock back when its process ends, however it ends; a file that
            # merely exists would have to be cleaned up after a crash.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            pid = lock.read().strip() or "unknown"
            raise Busy(f"another process writes {folder}: {pid}") from error
        with suppress(OSError):  # on a full disk it holds all the same
            lock.truncate(0)
            os.write(lock.fileno(), str(os.getpid()).encode())
        yield
