"""Records and messages as they lie on a log, undecoded: for exports, digests and whoever proves a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import orjson

from streams.runtime.embedded.lines import HAS_LAIN

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

COLUMNS = "offset, topic, partition, epoch, episode, address, kind, at_ms, body"
# Chains and exports are over the stored bytes, so they read the tables and not the views that open
# what is sealed.
AS_THEY_LIE = f"select {COLUMNS} from main.records order by offset"
BODIES = "select episode, address, kind, body from records"
MESSAGES = """
select m.offset, m.topic, 0, m.offset, m.topic, m.key, m.at_ms, m.headers, m.value from main.messages m order by 1
"""
LAIN = """
select m.offset, coalesce(l.topic, m.topic), coalesce(l.partition, '-'), l.place, m.topic, m.key, m.at_ms,
    m.headers, m.value
  from main.messages m left join lain l on l.offset = m.offset order by 1
"""
PLACED = "select episode, address, at_ms from records where offset = ?"
KEPT = "select substr(episode, 3) from records where kind = 'text.kept' and episode like 't/%'"
CLOSINGS = """
select episode, offset, at_ms, body from records
  where kind = 'episode.closed' and address = 'closed' and (?1 is null or episode = ?1) order by offset
"""
# By the episode and not by the offset that its admission tells: that one is of the broker where it was admitted.
ADMITTED = """
select coalesce(min(case when a.episode is null then m.offset - 1 end), max(m.offset)) from messages m
  left join records a on a.episode = m.key and a.address = 'admitted'
  where m.topic = 'problems'
"""
BEFORE = "select address, at_ms, body, offset from records where episode = ? and offset < ? order by offset"


class RecordRow(NamedTuple):
    """A record; its body is the event as JSON."""

    offset: int
    topic: str
    partition: int
    epoch: int
    episode: str
    address: str
    kind: str
    at_ms: int
    body: str


class Body(NamedTuple):
    """What one record says, as JSON."""

    episode: str
    address: str
    kind: str
    body: str


class MessageRow(NamedTuple):
    """A message, with the place where it lies on Kafka if it came from there, else its own."""

    offset: int
    home: str
    """The topic that it lies on there."""
    partition: int | str
    place: int | None
    topic: str
    key: str
    at_ms: int
    headers: str
    value: str | bytes


class Placed(NamedTuple):
    """What a record at an offset is: its name, and when it was written (Unix milliseconds)."""

    episode: str
    address: str
    at_ms: int


class Closing(NamedTuple):
    """The record that closed an episode; its body is JSON."""

    episode: str
    offset: int
    at_ms: int
    body: str


class Stated(NamedTuple):
    """A record of an episode, as stamps of its closing are made of it; its body is JSON."""

    address: str
    at_ms: int
    body: str
    offset: int


# ── Records ──────────────────────────────────────────────────────────────────────────────────


def records(
    log: SqliteLog, upto: int, episodes: Iterable[str] | None = None, kind: str | None = None
) -> Iterator[RecordRow]:
    """Records up to an offset in order; on request of some episodes or one kind alone."""
    where, values = ["offset <= ?"], [upto, *(episodes or ())]
    if episodes is not None:
        where.append(f"episode in ({','.join('?' * (len(values) - 1))})")
    if kind is not None:
        where.append("kind = ?")
        values.append(kind)
    query = f"select {COLUMNS} from records where {' and '.join(where)} order by offset"
    return map(RecordRow._make, log.db.execute(query, values))


def all_records(log: SqliteLog) -> Iterator[RecordRow]:
    """Every record in order, sealed where it is sealed."""
    return map(RecordRow._make, log.db.execute(AS_THEY_LIE))


def by_episode(log: SqliteLog) -> Iterator[Body]:
    """What every record says, those of an episode together, episodes by name."""
    return map(Body._make, log.db.execute(f"{BODIES} order by episode"))


def bodies(log: SqliteLog, episode: str | None = None) -> Iterator[Body]:
    """What every record says, in order; on request of one episode alone."""
    query = f"{BODIES} where ?1 is null or episode = ?1 order by offset"
    return map(Body._make, log.db.execute(query, (episode,)))


def texts(log: SqliteLog) -> Iterator[Body]:
    """The records of kept texts, in order."""
    query = f"{BODIES} where kind = 'text.kept' order by offset"
    return map(Body._make, log.db.execute(query))


def kept_texts(log: SqliteLog) -> set[str]:
    """The digests of all kept texts."""
    return {digest for (digest,) in log.db.execute(KEPT)}


def record_at(log: SqliteLog, offset: int) -> Placed | None:
    """What the record at an offset is, if there is one."""
    row = log.db.execute(PLACED, (offset,)).fetchone()
    return None if row is None else Placed(*row)


def admitted_upto(log: SqliteLog) -> int | None:
    """The offset up to which every problem is admitted; none where there are no problems."""
    (found,) = log.db.execute(ADMITTED).fetchone()
    return None if found is None else int(found)


def address_at(log: SqliteLog, offset: int) -> str:
    """The address of the record at an offset. Raises ``KeyError`` where there is none."""
    found = record_at(log, offset)
    if found is None:
        raise KeyError(offset)
    return found.address


def record_offsets(log: SqliteLog) -> Iterator[int]:
    """The offsets of all records, in order."""
    return (offset for (offset,) in log.db.execute("select offset from records order by 1"))


def offsets_in_order(log: SqliteLog, offsets: Iterable[int]) -> list[int]:
    """Those of these offsets that have a record, in order."""
    query = "select offset from records where offset in (select value from json_each(?)) order by offset"
    chosen = orjson.dumps(sorted(offsets)).decode()
    return [offset for (offset,) in log.db.execute(query, (chosen,))]


def closings(log: SqliteLog, episode: str | None = None) -> list[Closing]:
    """The records that closed episodes, in order; on request of one episode alone."""
    return [Closing(*row) for row in log.db.execute(CLOSINGS, (episode,))]


def stated_before(log: SqliteLog, episode: str, offset: int) -> list[Stated]:
    """An episode's records before an offset, in order."""
    return [Stated(*row) for row in log.db.execute(BEFORE, (episode, offset))]


# ── Messages ─────────────────────────────────────────────────────────────────────────────────


def messages(log: SqliteLog) -> Iterator[MessageRow]:
    """Every message as it lies in this file in order, sealed where it is sealed."""
    return map(MessageRow._make, log.db.execute(MESSAGES))


def says_where_messages_lie(log: SqliteLog) -> bool:
    """Whether the log notes where its messages lie on Kafka."""
    return log.db.execute(HAS_LAIN).fetchone() is not None


def messages_on_kafka(log: SqliteLog) -> Iterator[MessageRow]:
    """Every message in order, with its place on Kafka where it has one."""
    return map(MessageRow._make, log.db.execute(LAIN))


def message_offsets(log: SqliteLog) -> Iterator[int]:
    """The offsets of all messages, in order."""
    return (offset for (offset,) in log.db.execute("select offset from messages order by 1"))
