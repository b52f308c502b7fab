"""The hash chains of a log: one for each partition of a topic, over its records as they are stored.

Nothing of them stands on the log, so any log has them, those of earlier builds too. A record is hashed with its place
and every column, its body byte for byte. In one file its offset counts among them. An import from Kafka numbers records
by itself, differently on every machine: there they go without, and messages by where they lie on the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from streams.replay.claimed import sort_of
from streams.replay.heads import Head, Link, begun, digest_of, joined, together
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import rows


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a log with its link: of which table, and at which offset there."""

    table: str
    offset: int
    link: Link


def links_of(log: SqliteLog, *, numbered: bool | None = None) -> Iterator[Link]:
    """Every record and message of a log as a link of its chain, in the order of the log.

    ``numbered``: whether offsets are the log's own; unknown, the log says it.
    """
    return (entry.link for entry in entries_of(log, numbered=numbered))


def is_numbered(log: SqliteLog) -> bool:
    """Whether offsets are a log's own, and no import's."""
    return sort_of(log) != "kafka"


def entries_of(log: SqliteLog, *, numbered: bool | None = None) -> Iterator[Entry]:
    """The same with the rows of the log that they are of."""
    own = is_numbered(log) if numbered is None else numbered
    counts: dict[str, int] = {}
    for table, offset, place, chain, name, record in _both(log, own):
        counts[chain] = counts.get(chain, 0) + 1
        yield Entry(table, offset, Link(chain, counts[chain], name, record.hex(), place))


Said: TypeAlias = tuple[str, int, int | None, str, str, bytes]
"""Table, offset there, place, chain, name, digest."""


def _both(log: SqliteLog, own: bool) -> Iterator[Said]:
    yield from _records(log, own)
    yield from _messages(log, own)


def _records(log: SqliteLog, own: bool) -> Iterator[Said]:
    for row in rows.all_records(log):
        place, chain = row.offset if own else None, f"{row.topic}/{row.partition}"
        record = digest_of(("record", place, row.partition, row.topic, *row[3:]))
        yield "records", row.offset, place, chain, f"{row.episode} at {row.address}", record


def _messages(log: SqliteLog, own: bool) -> Iterator[Said]:
    lain = not own and rows.says_where_messages_lie(log)
    for row in rows.messages_on_kafka(log) if lain else rows.messages(log):
        partition, place = row.partition, row.place
        if not own and not lain:
            partition, place = "-", None
        raw = row.value.encode() if isinstance(row.value, str) else row.value
        record = digest_of(("message", place, partition, *row[4:8], raw))
        chain, name = f"{row.home}/{partition}", f"{row.topic} {row.key}"
        yield "messages", row.offset, place, chain, name, record


def heads_of(links: Iterable[Link]) -> list[Head]:
    """The heads of all chains, with one digest for all of them last."""
    ends: dict[str, tuple[Link, bytes]] = {}
    for link in links:
        before = ends.get(link.chain)
        at = begun(link.chain) if before is None else before[1]
        ends[link.chain] = link, joined(at, bytes.fromhex(link.record))
    heads = [
        Head(chain, link.count, at.hex(), link.offset)
        for chain, (link, at) in sorted(ends.items(), key=_by_place)
    ]
    return [*heads, together(heads)] if heads else []


def _by_place(each: tuple[str, Any]) -> tuple[str, int, str]:
    topic, _, partition = each[0].rpartition("/")
    return topic, int(partition) if partition.isdecimal() else -1, partition
