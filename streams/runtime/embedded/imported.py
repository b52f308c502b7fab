"""A log read back from the JSON Lines that `log cat` writes, in memory and read-only."""

from __future__ import annotations

from pathlib import Path

import orjson

from streams.runtime.embedded.lines import put
from streams.runtime.embedded.log import SqliteLog


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
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BadLine(f"{path}:{number}: not a line of a log: {error}") from error
    log.unlock(
        keys
    )  # only now: rows are put as they lie, and views that open them would stand before the tables
    return log
