"""Reading a log without being able to write it: one short connection a page."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from streams.runtime.embedded.files import connect_to_read
from streams.runtime.embedded.log import SqliteLog


class ReadOnlyLog(SqliteLog):
    """An embedded log that nothing can be appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = connect_to_read(path, threads=True)
        self.db.execute("pragma busy_timeout=5000")


@contextmanager
def reading(path: Path) -> Generator[ReadOnlyLog]:
    """The log while a page is made."""
    log = ReadOnlyLog(path)
    try:
        yield log
    finally:
        log.close()
