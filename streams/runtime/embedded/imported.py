"""A log read back from the JSON Lines that `log cat` writes, in memory and read-only."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import orjson

from streams.runtime.embedded.lines import put
from streams.runtime.embedded.log import SqliteLog

BAD = (ValueError, KeyError, TypeError, AttributeError, OverflowError, sqlite3.Error)
"""Whatever a line can be wrong in: it was read as JSON, and nothing more is known of it."""
TWICE = ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_ROWID")


class BadLine(ValueError):
    """A line of the file is not a line of a log."""


def import_jsonl(path: str, keys: Path | None = None) -> SqliteLog:
    """The log that a file holds. Raises ``OSError``, ``BadLine`` naming the line, or ``NoKeys`` for one with keys.

    ``keys``: where they are, if not where the file says.
    """
    log = SqliteLog(":memory:", create=True)
    # One transaction for all lines: each by itself would cost more than reading it.
    with open(path, "rb") as file, log.transaction():
        for number, line in enumerate(file, 1):
            try:
                put(log, orjson.loads(line))
            except BAD as error:
                again = getattr(error, "sqlite_errorname", "") in TWICE
                said = "an earlier line has its place or its name" if again else error
                raise BadLine(f"{path}:{number}: not a line of a log: {said}") from error
    # Only now: rows are put as they lie, and views that open them would stand before the tables.
    log.unlock(keys)
    return log
