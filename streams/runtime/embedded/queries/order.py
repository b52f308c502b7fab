"""The places of records: which kinds stand where, and what stands before what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

SORT = "substr(episode, 1, 2)"
# Addresses hold numbers and names that differ from log to log. By their shapes they are few, and
# `verify` knows each of them.
HEAD = (
    "case when address glob '[0-9]*' and address not glob '*[^0-9.]*' "
    "and address not glob '*..*' and address not glob '*.' then '#' "
    "when instr(address, '.') then substr(address, 1, instr(address, '.')) || '*' else address end"
)
"""A number's sort, else the address; of what follows its first dot only that there is something."""
SHAPES = f"select topic, kind, {SORT}, {HEAD}, count(*) from records group by 1, 2, 3, 4 order by min(offset)"
OF_A_SHAPE = (
    "select episode, address from records "
    f"where topic = ? and kind = ? and {SORT} = ? and {HEAD} = ? order by offset"
)
OF_A_KIND = "select topic, episode, address, body from records where kind = ? order by offset"
# Whoever proves a log reads all of it. What can be decided in SQL is counted there, and only what stands the wrong
# way round becomes a row in Python.
BEGINNINGS = """
select episode, sum(address = 'admitted'), sum(address = 'opened'), sum(address = 'closed'),
    sum(address = 'reflected'), sum(address = 'batch'), sum(address = 'series'), sum(address = 'taken'),
    min(address), sum(address != 'reflected' and address not glob 'graded.*' and address not glob 'adopted.*')
  from records where episode >= 'a' and episode < 't' group by episode
"""
ORDER = """
select episode, a, o, n, m, c, v from (
  select episode,
    max(case when address in ('admitted', 'batch') then offset end) a,
    max(case when address = 'opened' then offset end) o,
    min(case when address glob '[0-9]*' then offset end) n,
    max(case when address glob '[0-9]*' then offset end) m,
    max(case when address = 'closed' then offset end) c,
    max(case when address = 'version' then offset end) v
  from records where episode >= 'b/' and episode < 't' group by episode)
  where a > o or a > n or o > n or o > c or m > c or m > v or c > v
"""
GAPS = """
select offset, episode, address, before from (
  select offset, episode, address, lag(offset, 1, 0) over (order by offset) before from main.records)
  where offset != before + 1
"""
MESSAGE_GAPS = GAPS.replace("main.records", "main.messages").replace(
    "episode, address", "topic, key"
)


class Shape(NamedTuple):
    """Records of one kind that stand in one sort of place, and how many there are."""

    topic: str
    kind: str
    sort: str
    """What the names of their episodes begin with, such as ``p/``."""
    head: str
    """``#`` for a numbered address, else the address, with ``*`` for what follows its first dot."""
    records: int


class Standing(NamedTuple):
    """A record with its topic; its body is JSON."""

    topic: str
    episode: str
    address: str
    body: str


class Beginnings(NamedTuple):
    """How many records an episode has at each address that begins or ends something, and of its own work."""

    episode: str
    admitted: int
    opened: int
    closed: int
    reflected: int
    batch: int
    series: int
    taken: int
    first: str
    """The lowest of its addresses."""
    own: int
    """Those that are not what it left to learn from, nor what was said of it afterwards."""


class Disordered(NamedTuple):
    """The offsets in an episode some of which stand the wrong way round; none where it has no such record."""

    episode: str
    begun: int | None
    """Of its admission, or of its batch."""
    opened: int | None
    first: int | None
    last: int | None
    """Of its first and last numbered record."""
    closed: int | None
    version: int | None


class Gap(NamedTuple):
    """A record (or message, by topic and key) before which offsets are missing, and the offset before it."""

    offset: int
    episode: str
    address: str
    before: int


def shapes(log: SqliteLog) -> list[Shape]:
    """Which kinds of records stand where, in the order in which the log shows them first."""
    return [Shape(*row) for row in log.db.execute(SHAPES)]


def of_shape(log: SqliteLog, shape: Shape) -> Iterator[tuple[str, str]]:
    """Episode and address of the records of a shape, in order."""
    return iter(log.db.execute(OF_A_SHAPE, shape[:4]))


def of_kind(log: SqliteLog, kind: str) -> Iterator[Standing]:
    """The records of a kind, in order."""
    return map(Standing._make, log.db.execute(OF_A_KIND, (kind,)))


def beginnings(log: SqliteLog) -> Iterator[Beginnings]:
    """What each episode has of what comes first and last."""
    return map(Beginnings._make, log.db.execute(BEGINNINGS))


def disordered(log: SqliteLog) -> list[Disordered]:
    """Episodes with a record that stands before what it follows from."""
    return [Disordered(*row) for row in log.db.execute(ORDER)]


def gaps(log: SqliteLog) -> Iterator[Gap]:
    """Records before which offsets are missing."""
    return map(Gap._make, log.db.execute(GAPS))


def message_gaps(log: SqliteLog) -> Iterator[Gap]:
    """Messages before which offsets are missing."""
    return map(Gap._make, log.db.execute(MESSAGE_GAPS))
