"""The hash chains of a log: one for each partition of a topic, over its records as they are stored.

Nothing of them stands on the log, so any log has them, those of earlier builds too. A record is hashed with its place
and every column, its body byte for byte. In one file its offset counts among them. An import from Kafka numbers records
by itself, differently on every machine: there they go without, and messages by where they lie on the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from streams.replay.claimed import sort_of
from streams.replay.heads import Head, Link, begun, digest_of, joined, together
from streams.runtime.embedded.lines import HAS_LAIN
from streams.runtime.embedded.log import SqliteLog

RECORDS = """
select offset, topic, partition, epoch, episode, address, kind, at_ms, body from records order by offset
"""
MESSAGES = """
select m.offset, m.topic, 0, m.offset, m.topic, m.key, m.at_ms, m.headers, m.value from messages m order by 1
"""
LAIN = """
select m.offset, coalesce(l.topic, m.topic), coalesce(l.partition, '-'), l.place, m.topic, m.key, m.at_ms,
    m.headers, m.value
  from messages m left join lain l on l.offset = m.offset order by 1
"""


def links_of(log: SqliteLog, *, numbered: bool | None = None) -> Iterator[Link]:
    """Every record and message of a log as a link of its chain, in the order of the log.

    ``numbered``: whether offsets are the log's own; unknown, the log says it.
    """
    own = sort_of(log) != "kafka" if numbered is None else numbered
    counts: dict[str, int] = {}
    for chain, offset, name, record in _digests(log, own):
        counts[chain] = counts.get(chain, 0) + 1
        yield Link(chain, counts[chain], name, record.hex(), offset)


def _digests(log: SqliteLog, own: bool) -> Iterator[tuple[str, int | None, str, bytes]]:
    for offset, topic, partition, *rest in log.db.execute(RECORDS):
        place = offset if own else None
        record = digest_of(("record", place, partition, topic, *rest))
        yield f"{topic}/{partition}", place, f"{rest[1]} at {rest[2]}", record
    lain = not own and log.db.execute(HAS_LAIN).fetchone()
    for row in log.db.execute(LAIN if lain else MESSAGES):
        _, topic, partition, place, *rest, value = row
        if not own and not lain:
            partition, place = "-", None
        raw = value.encode() if isinstance(value, str) else value
        record = digest_of(("message", place, partition, *rest, raw))
        yield f"{topic}/{partition}", place, f"{rest[0]} {rest[1]}", record


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
