"""Closings compared with the records that they are stamped with: models, usage and times as they were written."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.asking import Diverged
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import EpisodeClosed
from schemas.stamps import is_stamped, stamp_of, stamps_of
from streams.replay.left_out import Leftovers
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import counts, rows


def restamped(log: SqliteLog, left: Leftovers, only: str | None = None) -> Iterator[Diverged]:
    """Closings whose stamps are not those of the records before them."""
    held, timed = 0, log.counter("timed")
    for episode, offset, at_ms, body in rows.closings(log, only):
        try:
            closed = decode("episode.closed", body)
        except BadEvent:
            continue  # it is named as no event
        if not isinstance(closed, EpisodeClosed):
            continue
        if closed.stamps is None:
            left.add("closings", "not stamped: nothing says their models, usage and times again")
            continue
        # Only those before it: what comes after a closing, such as a grade, it cannot know.
        before = rows.stated_before(log, episode, offset)
        if before and before[0].offset <= timed:
            left.add("closings", "an earlier build read their records here, without their times")
            continue
        records = [each[:3] for each in before]
        held += 1 + sum(is_stamped(address) for address, _, _ in records)
        found = stamps_of([stamp_of(*record) for record in records], at_ms)
        if found != closed.stamps:
            now = f"{found} of its records as they stand: a model, a time or what was spent"
            yield Diverged(episode, "closed", "stamps", closed.stamps, now)
    unheld = counts.records(log, only) - held
    left.add("times of records", "no closing is stamped with them", unheld)
    many = counts.messages(log) if only is None else 0
    left.add("messages' times, headers and problems' keys", "they stand there once", many)
