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


def first_of_each(log: SqliteLog) -> Iterator[Event]:
    """The first admission, reflection and series of each scope; what this build cannot read is left out."""
    for kind, body in log.db.execute(FIRST):
        try:
            event = decode(kind, body)
        except BadEvent:
            continue
        yield event
