"""The scopes of memories on a log, and the versions that were made in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode
from schemas.identity import learning_parts

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

FIRST = """
select kind, body from records where offset in (
  select min(offset) from records where kind in ('problem.admitted', 'reflected', 'series.opened')
  group by kind, json_extract(body, '$.scope'))
"""
VERSION = "select offset from records where episode = ? and address = 'version'"
CLOSINGS = """
select episode, exists (select 1 from records v where v.episode = b.episode and v.address = 'version')
  from records b where address = 'batch' and episode >= 'b/' || ?1 || '/' and episode < 'b/' || ?1 || '0'
"""
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


def closed_again(log: SqliteLog, scope: str) -> str | None:
    """The learning episode in which a scope learns from a batch once more and has no version yet, if there is one."""
    newest: dict[int, tuple[int, str, int]] = {}
    for episode, versioned in log.db.execute(CLOSINGS, (scope,)):
        parts = learning_parts(episode)
        if parts is not None:
            _, batch, revision = parts
            newest[batch] = max(newest.get(batch, (-1, "", 1)), (revision or 0, episode, versioned))
    owed = (
        episode for revision, episode, versioned in newest.values() if revision and not versioned
    )
    return next(owed, None)


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
