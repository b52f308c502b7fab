"""Dead letters: what was refused on its way in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from streams.runtime.embedded.queries.counts import positions
from streams.runtime.embedded.queries.messages import as_bytes

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

TOPIC = "dead-letters"
CUT = "__metalogue.cut."
"""Headers of a letter of which only the first bytes were kept begin so."""
ALL = """
select row_number() over (order by offset), offset, key, at_ms, headers, value
  from messages where topic = 'dead-letters' order by offset
"""
NUMBER = """
select count(*) from messages where topic = 'dead-letters'
  and offset <= (select offset from messages where topic = 'dead-letters' and key = ?)
"""
IS_CUT = f"""
select 1 from messages where topic = 'dead-letters' and key = ?
  and json_extract(headers, '$."{CUT}bytes"') is not null
"""


class Refused(NamedTuple):
    """One dead letter. ``number`` counts from 1 in the order in which they were refused."""

    number: int
    offset: int
    key: str
    at_ms: int
    headers: dict[str, Any]
    value: bytes
    sent_on: bool
    """Whether it was replayed since."""


def letters(log: SqliteLog) -> Iterator[Refused]:
    """Every dead letter, oldest first."""
    # A replay remembers how far it sent letters on as any reader remembers its position.
    replayed = (each for each in positions(log) if each.topic == TOPIC)
    sent_on = {each.offset for each in replayed if each.name.startswith("dlq/")}
    for number, offset, key, at_ms, headers, value in log.db.execute(ALL):
        said, raw = orjson.loads(headers), as_bytes(value)
        yield Refused(number, offset, key, at_ms, said, raw, offset in sent_on)


def number_of(log: SqliteLog, key: str) -> int:
    """The number of the dead letter with this key; 0 if there is none."""
    return int(log.db.execute(NUMBER, (key,)).fetchone()[0])


def is_cut(log: SqliteLog, key: str) -> bool:
    """Whether only the first bytes of the letter with this key were kept."""
    return log.db.execute(IS_CUT, (key,)).fetchone() is not None
