"""Rows of an embedded log: what is inserted, and how a row becomes a record."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from schemas.events.codec import BadEvent, decode
from schemas.record import Record

# Rows are put into `main`, for on a log with keys `records` is a view that opens what is sealed. A
# name that stands already is ignored and is no error: the first one counts.
INTO = "insert or ignore into main.records(topic, partition, epoch, episode, address, kind, at_ms, body) "
INSERT = INTO + "values (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_OPEN = INTO + (
    "select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 where not exists "
    "(select 1 from main.records where episode = ?4 and address = 'closed' and kind = 'episode.closed')"
)
"""A record of an episode that may be closed: then nothing more of it counts."""
SEND = (
    "insert or ignore into main.messages(topic, key, at_ms, headers, value) values (?, ?, ?, ?, ?)"
)
COUNT = (
    "insert into counters values (?, ?) "
    "on conflict(name) do update set value = value + excluded.value"
)
COLUMNS = "offset, topic, partition, epoch, episode, address, at_ms, kind, body"
LOG_TOPICS = ("events", "learning")


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


class Transaction:
    """An immediate transaction as a context."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __enter__(self) -> None:
        # A deferred transaction would get the lock at its first write, and fail there if somebody
        # else had written since its first read.
        self.db.execute("begin immediate")

    def __exit__(self, kind: object, *_: object) -> None:
        self.db.execute("commit" if kind is None else "rollback")


def record_of(row: tuple[Any, ...]) -> Record:
    """A record from its row. Raises ``BadEvent`` naming the place and the field that is wrong."""
    offset, topic, partition, epoch, episode, address, at_ms, kind, body = row
    try:
        event = decode(kind, body)
    except BadEvent as error:
        raise BadEvent(f"record {offset}, {episode} at {address}: {error}") from error
    return Record(offset, topic, partition, epoch, episode, address, at_ms, event)
