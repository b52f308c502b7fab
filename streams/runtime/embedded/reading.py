"""Reading a log without being able to write it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from streams.runtime.embedded.files import connect_to_read
from streams.runtime.embedded.log import SqliteLog

PAGE_MS = 5_000
"""How long who looks at a page waits for the file."""


class ReadOnlyLog(SqliteLog):
    """An embedded log that nothing can be appended to."""

    def __init__(self, path: Path, wait_ms: int = 30_000) -> None:
        """Open the file. A reader waits so long where another process holds the whole of it."""
        # Not `super().__init__`, which makes what is missing and opens the file to be written.
        self.path = path
        self.db = connect_to_read(path, threads=True)
        self.db.execute(f"pragma busy_timeout={wait_ms}")
        self.unlock()


@contextmanager
def reading(path: Path) -> Generator[ReadOnlyLog]:
    """The log for as long as somebody looks at it, such as while a page is made."""
    log = ReadOnlyLog(path, PAGE_MS)
    try:
        yield log
    finally:
        log.close()
