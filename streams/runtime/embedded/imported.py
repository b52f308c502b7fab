"""A log read back from the JSON Lines that `log cat` writes, in memory and read-only."""

from __future__ import annotations

import sqlite3
from codecs import BOM_UTF8
from pathlib import Path

import orjson

from streams.producing.sources import FORMS
from streams.runtime.embedded.lines import put
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.packed import Unreadable, unpacked

BAD = (ValueError, KeyError, TypeError, AttributeError, OverflowError, sqlite3.Error)
"""Whatever a line can be wrong in: it was read as JSON, and nothing more is known of it."""
TWICE = ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_ROWID")


class BadLine(ValueError):
    """A line of the file is not a line of a log."""


def import_jsonl(path: str, keys: Path | None = None) -> SqliteLog:
    """The log that a file holds, plain or packed by xz or gzip; ``keys``: where they are, if not where it says.

    Raises ``OSError``, ``BadLine`` naming line and field, or ``NoKeys`` for a log with keys.
    """
    log = SqliteLog(":memory:", create=True)
    log.read_from = path
    # One transaction for all lines: each by itself would cost more than reading it.
    with log.transaction():
        try:
            for number, line in enumerate(unpacked(path), 1):
                # What editors and other tools leave in a text file says nothing.
                said = line.removeprefix(BOM_UTF8) if number == 1 else line
                if said.strip():
                    _take(log, path, number, said)
        except Unreadable as error:
            raise BadLine(f"{path}: {error}") from error
    # Only now: rows are put as they lie, and views that open them would stand before the tables.
    log.unlock(keys)
    return log


def _take(log: SqliteLog, path: str, number: int, line: bytes) -> None:
    """Put one line of a file on the log. Raises ``BadLine``."""
    where = f"{path}:{number}: not a line of a log"
    try:
        read = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        form = next(filter(line.startswith, FORMS), None) if number == 1 else None
        said = f"{where}: not JSON"
        if form is not None:
            said = f"{path}: this is {FORMS[form]}, and no log as JSON Lines"
        raise BadLine(said) from error
    try:
        put(log, read)
    except BAD as error:
        again = getattr(error, "sqlite_errorname", "") in TWICE
        said = "an earlier line has its place or its name" if again else str(error)
        raise BadLine(f"{where}: {said}") from error
