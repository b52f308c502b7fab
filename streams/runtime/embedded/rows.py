"""Rows of an embedded log: how a file is opened, what is inserted, and how a row becomes a record."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from schemas.events.codec import decode
from schemas.record import Record
from streams.runtime.embedded.tables import PRAGMAS, SCHEMA_VERSION, TABLES, VIEWS

INTO = (
    "insert or ignore into records(topic, partition, epoch, episode, address, kind, at_ms, body) "
)
INSERT = INTO + "values (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_OPEN = INTO + (
    "select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 where not exists "
    "(select 1 from records where episode = ?4 and address = 'closed' and kind = 'episode.closed')"
)
"""A record of an episode that may be closed: then nothing more of it counts."""
SEND = "insert or ignore into messages(topic, key, at_ms, headers, value) values (?, ?, ?, ?, ?)"
COUNT = (
    "insert into counters values (?, ?) "
    "on conflict(name) do update set value = value + excluded.value"
)
COLUMNS = "offset, topic, partition, epoch, episode, address, at_ms, kind, body"
LOG_TOPICS = ("events", "learning")


class NoLog(Exception):
    """There is no log at this path, and this command may not make one."""


class NotALog(Exception):
    """The file is not a log of ours, or of a version that this build cannot read."""


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """A connection to the log at ``path``. Raises ``NoLog`` or ``NotALog``."""
    if not path.exists() and not create:
        raise NoLog(f"no log at {path}")
    try:
        db = sqlite3.connect(path, isolation_level=None)
    except sqlite3.DatabaseError as error:
        raise NotALog(f"{path}: {error}") from error
    try:
        new = _is_new(db, path)
        if new and not create:
            raise NoLog(f"no log at {path}")
        db.executescript(PRAGMAS)
        if new:
            db.executescript(
                f"begin immediate;{TABLES}{VIEWS}pragma user_version={SCHEMA_VERSION};commit;"
            )
    except (NoLog, NotALog, sqlite3.DatabaseError) as error:
        db.close()
        raise (
            error if isinstance(error, NoLog | NotALog) else NotALog(f"{path}: {error}")
        ) from error
    return db


def _is_new(db: sqlite3.Connection, path: Path) -> bool:
    """Whether the file holds nothing yet. Raises ``NotALog``; what another wrote is left untouched."""
    found = "select user_version, (select group_concat(name, ' ') from sqlite_master) from pragma_user_version"
    version, names = db.execute(found).fetchone()
    if names is None and version == 0:
        return True
    if "records_identity" not in (names or "").split():
        raise NotALog(f"{path}: a SQLite file, but not a log")
    if version != SCHEMA_VERSION:
        raise NotALog(f"{path}: log format {version}, this build reads {SCHEMA_VERSION}")
    return False


class Transaction:
    """An immediate transaction as a context."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __enter__(self) -> None:
        self.db.execute("begin immediate")

    def __exit__(self, kind: object, *_: object) -> None:
        self.db.execute("commit" if kind is None else "rollback")


def record_of(row: tuple[Any, ...]) -> Record:
    """A record from its row. Raises ``BadEvent`` naming the field that is wrong."""
    offset, topic, partition, epoch, episode, address, at_ms, kind, body = row
    return Record(offset, topic, partition, epoch, episode, address, at_ms, decode(kind, body))
