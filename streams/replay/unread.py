"""Replies that were not read at once: cut off, asked for again, or refused in the end, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from schemas.spoken import spoken
from streams.runtime.embedded.log import SqliteLog

How: TypeAlias = Literal["cut", "asked again", "refused"]

_REPLIES = """
with noted as (
  select topic, episode, json_extract(body, '$.source') address, kind = 'reply.reparsed' again,
    json_extract(body, '$.reason') reason, json_extract(body, '$.parse') parse, offset place
  from records where kind = 'reply.reparsed'
    or json_extract(body, '$.parse') in ('fallback', 'unreadable', 'defaulted'))
select c.episode, c.address, json_extract(c.body, '$.asked'), json_extract(c.body, '$.finish'),
  json_extract(c.body, '$.text'), max(n.again), max(n.reason), max(n.parse)
from records c left join noted n on n.topic = c.topic and n.episode = c.episode and n.address = c.address
where c.kind = 'completed' and (n.place is not null or json_extract(c.body, '$.finish') = 'length'
  or instr(lower(json_extract(c.body, '$.text')), '<think'))
group by c.offset order by c.offset"""


class Unread(NamedTuple):
    """One reply: where it stands, who was asked with which template, what became of it, its text."""

    episode: str
    at: str
    role: str
    template: str
    how: How
    reason: str
    finish: str
    text: str


def unread(log: SqliteLog) -> Iterator[Unread]:
    """The replies of a log that were not read at once, in the order of the log."""
    for episode, at, asked, finish, text, again, reason, parse in log.db.execute(_REPLIES):
        _, role, template, *_ = f"{asked}  ".split(" ")
        cut = finish == "length" or spoken(text).cut
        if again:
            yield Unread(episode, at, role, template, "asked again", reason or "", finish, text)
        elif parse is not None:
            why = "it was cut off before its end" if cut else f"no form that can be read ({parse})"
            yield Unread(episode, at, role, template, "refused", why, finish, text)
        elif cut:
            yield Unread(episode, at, role, template, "cut", "it ended at its length", finish, text)
