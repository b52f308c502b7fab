"""Whether an embedded log can be read and appended to, tried by a connection of its own."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from streams.runtime.embedded.files import is_busy

HELD_S: Final = 2.0
"""Another process may hold the log for so long; whoever commits does so for milliseconds."""
GONE: Final = "the log was moved away or replaced"
LEAST_BYTES: Final = 1 << 20
"""With less room than this on its disk the next commit may fail."""


class Probe:
    """Tries the file that a worker opened."""

    def __init__(self, path: Path) -> None:
        self.path, self.opened = path, _identity(path)

    @property
    def is_there(self) -> bool:
        """Whether the file that was opened still lies there: whoever has it open goes on writing to one that does not,
        and nobody would ever read it.
        """
        return self.opened is not None and _identity(self.path) == self.opened

    def trouble(self) -> str | None:
        """Why nothing can be read or appended just now; nothing where both can. It may wait a little."""
        if not self.is_there:
            return f"{self.path}: {GONE}"
        room = os.statvfs(self.path)
        if room.f_bavail * room.f_frsize < LEAST_BYTES:
            return f"{self.path}: its disk is full"
        uri = f"file:{quote(str(self.path.absolute()))}?mode=rw"
        try:
            # By a connection of its own: the worker's may be in the middle of a transaction. What is begun to be
            # written shows more than reading does, and is never written.
            with closing(
                sqlite3.connect(uri, uri=True, timeout=HELD_S, isolation_level=None)
            ) as db:
                db.execute("begin immediate")
                db.execute("select max(offset) from records").fetchone()
                db.execute("rollback")
        except sqlite3.Error as error:
            return f"{self.path}: {'another process holds it' if is_busy(error) else error}"
        return None


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
