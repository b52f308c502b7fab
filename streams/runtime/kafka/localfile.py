"""The file of an import: one import at a time, and dropped whole."""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def drop(path: Path) -> None:
    """Remove a file of a log that is no more."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@contextmanager
def alone(path: Path) -> Generator[None]:
    """One import of a file at a time."""
    with open(f"{path}.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
