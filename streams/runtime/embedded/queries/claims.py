"""Claims of partitions, and the records that were written under them or need none."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

# A claim is in force from its own record on, and until the next one of the same partition.
CLAIMS = """
select offset, topic, partition, episode, address from records where kind = 'partition.claimed'
  order by offset
"""
WORKED_ON = "select 1 from records where epoch > 0 or kind not in ({}) limit 1"
"""Also those under the first claim of a partition on Kafka, whose epoch is 0."""
CUT_CASES = """
select 1 from records where kind = 'trace.taken'
  and not exists (select 1 from records where kind = 'series.opened') limit 1
"""
"""Who takes a case in announces its series with it: without any the case was cut out of a log."""
SPANS = """
select topic, partition, epoch, min(offset), max(offset) from records
  where epoch > 0 group by 1, 2, 3
"""
OUTSIDE = """
select episode, address, epoch from records
  where topic = ? and partition = ? and epoch = ? and (offset <= ? or offset >= ?) order by offset
"""
HAS_PLACES = "select 1 from sqlite_master where name = 'places'"
"""An import from Kafka notes there where answers lie."""
# A worker on Kafka names itself and the time, one on this file the number of its claim.
OF_KAFKA = """
select 1 from records where episode >= 'w/' and episode < 'w0' and address glob 'claimed.*[^0-9]*' limit 1
"""
HELD = "select topic, partition, epoch, worker from claims order by 1, 2"
UNCLAIMED = """
select topic, partition, episode, address, kind from records
  where epoch = 0 and kind not in ({}) order by offset
"""
ASIDE = """
select episode, address, partition from records
  where epoch = 0 and partition != 0 and kind != 'partition.claimed' order by offset
"""


class Claim(NamedTuple):
    """The record of a claim."""

    offset: int
    topic: str
    partition: int
    episode: str
    address: str


class Held(NamedTuple):
    """The latest claim of a partition: its epoch, and whose it is."""

    topic: str
    partition: int
    epoch: int
    worker: str


class Span(NamedTuple):
    """The first and last offset of what was written under one claim."""

    topic: str
    partition: int
    epoch: int
    first: int
    last: int


class Outside(NamedTuple):
    """A record that stands where its claim was not in force."""

    episode: str
    address: str
    epoch: int


class Unclaimed(NamedTuple):
    """A record that was written under no claim."""

    topic: str
    partition: int
    episode: str
    address: str
    kind: str


class Aside(NamedTuple):
    """A command that lies on another partition than the first."""

    episode: str
    address: str
    partition: int


def claims(log: SqliteLog) -> Iterator[Claim]:
    """The records of all claims, in order."""
    return map(Claim._make, log.db.execute(CLAIMS))


def held(log: SqliteLog) -> list[Held]:
    """The latest claim of each partition, by topic and partition."""
    return [Held(*row) for row in log.db.execute(HELD)]


def is_imported(log: SqliteLog) -> bool:
    """Whether the log was brought in from Kafka."""
    return log.db.execute(HAS_PLACES).fetchone() is not None


def is_of_kafka(log: SqliteLog) -> bool:
    """Whether workers on Kafka claimed what is on the log: it is a copy, whose partitions nobody here works on."""
    return log.db.execute(OF_KAFKA).fetchone() is not None


def is_worked_on(log: SqliteLog, free: Collection[str]) -> bool:
    """Whether there is a record under a claim, or of a kind that is not ``free`` of one."""
    # Kinds are bound one by one: SQLite has no lists, and names are never put into a query's text.
    query = WORKED_ON.format(",".join("?" * len(free)))
    return log.db.execute(query, (*free,)).fetchone() is not None


def has_cut_cases(log: SqliteLog) -> bool:
    """Whether there are cases from other tools, and no series that one could be of."""
    return log.db.execute(CUT_CASES).fetchone() is not None


def spans(log: SqliteLog) -> list[Span]:
    """Where the records under each claim begin and end."""
    return [Span(*row) for row in log.db.execute(SPANS)]


def outside(log: SqliteLog, span: Span, begun: int, over: int) -> Iterator[Outside]:
    """Records under a claim that do not stand between two offsets, in order."""
    where = (span.topic, span.partition, span.epoch, begun, over)
    return map(Outside._make, log.db.execute(OUTSIDE, where))


def unclaimed(log: SqliteLog, free: Collection[str]) -> Iterator[Unclaimed]:
    """Records under no claim whose kind is not ``free`` of one, in order."""
    query = UNCLAIMED.format(",".join("?" * len(free)))
    return map(Unclaimed._make, log.db.execute(query, (*free,)))


def aside(log: SqliteLog) -> Iterator[Aside]:
    """Commands that do not lie on the first partition, in order."""
    return map(Aside._make, log.db.execute(ASIDE))
