"""Closings compared with the records that they are stamped with: models, usage and times as they were written."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.asking import Diverged
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import EpisodeClosed
from schemas.stamps import is_stamped, stamp_of, stamps_of
from streams.replay.left_out import Leftovers
from streams.runtime.embedded.log import SqliteLog

CLOSINGS = """
select episode, offset, at_ms, body from records
  where kind = 'episode.closed' and address = 'closed' and (?1 is null or episode = ?1) order by offset
"""
BEFORE = "select address, at_ms, body, offset from records where episode = ? and offset < ? order by offset"
RECORDS = "select count(*) from records where ?1 is null or episode = ?1"
MESSAGES = "select count(*) from messages"


def restamped(log: SqliteLog, left: Leftovers, only: str | None = None) -> Iterator[Diverged]:
    """Closings whose stamps are not those of the records before them."""
    held, timed = 0, log.counter("timed")
    for episode, offset, at_ms, body in log.db.execute(CLOSINGS, (only,)).fetchall():
        try:
            closed = decode("episode.closed", body)
        except BadEvent:
            continue  # it is named as no event
        if not isinstance(closed, EpisodeClosed):
            continue
        if closed.stamps is None:
            left.add("closings", "not stamped: nothing says their models, usage and times again")
            continue
        rows = log.db.execute(BEFORE, (episode, offset)).fetchall()
        if rows and rows[0][3] <= timed:
            left.add("closings", "an earlier build read their records here, without their times")
            continue
        records = [row[:3] for row in rows]
        held += 1 + sum(is_stamped(address) for address, _, _ in records)
        found = stamps_of((stamp_of(*record) for record in records), at_ms)
        if found != closed.stamps:
            now = f"{found} of its records as they stand: a model, a time or what was spent"
            yield Diverged(episode, "closed", "stamps", closed.stamps, now)
    (records,) = log.db.execute(RECORDS, (only,)).fetchone()
    left.add("times of records", "no closing is stamped with them", records - held)
    (messages,) = log.db.execute(MESSAGES).fetchone()
    many = messages if only is None else 0
    left.add("messages' times, headers and problems' keys", "they stand there once", many)
