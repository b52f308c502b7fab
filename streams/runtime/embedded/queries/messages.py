"""What lies on the topics of problems, answers, feedback and dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from schemas.written import readable
from streams.runtime.embedded.queries.conditions import span

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

END = 1 << 62
"""Behind every offset."""
VALUE = "select value from messages where topic = ? and key = ?"
FOUND = "select headers, value from messages where topic = ? and key = ?"
# A message bears marks if none of those that are wanted is missing among its headers.
BEARING = """
select headers, value from messages m where topic = ? and not exists (
  select 1 from json_each(?) w where not exists (
    select 1 from json_each(m.headers) h where h.key = w.key and h.value = w.value)) order by offset limit 1
"""
RUNS = "select key from messages where topic = 'problems' and key >= ? and key < ? limit 2"
PUT = (
    "select key, value from messages where topic = 'problems' and key >= ? and key < ? order by key"
)
FIRST_PUT = """
select key, value from messages where topic = 'problems' and key >= ? and key < ? order by offset
"""
FOREIGN = """
select offset, value from messages
  where topic = 'problems' and offset > ? and (key < 'p/' or key >= 'p0') order by offset
"""
QUEUED = "select 1 from messages where topic = 'problems' and instr(key, ?) limit 1"
COUNT = "select count(*) from messages where topic = ? and offset > ? and offset <= ?"
LAST = "select coalesce(max(offset), 0) from messages where topic = ?"
BEFORE_LAST = "select offset from messages where topic = ? order by offset desc limit 1 offset ?"
AT = "select topic, key, at_ms from messages where offset = ?"
BEFORE_TIME = """
select coalesce(min(case when at_ms >= ? then offset end) - 1, max(offset)) from messages
  where topic = ?
"""


class Message(NamedTuple):
    """A message's headers and value."""

    headers: dict[str, Any]
    value: bytes


def as_bytes(value: str | bytes) -> bytes:
    """A value as it was put: other tools that write SQLite put text."""
    return value if isinstance(value, bytes) else value.encode()


# ── One message ──────────────────────────────────────────────────────────────────────────────


def value_of(log: SqliteLog, topic: str, key: str) -> bytes | None:
    """The value of a topic's message with this key, if it is there."""
    row = log.db.execute(VALUE, (topic, key)).fetchone()
    return None if row is None else as_bytes(row[0])


def message_at(log: SqliteLog, offset: int) -> tuple[str, str, int] | None:
    """Topic, key and time of the message at an offset, if there is one."""
    found: tuple[str, str, int] | None = log.db.execute(AT, (offset,)).fetchone()
    return found


def find(log: SqliteLog, topic: str, key: str) -> Message | None:
    """A topic's message with this key, if it is there."""
    return _message(log.db.execute(FOUND, (topic, key)).fetchone())


def bearing(log: SqliteLog, topic: str, marks: Iterable[tuple[str, str]]) -> Message | None:
    """The first message of a topic that bears all of these headers."""
    return _message(log.db.execute(BEARING, (topic, orjson.dumps(dict(marks)).decode())).fetchone())


def _message(row: tuple[str, str | bytes] | None) -> Message | None:
    return None if row is None else Message(orjson.loads(row[0]), as_bytes(row[1]))


def values(log: SqliteLog, topic: str, after: int = 0) -> Iterator[tuple[int, bytes]]:
    """Offset and value of a topic's messages behind an offset, in order."""
    query = "select offset, value from messages where topic = ? and offset > ? order by offset"
    for offset, value in log.db.execute(query, (topic, after)):
        yield offset, as_bytes(value)


# ── Problems ─────────────────────────────────────────────────────────────────────────────────


def runs_of_problem(log: SqliteLog, episode: str) -> list[str]:
    """Episodes on the topic of the same problem as this one's, itself among them; two at most."""
    of_problem = span(f"{episode.rpartition('/')[0]}/")
    return [key for (key,) in log.db.execute(RUNS, of_problem)]


def text_put(log: SqliteLog, episode: str) -> str | None:
    """The text of the same problem as this episode's, as it was put for any episode."""
    put = _readable(log, PUT, episode)
    return None if put is None else put[1]


def first_put(log: SqliteLog, episode: str) -> tuple[str, str] | None:
    """The episode for which the same problem as this one's was put first, and its text as it was put then."""
    return _readable(log, FIRST_PUT, episode)


def _readable(log: SqliteLog, sql: str, episode: str) -> tuple[str, str] | None:
    # What no worker can read is passed over: it will be refused, and takes nobody's id.
    for key, value in log.db.execute(sql, span(f"{episode.rpartition('/')[0]}/")):
        if (put := readable(as_bytes(value))) is not None:
            return key, put.problem
    return None


def foreign_problems(log: SqliteLog, after: int) -> Iterator[tuple[int, bytes]]:
    """Offset and value of problems behind an offset whose keys are no episodes: other clients put them."""
    for offset, value in log.db.execute(FOREIGN, (after,)):
        yield offset, as_bytes(value)


def is_queued(log: SqliteLog, part: str) -> bool:
    """Whether a problem was put whose episode's name has this part."""
    return log.db.execute(QUEUED, (part,)).fetchone() is not None


# ── Places on a topic ────────────────────────────────────────────────────────────────────────


def count(log: SqliteLog, topic: str, after: int = 0, upto: int = END) -> int:
    """How many messages a topic has, behind an offset and up to another."""
    return int(log.db.execute(COUNT, (topic, after, upto)).fetchone()[0])


def last(log: SqliteLog, topic: str) -> int:
    """The offset of a topic's last message; 0 before the first."""
    return int(log.db.execute(LAST, (topic,)).fetchone()[0])


def before_last(log: SqliteLog, topic: str, number: int) -> int:
    """The offset behind which the last ``number`` messages of a topic lie; 0 where there are no more."""
    row = log.db.execute(BEFORE_LAST, (topic, number)).fetchone()
    return 0 if row is None else int(row[0])


def before_time(log: SqliteLog, topic: str, at_ms: int) -> int:
    """The offset behind which a topic's messages from a moment on lie, in Unix milliseconds.

    As on Kafka it is before the first one of that moment or later, and so all behind that follow, whatever a clock
    says of them; the end of a topic that has none.
    """
    found = log.db.execute(BEFORE_TIME, (at_ms, topic)).fetchone()[0]
    return 0 if found is None else int(found)
