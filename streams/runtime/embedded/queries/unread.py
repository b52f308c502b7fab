"""Replies of models that were not read at once, with what was noted of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

REPLIES = """
with noted as (
  select topic, episode, json_extract(body, '$.source') address, kind = 'reply.reparsed' again,
    json_extract(body, '$.reason') reason, json_extract(body, '$.parse') parse, offset place
  from records where kind = 'reply.reparsed'
    or json_extract(body, '$.parse') in ('fallback', 'unreadable', 'defaulted'))
select c.episode, c.address, json_extract(c.body, '$.asked'), json_extract(c.body, '$.finish'),
  json_extract(c.body, '$.text'), max(n.again), max(n.reason), max(n.parse), json_extract(c.body, '$.detail')
from records c left join noted n on n.topic = c.topic and n.episode = c.episode and n.address = c.address
where c.kind = 'completed' and (n.place is not null or json_extract(c.body, '$.finish') = 'length'
  or instr(lower(json_extract(c.body, '$.text')), '<think'))
group by c.offset order by c.offset"""


class Reply(NamedTuple):
    """A reply: where it stands, what was asked, how it ended, its text, and what was noted of reading it."""

    episode: str
    address: str
    asked: str
    finish: str
    text: str
    again: int | None
    """1 where the model was asked again."""
    reason: str | None
    parse: str | None
    """How it was read in the end, where that was not at once."""
    detail: str | None
    """What was said in its stead, where there is none."""


def replies(log: SqliteLog) -> Iterator[Reply]:
    """Replies that were noted to be hard to read, were cut at their length or hold a tag of thinking, in order."""
    return map(Reply._make, log.db.execute(REPLIES))
