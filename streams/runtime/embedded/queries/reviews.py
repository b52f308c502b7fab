"""What the review queue is made of: answers, questions to people, and what people and graders said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from schemas.events.codec import decode
from schemas.events.learning import Graded, ProblemForgotten
from schemas.written import feedback_of
from streams.runtime.embedded.queries.conditions import IS_CLOSED, IS_TAKEN_OUT

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

NEWEST = 1 << 62
VOTED = """
select json_object('votes', json_extract(v.body, '$.votes'), 'of', json_extract(v.body, '$.of'))
  from records v where v.episode = c.episode and v.kind = 'voted' order by v.offset desc limit 1
"""
CLOSED = f"""
select a.offset, c.episode, c.at_ms, a.body, o.body, c.body, ({VOTED})
  from records a
  join records c on c.episode = a.episode and c.address = 'closed'
  left join records o on o.episode = a.episode and o.address = 'opened'
  where a.address = 'admitted' and a.offset < :before {{one}} order by a.offset desc
"""
ASKED = f"""
select a.offset, q.episode, q.at_ms, a.body, o.body, q.body, null
  from records a
  join records q on q.episode = a.episode and q.address >= 'asked.' and q.address < 'asked/'
  left join records o on o.episode = a.episode and o.address = 'opened'
  where a.address = 'admitted' and a.offset < :before {{one}}
  and not {IS_CLOSED}
  and not exists (select 1 from records r where r.episode = a.episode
    and r.address = json_extract(q.body, '$.address'))
  and not {IS_TAKEN_OUT}
  order by a.offset desc, q.offset
"""
# Feedback is what anybody put on its topic. What nobody can read has a dead letter, and must not fail a question here;
# SQLite takes bytes for JSON that are no UTF-8.
REPLIED = "select value from messages where topic = 'feedback' and instr(value, cast('\"review\"' as blob))"
SPOKEN_OF = """
select distinct cast(json_extract(cast(value as text), '$.episode') as blob) from messages
  where topic = 'feedback' and json_valid(cast(value as text))
  and json_extract(cast(value as text), '$.episode') is not null
"""
SAID_OF = """
select value from messages where topic = 'feedback' and json_valid(cast(value as text))
  and json_extract(cast(value as text), '$.episode') = ? order by offset
"""
GRADES = (
    "select address, kind, body from records where episode = ? and kind = 'graded' order by offset"
)
FORGOTTEN = "select kind, body from records where episode >= 'n/' and episode < 'n0' and kind = 'problem.forgotten'"


class ToReview(NamedTuple):
    """An answer, or a question to a person, with its episode; bodies are JSON as they were recorded."""

    offset: int
    """Of its episode's admission."""
    episode: str
    at_ms: int
    """When it closed or asked, Unix milliseconds."""
    admitted: str
    opened: str | None
    body: str
    """The closing, or the question."""
    voted: str | None
    """The last vote on an answer, as ``votes`` and ``of``."""


def closed(log: SqliteLog, before: int, episode: str | None = None) -> Iterator[ToReview]:
    """Closed episodes that were admitted before an offset, newest first; only one, if it is named."""
    return _rows(log, CLOSED, before, episode)


def asked(log: SqliteLog, before: int, episode: str | None = None) -> Iterator[ToReview]:
    """Questions to people that open episodes wait with, newest first; of one episode, if it is named."""
    return _rows(log, ASKED, before, episode)


def _rows(log: SqliteLog, query: str, before: int, episode: str | None) -> Iterator[ToReview]:
    one = "" if episode is None else "and a.episode = :episode"
    for row in log.db.execute(query.format(one=one), {"before": before, "episode": episode}):
        yield ToReview(*row)


def replied(log: SqliteLog) -> set[tuple[str, str]]:
    """Episodes and addresses of the questions that people answered."""
    found = set[tuple[str, str]]()
    for (value,) in log.db.execute(REPLIED):
        with suppress(ValidationError):
            said = feedback_of(bytes(value))
            if said.episode is not None and said.review is not None:
                found.add((said.episode, said.review))
    return found


def spoken_of(log: SqliteLog) -> set[str]:
    """The episodes that feedback names."""
    found = set[str]()
    for (episode,) in log.db.execute(SPOKEN_OF):
        with suppress(UnicodeDecodeError):
            found.add(bytes(episode).decode())
    return found


def said_of(log: SqliteLog, episode: str) -> list[bytes]:
    """What feedback says of one episode's answer, in the order of the log."""
    return [bytes(value) for (value,) in log.db.execute(SAID_OF, (episode,))]


def grades_of(log: SqliteLog, episode: str) -> dict[str, Graded]:
    """An episode's grades by address, in the order of the log."""
    found = log.db.execute(GRADES, (episode,)).fetchall()
    events = {address: decode(kind, body) for address, kind, body in found}
    return {address: event for address, event in events.items() if isinstance(event, Graded)}


def forgotten(log: SqliteLog) -> set[tuple[str, str]]:
    """Domain and id of the problems that a person had forgotten."""
    events = [decode(kind, body) for kind, body in log.db.execute(FORGOTTEN)]
    return {
        (event.domain, event.problem_id) for event in events if isinstance(event, ProblemForgotten)
    }
