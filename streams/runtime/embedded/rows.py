"""Rows of an embedded log: what is inserted, and how a row becomes a record."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from itertools import chain
from typing import Any

from schemas.events.codec import BadEvent, decode
from schemas.record import Record

# Rows are put into `main`, for on a log with keys `records` is a view that opens what is sealed. A
# name that stands already is ignored and is no error: the first one counts.
INTO = "insert or ignore into main.records(topic, partition, epoch, episode, address, kind, at_ms, body) "
ROW = "(?, ?, ?, ?, ?, ?, ?, ?)"
INSERT = f"{INTO}values {ROW}"
AT_ONCE = 64
"""Rows that one statement inserts: a statement a row takes a seventh longer. Eight times as many values stay below 999,
the most that some SQLites take."""
INSERT_MANY = f"{INTO}values {', '.join([ROW] * AT_ONCE)}"
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


def insert(db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert records in their order."""
    whole = len(rows) - len(rows) % AT_ONCE
    for first in range(0, whole, AT_ONCE):
        db.execute(INSERT_MANY, tuple(chain.from_iterable(rows[first : first + AT_ONCE])))
    db.executemany(INSERT, rows[whole:])


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
