"""The embedded log: records and messages in one SQLite file, with claims on its partitions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from sqlite3 import OperationalError, ProgrammingError
from typing import TYPE_CHECKING, Any

import orjson

from schemas.events.base import Event
from schemas.events.codec import as_written, decode
from schemas.events.episode import PartitionClaimed, TextKept
from schemas.events.learning import ProblemForgotten
from schemas.identity import text_key
from schemas.record import Record
from streams.runtime.embedded.files import (
    ClosedAgain,
    NoLog,
    NotALog,
    connect,
    connect_to_read,
    disconnect,
    is_fixed,
    is_full,
    unlocked,
)
from streams.runtime.embedded.queries.messages import as_bytes
from streams.runtime.embedded.queries.scopes import closed_again
from streams.runtime.embedded.rows import (
    COLUMNS,
    INSERT,
    LOG_TOPICS,
    SEND,
    Transaction,
    now_ms,
    record_of,
)
from streams.runtime.embedded.tables import MESSAGES_IN_ORDER, OUTCOMES
from streams.runtime.embedded.writer import Writer

if TYPE_CHECKING:
    from streams.runtime.embedded.sealing import Sealing

CLAIMS = "select count(*) from records where episode >= 'w/' and episode < 'w0'"
"""How often partitions were claimed."""
__all__ = ["INSERT", "SEND", "ClosedAgain", "NoLog", "NotALog", "SqliteLog", "Writer", "now_ms"]


class SqliteLog:
    """Reads and plain appends. Records of workers go through a ``Writer``."""

    sealing: Sealing | None = None
    """What seals the records of subjects, where the log was begun with keys."""
    read_from: str | None = None
    """The file that a log in memory was read from."""
    is_owned_elsewhere = False
    """Whether workers own its parts and this is a copy: then whoever else would state a record proposes it."""

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = False,
        writes: bool = False,
        keys: Path | None = None,
    ) -> None:
        """Open the file. One that cannot be written is read only, unless who opens it ``writes``.

        ``keys``: where a new log gets its keys of subjects, or where an old one's are by now.
        """
        self.path = Path(path)
        try:
            self.db = connect(self.path, create=create, keys=keys)
        except OperationalError as error:
            # On a full or read-only disk people still have to see what their log holds.
            if create or writes or not (is_fixed(error) or is_full(error)):
                raise
            self.db = connect_to_read(self.path)
        self.unlock(keys)

    @property
    def called(self) -> str:
        """What people know it by."""
        return self.read_from or str(self.path)

    @property
    def room(self) -> int | None:
        """The most bytes that a problem or a label may come to; nothing: one file has no such limit."""
        return None

    def whole(self, topic: str, partition: int, offset: int) -> bytes | None:
        """The bytes of a record where it lies on Kafka; nothing on any other log."""
        return None

    def unlock(self, keys: Path | None = None) -> None:
        """Read what is sealed, once a log was read back that was begun with keys. Raises ``NoKeys``."""
        self.sealing = unlocked(self.db, keys)

    def keyed(self, name: str, said: Any) -> Any:
        """What stands for something that a name is made of: itself, or for a subject's a digest that takes its key.

        ``name`` says whose it is.
        """
        return said if self.sealing is None else self.sealing.keyed(name, said)

    def __del__(self) -> None:
        # A command that ends has no further use for its log; nothing is lost by closing late.
        with suppress(AttributeError, ProgrammingError):
            disconnect(self.db)

    def close(self) -> None:
        """Close the file, which then holds everything that was written."""
        disconnect(self.db)

    # -- reading -----------------------------------------------------------------------------------

    def records(
        self,
        topic: str | None = None,
        *,
        episode: str | None = None,
        kinds: Iterable[str] = (),
        after: int = 0,
        upto: int | None = None,
        epoch: int | None = None,
    ) -> Iterator[Record]:
        """Accepted records in offset order; those of epoch 0 are commands."""
        # Only the clauses that are needed are named: SQLite chooses an index by them, and one that
        # is written ``? is null or topic = ?`` would look at every record.
        where: list[str] = ["offset > ?"]
        values: list[str | int] = [after]
        wanted = tuple(kinds)
        for clause, value in (
            ("topic = ?", topic),
            ("episode = ?", episode),
            ("offset <= ?", upto),
            ("epoch = ?", epoch),
        ):
            if value is not None:
                where.append(clause)
                values.append(value)
        if wanted:
            where.append(f"kind in ({','.join('?' * len(wanted))})")
            values.extend(wanted)
        query = f"select {COLUMNS} from records where {' and '.join(where)} order by offset"
        for row in self.db.execute(query, values):
            # Rows are read as they are asked for. A log may be larger than the memory.
            yield record_of(row)

    def journal(self, episode: str) -> dict[str, Event]:
        """The numbered and named records of one episode by address, in the order of the log."""
        rows = self.db.execute(
            "select address, kind, body from records where episode = ? order by offset", (episode,)
        )
        return {address: decode(kind, body) for address, kind, body in rows}

    def find(self, episode: str, address: str) -> Event | None:
        """One record's event, if it is there."""
        row = self.db.execute(
            "select kind, body from records where episode = ? and address = ?", (episode, address)
        ).fetchone()
        return None if row is None else decode(*row)

    def holding(self, episodes: Iterable[str], address: str) -> set[str]:
        """Which of these episodes have a record at this address."""
        # One look-up for a batch, and an array of JSON in place of as many marks as there are
        # names, of which SQLite takes a limited number.
        query = "select episode from records where episode in (select value from json_each(?)) and address = ?"
        found = self.db.execute(query, (orjson.dumps([*episodes]).decode(), address))
        return {episode for (episode,) in found}

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
            yield offset, key, orjson.loads(headers), as_bytes(value)

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
        # SQLite keeps this number in memory that its readers share, so a loop may ask ten times a
        # second.
        return int(self.db.execute("pragma data_version").fetchone()[0])

    def end(self) -> int:
        """The last record's offset."""
        return int(
            self.db.execute("select coalesce(max(offset), 0) from main.records").fetchone()[0]
        )

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
        messages were new. Raises ``ClosedAgain``, and puts nothing, where a problem is withdrawn from a memory of
        which a version is being made anew.
        """
        # Whoever says something twice, for it was killed in between, must not be heard twice: the
        # index of identities drops the second, and the count of changes tells which were new.
        at = now_ms()
        # Made one by one as they are put: a million messages would be held twice.
        rows: Iterable[tuple[Any, ...]] = (
            (topic, key, at, orjson.dumps(headers).decode(), value)
            for topic, key, headers, value in messages
        )
        orders = list(commands)
        said = [
            (
                "learning",
                0,
                0,
                episode,
                address,
                event.kind,
                at,
                as_written(event).to_json().decode(),
            )
            for episode, address, event in orders
        ]
        # Sealing comes before the transaction: a key that is missing is told of before anything is
        # held.
        if self.sealing is not None:
            rows, said = self.sealing.messages(rows), self.sealing.records(said)
        with self.transaction():
            # Looked at while nobody else can close one.
            self.withdrawable(orders)
            before = self.db.total_changes
            self.db.executemany(SEND, rows)
            new = self.db.total_changes - before
            self.db.executemany(INSERT, said)
        return new

    def withdrawable(self, commands: Iterable[tuple[str, str, Event]]) -> None:
        """Raise ``ClosedAgain`` where one of these withdraws a problem from a memory of which a version is being made
        anew: it would be made of what its batch was closed with, and read with more taken from it.
        """
        for episode, address, event in commands:
            if not isinstance(event, ProblemForgotten):
                continue
            closing = closed_again(self, event.scope)
            if closing is not None and self.find(episode, address) is None:
                raise ClosedAgain(closing)

    def commit_position(self, consumer: str, topic: str, offset: int) -> None:
        """Remember how far a consumer has read."""
        self.db.execute(
            "insert or replace into consumers values (?, ?, ?)", (consumer, topic, offset)
        )

    def sync_less(self) -> None:
        """Let commits go on before the disk has them: a power failure may undo the last ones."""
        # A sender of telemetry that loses its position sends a few spans twice, which costs less
        # than waiting for the disk after each.
        self.db.execute("pragma synchronous=normal")

    @contextmanager
    def reading(self) -> Generator[None]:
        """One look at the log, whoever writes meanwhile."""
        if self.db.in_transaction:
            yield  # SQLite has no transaction within another, and one is one look already
            return
        self.db.execute("begin")
        try:
            yield
        finally:
            self.db.execute("rollback")

    def transaction(self) -> Transaction:
        """``with log.transaction():`` an immediate transaction, rolled back on error."""
        return Transaction(self.db)

    def claim(self, worker: str, partition: int = 0) -> Writer:
        """Take a partition of both log topics; the claim's offset is the epoch of what follows."""
        with self.transaction():
            return self._claim(worker, partition)

    def claim_beside(self, worker: str, is_over: Callable[[str], bool]) -> Writer:
        """Take the lowest partition above the worker's that nobody has, or whose claimant is over."""
        with self.transaction():
            # Chosen inside the transaction: two that begin at once would find the same one free.
            had = self.claims()
            free = (n for n in count(1) if n not in had or is_over(had[n]))
            return self._claim(worker, next(free))

    def give_back(self, writer: Writer) -> None:
        """End a claim; nothing where somebody else has claimed the partition since."""
        # By its epoch too: whoever took it over after we were thought dead must keep it.
        ended = "delete from claims where partition = ? and epoch = ?"
        with self.transaction():
            self.db.execute(ended, (writer.partition, writer.epoch))

    def claims(self) -> dict[int, str]:
        """The claims on each partition."""
        query = "select partition, worker from claims where topic = 'events'"
        return dict(self.db.execute(query).fetchall())

    def _claim(self, worker: str, partition: int) -> Writer:
        event = PartitionClaimed(worker=worker)
        # Within the claim's own transaction: only who may write makes them, and nobody needs them sooner.
        for made in (MESSAGES_IN_ORDER, OUTCOMES):  # logs of earlier builds have none
            self.db.execute(made)
        (number,) = self.db.execute(CLAIMS).fetchone()
        row = ("events", partition, 0, f"w/{partition}", f"claimed.{number}", event.kind)
        cursor = self.db.execute(INSERT, (*row, now_ms(), event.to_json().decode()))
        epoch = int(cursor.lastrowid or 0)
        self.db.executemany(
            "insert or replace into claims values (?, ?, ?, ?)",
            [(topic, partition, epoch, worker) for topic in LOG_TOPICS],
        )
        return Writer(self, partition, epoch)
