"""The scopes of memories on a log, and the versions that were made in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

FIRST = """
select kind, body from records where offset in (
  select min(offset) from records where kind in ('problem.admitted', 'reflected', 'series.opened')
  group by kind, json_extract(body, '$.scope'))
"""
VERSION = "select offset from records where episode = ? and address = 'version'"
LEARNED = """
select offset from records where topic = 'learning' and offset <= ?1 and (
  (episode >= 'b/' || ?2 || '/' and episode < 'b/' || ?2 || '0')
  or (episode >= 'n/' || ?2 || '/' and episode < 'n/' || ?2 || '0')
  or (kind in ('reflected', 'graded', 'trace.taken') and json_extract(body, '$.scope') = ?2)
  or kind = 'episode.adopted')
"""


def made_at(log: SqliteLog, learning: str) -> int | None:
    """The offset of the memory version that a learning episode made, if it made one."""
    row = log.db.execute(VERSION, (learning,)).fetchone()
    return None if row is None else int(row[0])


def learned_upto(log: SqliteLog, scope: str, upto: int) -> set[int]:
    """The offsets of all that a scope's memory was made of, up to one."""
    return {offset for (offset,) in log.db.execute(LEARNED, (upto, scope))}


def first_of_each(log: SqliteLog) -> Iterator[Event]:
    """The first admission, reflection and series of each scope; what this build cannot read is left out."""
    for kind, body in log.db.execute(FIRST):
        try:
            event = decode(kind, body)
        except BadEvent:
            continue
        yield event
