"""A log read back from the JSON Lines that `log cat` writes, in memory and read-only."""

from __future__ import annotations

from typing import Any

import orjson

from streams.runtime.embedded.log import SqliteLog

RECORD = "insert into records values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
MESSAGE = "insert into messages values (?, ?, ?, ?, ?, ?)"


class BadLine(ValueError):
    """A line of the file is not a line of a log."""


def import_jsonl(path: str) -> SqliteLog:
    """The log that a file holds. Raises ``OSError`` or ``BadLine`` naming the line."""
    log = SqliteLog(":memory:", create=True)
    with open(path, "rb") as file, log.transaction():
        for number, line in enumerate(file, 1):
            try:
                _insert(log, orjson.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BadLine(f"{path}:{number}: not a line of a log: {error}") from error
    return log


def _insert(log: SqliteLog, line: dict[str, Any]) -> None:
    if "episode" in line:
        body = orjson.dumps(line["event"]).decode()
        names = ("offset", "topic", "partition", "epoch", "episode", "address", "kind", "at_ms")
        log.db.execute(RECORD, (*(line[name] for name in names), body))
        return
    value = line["value"].encode() if "value" in line else bytes.fromhex(line["bytes"])
    headers = orjson.dumps(line["headers"]).decode()
    place = (line["offset"], line["topic"], line["key"], line["at_ms"])
    log.db.execute(MESSAGE, (*place, headers, value))
