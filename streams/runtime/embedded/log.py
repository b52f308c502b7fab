"""The embedded log: records and messages in one SQLite file, with fenced, atomic, grouped appends.

One commit is made per turn of the event loop: it holds everything stated in that turn, so that many
episodes share one fsync with no thread and no timer. Source: the architecture page, *Durability that
costs nearly nothing* and *One fence for both*.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from schemas.events.base import Event
from schemas.events.codec import decode
from schemas.events.episode import PartitionClaimed, TextKept
from schemas.identity import text_key
from schemas.record import Record
from state.journal import Fenced
from streams.runtime.embedded.tables import PRAGMAS, SCHEMA_VERSION, TABLES, VIEWS

INSERT = (
    "insert or ignore into records(topic, partition, epoch, episode, address, kind, at_ms, body) "
    "values (?, ?, ?, ?, ?, ?, ?, ?)"
)
SEND = "insert or ignore into messages(topic, key, at_ms, headers, value) values (?, ?, ?, ?, ?)"
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
        db.executescript(PRAGMAS)
        if new:
            db.executescript(
                f"begin immediate;{TABLES}{VIEWS}pragma user_version={SCHEMA_VERSION};commit;"
            )
    except (NotALog, sqlite3.DatabaseError) as error:
        db.close()
        raise error if isinstance(error, NotALog) else NotALog(f"{path}: {error}") from error
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


class SqliteLog:
    """Reads and plain appends. Records of workers go through a ``Writer``."""

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path = Path(path)
        self.db = connect(self.path, create=create)

    def close(self) -> None:
        """Close the file; the last connection folds the write-ahead log into it."""
        self.db.close()

    # -- reading -----------------------------------------------------------------------------------

    def records(
        self,
        topic: str | None = None,
        *,
        episode: str | None = None,
        kinds: Iterable[str] = (),
        after: int = 0,
        upto: int | None = None,
    ) -> Iterator[Record]:
        """Accepted records in offset order."""
        where, values = ["offset > ?"], [after]
        wanted = tuple(kinds)
        for clause, value in (
            ("topic = ?", topic),
            ("episode = ?", episode),
            ("offset <= ?", upto),
        ):
            if value is not None:
                where.append(clause)
                values.append(value)  # type: ignore[arg-type]
        if wanted:
            where.append(f"kind in ({','.join('?' * len(wanted))})")
            values.extend(wanted)  # type: ignore[arg-type]
        query = f"select {COLUMNS} from records where {' and '.join(where)} order by offset"
        for row in self.db.execute(query, values):
            yield record_of(row)

    def journal(self, episode: str) -> dict[str, Event]:
        """The numbered and named records of one episode by address."""
        rows = self.db.execute(
            "select address, kind, body from records where episode = ?", (episode,)
        )
        return {address: decode(kind, body) for address, kind, body in rows}

    def find(self, episode: str, address: str) -> Event | None:
        """One record's event, if it is there."""
        row = self.db.execute(
            "select kind, body from records where episode = ? and address = ?", (episode, address)
        ).fetchone()
        return None if row is None else decode(*row)

    def text(self, digest: str) -> str | None:
        """A text kept under its digest."""
        event = self.find(text_key(digest), "text")
        return event.text if isinstance(event, TextKept) else None

    def messages(
        self, topic: str, after: int = 0, limit: int = -1
    ) -> Iterator[tuple[int, str, dict[str, Any], bytes]]:
        """Offset, key, headers and value of a topic's messages, in order."""
        rows = self.db.execute(
            "select offset, key, headers, value from messages where topic = ? and offset > ? "
            "order by offset limit ?",
            (topic, after, limit),
        )
        for offset, key, headers, value in rows:
            yield (
                offset,
                key,
                orjson.loads(headers),
                value if isinstance(value, bytes) else value.encode(),
            )

    def has_message(self, topic: str, key: str) -> bool:
        """Whether a message with this key is on the topic."""
        query = "select 1 from messages where topic = ? and key = ?"
        return self.db.execute(query, (topic, key)).fetchone() is not None

    def position(self, consumer: str, topic: str) -> int:
        """The offset that a consumer committed last; 0 before the first."""
        query = "select offset from consumers where name = ? and topic = ?"
        row = self.db.execute(query, (consumer, topic)).fetchone()
        return 0 if row is None else int(row[0])

    def data_version(self) -> int:
        """Changes whenever another connection commits."""
        return int(self.db.execute("pragma data_version").fetchone()[0])

    def end(self) -> int:
        """The last record's offset."""
        return int(self.db.execute("select coalesce(max(offset), 0) from records").fetchone()[0])

    def counter(self, name: str) -> int:
        """A counter's value."""
        row = self.db.execute("select value from counters where name = ?", (name,)).fetchone()
        return 0 if row is None else int(row[0])

    # -- appending without a claim: commands and foreign clients -----------------------------------

    def publish(
        self,
        messages: Iterable[tuple[str, str, Mapping[str, Any], bytes]] = (),
        commands: Iterable[tuple[str, str, Event]] = (),
    ) -> int:
        """Append messages (topic, key, headers, value) and learning commands in one commit.

        Commands carry deterministic ids and no epoch; a known id is a no-op. Returns how many
        messages were new.
        """
        at = now_ms()
        rows = [
            (topic, key, at, orjson.dumps(headers).decode(), value)
            for topic, key, headers, value in messages
        ]
        said = [
            ("learning", 0, 0, episode, address, event.kind, at, event.to_json().decode())
            for episode, address, event in commands
        ]
        with self.transaction():
            before = self.db.total_changes
            self.db.executemany(SEND, rows)
            new = self.db.total_changes - before
            self.db.executemany(INSERT, said)
        return new

    def commit_position(self, consumer: str, topic: str, offset: int) -> None:
        """Remember how far a consumer has read."""
        self.db.execute(
            "insert or replace into consumers values (?, ?, ?)", (consumer, topic, offset)
        )

    def transaction(self) -> Transaction:
        """``with log.transaction():`` an immediate transaction, rolled back on error."""
        return Transaction(self.db)

    def claim(self, worker: str, partition: int = 0) -> Writer:
        """Take a partition of both log topics; the claim's offset is the epoch of what follows."""
        event = PartitionClaimed(worker=worker)
        with self.transaction():
            number = self.db.execute(
                "select count(*) from records where kind = ?", (event.kind,)
            ).fetchone()[0]
            cursor = self.db.execute(
                INSERT,
                (
                    "events",
                    partition,
                    0,
                    f"w/{partition}",
                    f"claimed.{number}",
                    event.kind,
                    now_ms(),
                    event.to_json().decode(),
                ),
            )
            epoch = int(cursor.lastrowid or 0)
            self.db.executemany(
                "insert or replace into claims values (?, ?, ?, ?)",
                [(topic, partition, epoch, worker) for topic in LOG_TOPICS],
            )
        return Writer(self, partition, epoch)

    def free_partition(self) -> int:
        """A partition that nobody has claimed yet, for a side run that must disturb nobody."""
        query = "select coalesce(max(partition), 0) + 1 from claims"
        return int(self.db.execute(query).fetchone()[0])


class Transaction:
    """An immediate transaction as a context."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __enter__(self) -> None:
        self.db.execute("begin immediate")

    def __exit__(self, kind: object, *_: object) -> None:
        self.db.execute("commit" if kind is None else "rollback")


class Writer:
    """The append side under one claim; implements ``state.journal.Recorder``.

    What is stated waits in memory until the next turn of the event loop commits it. Nothing is
    written after the claim was lost: such records are only counted (``stale``), and ``Fenced`` is raised.
    """

    def __init__(self, log: SqliteLog, partition: int, epoch: int) -> None:
        self.log, self.partition, self.epoch = log, partition, epoch
        self.rows: list[tuple[Any, ...]] = []
        self.sent: list[tuple[str, str, str, bytes]] = []
        self.positions: dict[tuple[str, str], int] = {}
        self.kept: set[str] = set()
        self.waiting: list[asyncio.Future[None]] = []
        self.commits = 0
        self.at_ms = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.fenced = False

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        """Record with the next commit."""
        rows = self.rows
        if not rows:
            self.at_ms = now_ms()
        body = event.to_json().decode()
        rows.append(
            (topic, self.partition, self.epoch, episode, address, event.kind, self.at_ms, body)
        )

    def keep(self, digest: str, text: str) -> None:
        """Keep a text once per log."""
        if digest not in self.kept:
            self.kept.add(digest)
            self.state("events", text_key(digest), "text", TextKept(text=text))

    def send(
        self, topic: str, key: str, value: bytes, headers: Mapping[str, Any] | None = None
    ) -> None:
        """A message in the same commit."""
        self.sent.append((topic, key, orjson.dumps(headers or {}).decode(), value))

    def advance(self, consumer: str, topic: str, offset: int) -> None:
        """Move a consumer's position in the same commit."""
        self.positions[consumer, topic] = offset

    def commit(self) -> asyncio.Future[None]:
        """Done when everything stated so far is on disk; one commit serves a whole turn of the loop."""
        waiting = self.waiting
        if not waiting:  # once a turn: asking for the loop costs a system call before Python 3.12
            self.loop = asyncio.get_running_loop()
            self.loop.call_soon(self._turn)
        assert self.loop is not None
        done = self.loop.create_future()
        waiting.append(done)
        return done

    def _turn(self) -> None:
        waiting, self.waiting = self.waiting, []
        try:
            self.flush()
        except Exception as error:
            for done in waiting:
                if not done.done():
                    done.set_exception(error)
            return
        for done in waiting:
            if not done.done():
                done.set_result(None)

    def flush(self) -> None:
        """Commit now, without a loop. Raises ``Fenced`` when the claim is no longer the latest."""
        rows, self.rows = self.rows, []
        sent, self.sent = self.sent, []
        positions, self.positions = self.positions, {}
        if not (rows or sent or positions):
            return
        db, at = self.log.db, now_ms()
        db.execute("begin immediate")
        try:
            self._check_claim(rows)
            before = db.total_changes
            db.executemany(INSERT, rows)
            if db.total_changes - before != len(rows):
                self._count("repeated", self._answers_lost(rows))
            if sent:
                db.executemany(
                    SEND, [(topic, key, at, headers, value) for topic, key, headers, value in sent]
                )
            for (consumer, topic), offset in positions.items():
                self.log.commit_position(consumer, topic, offset)
        except BaseException:
            if db.in_transaction:
                db.execute("rollback")
            raise
        db.execute("commit")
        self.commits += 1

    def _check_claim(self, rows: list[tuple[Any, ...]]) -> None:
        query = "select epoch from claims where topic = 'events' and partition = ?"
        latest = self.log.db.execute(query, (self.partition,)).fetchone()
        if latest is not None and latest[0] == self.epoch:
            return
        self.fenced = True
        self._count("stale", sum(row[5] == "completed" for row in rows))
        self.log.db.execute("commit")
        raise Fenced(f"partition {self.partition} was claimed by another worker")

    def _answers_lost(self, rows: list[tuple[Any, ...]]) -> int:
        """Completions of this commit that were not the first at their address."""
        query = "select epoch, body from records where episode = ? and address = ?"
        lost = 0
        for _, _, epoch, episode, address, kind, _, body in rows:
            if kind == "completed":
                first = self.log.db.execute(query, (episode, address)).fetchone()
                lost += first != (epoch, body)
        return lost

    def _count(self, name: str, more: int) -> None:
        if more:
            query = "insert into counters values (?, ?) on conflict(name) do update set value = value + excluded.value"
            self.log.db.execute(query, (name, more))


def record_of(row: tuple[Any, ...]) -> Record:
    """A record from its row. Raises ``BadEvent`` naming the field that is wrong."""
    offset, topic, partition, epoch, episode, address, at_ms, kind, body = row
    return Record(offset, topic, partition, epoch, episode, address, at_ms, decode(kind, body))
