"""One problem on a log: what is asked of it, what rests on it, and which problems wait or were refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from schemas.events.base import Event
from schemas.events.codec import decode
from schemas.events.episode import ProblemAdmitted
from schemas.events.traces import TraceTaken
from schemas.identity import canonical
from streams.runtime.embedded.queries.conditions import runs
from streams.runtime.embedded.queries.messages import as_bytes

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

BEGUN = """
select episode, kind, body from records where kind in ('problem.admitted', 'trace.taken') and instr(episode, ?)
"""
BEGUN_OF = """
select kind, body from records where episode >= ? and episode < ? and address in ('admitted', 'taken')
"""
PUT_OF = "select value from messages where topic = 'problems' and key >= ? and key < ?"
RECORDS = "select count(*) from records where episode >= ? and episode < ?"
COMPLETIONS = f"{RECORDS} and kind = 'completed'"
# Anybody may put anything on these topics: what is no JSON speaks of no problem, and must not fail the question.
SAID_OF = """
select count(*) from messages where topic = ? and json_valid(cast(value as text))
  and json_extract(cast(value as text), '$.domain') = ? and json_extract(cast(value as text), '$.problem_id') = ?
"""
QUOTED = "select count(*) from records where topic = 'learning' and episode like 'b/%' and instr(body, ?)"
IS_ADMITTED = """
select 1 from records where episode >= ? and episode < ? and address = 'admitted' limit 1
"""
IS_PUT = "select 1 from messages where topic = 'problems' and key >= ? and key < ? limit 1"
TAKEN = """
select max(coalesce((select offset from consumers where name = 'intake' and topic = 'problems'), 0),
  coalesce((select max(json_extract(body, '$.offset')) from records where address = 'admitted'), 0))
"""
# A problem that was refused has a dead letter, whose key begins with its offset.
UNADMITTED = """
select key, value from messages where topic = 'problems' and offset <= ? and offset not in (
    select json_extract(body, '$.offset') from records where address = 'admitted')
  and not exists (select 1 from messages d where d.topic = 'dead-letters'
    and d.key >= 'problems/' || messages.offset || '/' and d.key < 'problems/' || messages.offset || '0')
  order by offset
"""
REFUSED = """
select count(*) from messages where topic = 'dead-letters' and key >= 'problems/' and key < 'problems0'
"""
AT = "select value from messages where topic = 'problems' and offset = ?"
UNASKED = """
select key, value from messages where topic = 'answers' and not exists (
  select 1 from records where episode = key and address = 'closed' and kind = 'episode.closed')
  order by offset
"""
OF_EPISODE = "select offset from messages where topic in ('answers', 'problems') and key = ?"


class Holds(NamedTuple):
    """What a log holds of a problem: records, calls, feedback, answers, and learning that names it."""

    records: int
    completions: int
    feedback: int
    answers: int
    learning: int


def begun(log: SqliteLog, part: str) -> Iterator[tuple[str, ProblemAdmitted | TraceTaken]]:
    """Episodes whose names have this part, with how they began."""
    for episode, kind, body in log.db.execute(BEGUN, (part,)):
        event = decode(kind, body)
        assert isinstance(event, ProblemAdmitted | TraceTaken)
        yield episode, event


def begun_of(log: SqliteLog, domain: str, problem_id: str) -> list[Event]:
    """How the episodes of a problem began, and the cases of it that were taken in."""
    rows = log.db.execute(BEGUN_OF, runs(domain, problem_id))
    return [decode(kind, body) for kind, body in rows]


def put_of(log: SqliteLog, domain: str, problem_id: str) -> list[bytes]:
    """A problem as it was put, once for each of its episodes, be they admitted or not."""
    return [as_bytes(value) for (value,) in log.db.execute(PUT_OF, runs(domain, problem_id))]


def holds(log: SqliteLog, domain: str, problem_id: str) -> Holds:
    """What the log holds of a problem, whoever forgot it."""
    span = runs(domain, problem_id)
    # As JSON has it: learning quotes a problem's name inside of its records' bodies.
    quoted = canonical(f"{domain}/{problem_id}").decode()
    asked = (
        (RECORDS, span),
        (COMPLETIONS, span),
        (SAID_OF, ("feedback", domain, problem_id)),
        (SAID_OF, ("answers", domain, problem_id)),
        (QUOTED, (quoted,)),
    )
    return Holds(*(int(log.db.execute(query, values).fetchone()[0]) for query, values in asked))


def is_admitted(log: SqliteLog, domain: str, problem_id: str) -> bool:
    """Whether a problem has an episode."""
    return log.db.execute(IS_ADMITTED, runs(domain, problem_id)).fetchone() is not None


def is_put(log: SqliteLog, domain: str, problem_id: str) -> bool:
    """Whether a problem has an episode, or waits for one."""
    span = runs(domain, problem_id)
    return is_admitted(log, domain, problem_id) or bool(log.db.execute(IS_PUT, span).fetchone())


def taken_upto(log: SqliteLog) -> int:
    """The offset on the topic of problems up to which they were read."""
    return int(log.db.execute(TAKEN).fetchone()[0])


def unadmitted(log: SqliteLog, upto: int) -> list[tuple[str, bytes]]:
    """Key and value of problems up to an offset that were neither admitted nor refused, in order."""
    return [(key, as_bytes(value)) for key, value in log.db.execute(UNADMITTED, (upto,))]


def refused(log: SqliteLog) -> int:
    """How many problems were refused."""
    return int(log.db.execute(REFUSED).fetchone()[0])


def put_at(log: SqliteLog, offset: int) -> bytes | None:
    """The problem that was put at an offset, if there is one."""
    row = log.db.execute(AT, (offset,)).fetchone()
    return None if row is None else as_bytes(row[0])


def unasked(log: SqliteLog) -> Iterator[tuple[str, bytes]]:
    """Episode and value of answers whose episodes were never closed, in order."""
    for episode, value in log.db.execute(UNASKED):
        yield episode, as_bytes(value)


def messages_of(log: SqliteLog, episode: str) -> set[int]:
    """The offsets of an episode's answer and of its problem, if it was put by this name."""
    return {offset for (offset,) in log.db.execute(OF_EPISODE, (episode,))}
