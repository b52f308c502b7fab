"""The hash chains of a log: one for each partition of a topic, over its records as they are stored.

Nothing of them stands on the log, so any log has them, those of earlier builds too. A record is hashed with its place
and every column, its body byte for byte. In one file its offset counts among them. An import from Kafka numbers records
by itself, differently on every machine: there they go without, and messages by where they lie on the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

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
    # Evidence says of itself how its log numbered, since a part of one has no claims to tell it by.
    own = is_numbered(log) if numbered is None else numbered
    counts: dict[str, int] = {}
    for table, offset, place, chain, name, record in _rows(log, own):
        counts[chain] = counts.get(chain, 0) + 1
        yield Entry(table, offset, Link(chain, counts[chain], name, record.hex(), place))


Said: TypeAlias = tuple[str, int, int | None, str, str, bytes]
"""Table, offset there, place, chain, name, digest."""


def _rows(log: SqliteLog, own: bool) -> Iterator[Said]:
    for row in rows.all_records(log):
        place, chain = row.offset if own else None, f"{row.topic}/{row.partition}"
        record = digest_of(("record", place, row.partition, row.topic, *row[3:]))
        yield "records", row.offset, place, chain, f"{row.episode} at {row.address}", record
    lain = not own and rows.says_where_messages_lie(log)
    for message in rows.messages_on_kafka(log) if lain else rows.messages(log):
        part, place = message.partition, message.place
        if not own and not lain:  # an import of an earlier build: nobody knows where on the broker
            part, place = "-", None
        raw = message.value.encode() if isinstance(message.value, str) else message.value
        record = digest_of(("message", place, part, *message[4:8], raw))
        chain, name = f"{message.home}/{part}", f"{message.topic} {message.key}"
        yield "messages", message.offset, place, chain, name, record


def heads_of(links: Iterable[Link]) -> list[Head]:
    """The heads of all chains, with one digest for all of them last."""
    # In one pass and with one digest for each chain: a log may be larger than memory.
    ends: dict[str, tuple[Link, bytes]] = {}
    for link in links:
        before = ends.get(link.chain)
        at = begun(link.chain) if before is None else before[1]
        ends[link.chain] = link, joined(at, bytes.fromhex(link.record))
    # By topic and number, so that partition 10 stands behind 2 for whoever compares two looks.
    placed: list[tuple[tuple[str, int, str], Head]] = []
    for chain, (link, at) in ends.items():
        topic, _, partition = chain.rpartition("/")
        number = int(partition) if partition.isdecimal() else -1
        place = (topic, number, partition)
        placed.append((place, Head(chain, link.count, at.hex(), link.offset)))
    heads = [head for _, head in sorted(placed, key=itemgetter(0))]
    return [*heads, together(heads)] if heads else []
