"""Which episodes a log has, how far they are, and which of them wait for somebody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import orjson

from schemas.events.base import Event
from schemas.events.codec import decode
from schemas.events.episode import ProblemAdmitted
from schemas.events.traces import TraceTaken
from schemas.identity import episode_parts
from schemas.problem import Problem
from streams.runtime.embedded.queries.conditions import (
    IS_CLOSED,
    IS_TAKEN_OUT,
    TIMES_ADOPTED,
    TIMES_PARKED,
    runs,
    span,
)

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

# Anybody may put anything on the topic of answers.
ANSWERED_LAST = """
select key from messages m where topic = 'answers' and exists (select 1 from records where episode = m.key)
  order by offset desc limit 1
"""
OPENED_LAST = (
    "select episode from records where kind = 'episode.opened' order by offset desc limit 1"
)
ADMITTED = f"""
select episode, {IS_CLOSED} from records a where address = 'admitted' and instr(episode, ?) order by offset
"""
TAKEN = """
select episode from records where episode >= 'p/' and episode < 'p0' and address = 'taken'
  and instr(episode, ?) order by offset
"""
# No character is higher than this one, so the span holds every name that begins so.
BEGUN_SO = """
select distinct episode from records where address in ('admitted', 'opened', 'batch', 'taken')
  and episode >= ?1 and episode < ?1 || char(1114111)
"""
BEGUN = """
select 1 from records where kind in ('episode.opened', 'trace.taken', 'batch.closed') limit 1
"""
OPEN_ON = f"""
select 1 from records a where episode = ? and address = 'admitted' and (partition != 0) = ?
  and not {IS_CLOSED} and not {IS_TAKEN_OUT} and {TIMES_PARKED} = {TIMES_ADOPTED}
"""
WORKED_ON = "select 1 from records where episode = ? and address in ('opened', 'batch', 'taken')"
KNOWN = """
select exists (select 1 from records where episode = ?1)
  or exists (select 1 from messages where key = ?1)
"""
NOT_CLOSED = f"select count(*) from records a where kind = 'problem.admitted' and not {IS_CLOSED}"
OPEN_IN = f"""
select a.episode from records a where a.kind = 'problem.admitted'
  and json_extract(a.body, '$.scope') = ?
  and exists (select 1 from records o where o.episode = a.episode and o.address = 'opened')
  and not {IS_CLOSED} order by a.offset
"""
UNDECIDED = f"""
select a.episode, json_extract(a.body, '$.scope') from records a where a.kind = 'problem.admitted'
  and not {IS_CLOSED} and not {IS_TAKEN_OUT} order by a.offset
"""
# An episode may be parked and taken up many times. It waits if it was parked once more than it was
# taken up, and its newest reason counts.
PARKED = f"""
select a.episode, json_extract(a.body, '$.reason'), json_extract(a.body, '$.address')
  from records a where a.kind = 'episode.parked' and not {IS_CLOSED} and {TIMES_PARKED} > {TIMES_ADOPTED}
  and a.offset = (select max(q.offset) from records q
    where q.episode = a.episode and q.kind = 'episode.parked')
  order by a.offset
"""
GIVEN_UP = """
select episode, json_extract(body, '$.reason') from records where kind = 'question.abandoned'
  order by offset desc limit 5
"""
OTHER_RUNS = """
select episode from records where episode >= ? and episode < ? and address = 'admitted'
  and episode <> ? limit 20
"""
PROBES = """
select episode from records where episode >= ? and episode < ? and address = 'opened' limit 50
"""
TIMES = "select address, at_ms from records where episode = ?"
TOOK = """
select episode, max(at_ms) - min(at_ms) from records
  where kind in ('episode.opened', 'episode.closed') group by episode having count(*) = 2
"""
PROBES_ENDED = """
select episode from records where offset > ? and offset <= ? and kind = 'episode.closed'
  and episode >= 'q/' and episode < 'q0' order by offset
"""
CLOSED = """
select episode from records where kind = 'episode.closed' and episode >= 'p/' and episode < 'p0'
  order by offset
"""
ALL = """
select episode from records where kind = 'episode.opened' or address = 'admitted'
  group by episode order by min(offset)
"""
MODELS = """
select distinct json_extract(body, '$.backbones') from records
  where kind = 'episode.opened' and json_extract(body, '$.parent') is null
"""
MOVES = """
select episode, kind, at_ms, kind = 'episode.adopted' and json_extract(body, '$.void')
  from records where offset > ? and offset <= ? and kind in (
  'episode.opened', 'batch.closed', 'episode.closed', 'episode.parked', 'episode.adopted',
  'memory.versioned') order by offset
"""
PROGRESS = """
select count(*), max(at_ms), (select json_extract(o.body, '$.limits.calls') from records o
  where o.episode = ?1 and o.address = 'opened'), (select json_extract(o.body, '$.policy')
  from records o where o.episode = ?1 and o.address in ('opened', 'batch'))
  from records where episode = ?1 and kind = 'completed'
"""
# The first record of an episode may be of an earlier worker, which never worked on it.
CLAIMS_ON = """
select count(distinct epoch) from records
  where episode = ? and topic = ? and epoch > 0 and address not in ('admitted', 'batch')
"""
FIRST_RUN = """
select episode, kind, body from records
  where episode >= ? and episode < ? and address in ('admitted', 'taken') limit 1
"""

# The index says which names have this address, so that no other record is read.
CASES_OF = """
select episode, kind, body from records
  where episode >= 'p/' and episode < 'p0' and address = 'taken'
  and lower(json_extract(body, '$.trace')) in (select value from json_each(?)) order by offset
"""


class Admitted(NamedTuple):
    """An episode that was admitted, and whether it is closed."""

    episode: str
    closed: bool


class Parked(NamedTuple):
    """An episode that waits for a person: why, and at which address of its record."""

    episode: str
    reason: str
    address: str | None


class GivenUp(NamedTuple):
    """A learning episode that went on without the answer to a question, and why there was none."""

    episode: str
    reason: str


class Move(NamedTuple):
    """An episode began, ended, was left to a person or goes on, at ``at_ms`` (Unix milliseconds)."""

    episode: str
    kind: str
    at_ms: int
    is_void: bool
    """Whether a person took it out."""


class Progress(NamedTuple):
    """How far an episode is: its calls, when the last one ended (Unix milliseconds), and what it may take."""

    calls: int
    last_ms: int | None
    call_limit: int | None
    policy: str | None


# ── Finding one ──────────────────────────────────────────────────────────────────────────────


def is_open_on(log: SqliteLog, episode: str, *, aside: bool) -> bool:
    """Whether an episode is open, and waits for no person, that a worker admitted or, ``aside``, whoever solved it."""
    return log.db.execute(OPEN_ON, (episode, aside)).fetchone() is not None


def is_on_record(log: SqliteLog, episode: str) -> bool:
    """Whether there is any record of an episode."""
    query = "select 1 from records where episode = ?"
    return log.db.execute(query, (episode,)).fetchone() is not None


def is_known(log: SqliteLog, name: str) -> bool:
    """Whether records or messages bear this name, be it an episode's, a claim's, a series' or a text's."""
    return bool(log.db.execute(KNOWN, (name,)).fetchone()[0])


def any_begun(log: SqliteLog) -> bool:
    """Whether anything was worked on: a problem, a case that was taken in, or a batch."""
    return log.db.execute(BEGUN).fetchone() is not None


def is_begun(log: SqliteLog, episode: str) -> bool:
    """Whether an episode was worked on."""
    return log.db.execute(WORKED_ON, (episode,)).fetchone() is not None


def latest(log: SqliteLog) -> str | None:
    """The episode that was answered last; before the first answer, the one that was opened last."""
    # Whoever asks for the latest wants to see an answer, even while a newer episode is under way.
    for query in (ANSWERED_LAST, OPENED_LAST):
        row = log.db.execute(query).fetchone()
        if row is not None:
            return str(row[0])
    return None


def admitted(log: SqliteLog, part: str) -> list[Admitted]:
    """Episodes whose names have this part, in the order of their admission."""
    rows = log.db.execute(ADMITTED, (part,))
    return [Admitted(episode, bool(closed)) for episode, closed in rows]


def taken(log: SqliteLog, part: str) -> list[Admitted]:
    """Cases of other tools whose names have this part, in the order in which they were taken in."""
    return [Admitted(episode, closed=True) for (episode,) in log.db.execute(TAKEN, (part,))]


def beginning_with(log: SqliteLog, prefix: str) -> list[str]:
    """Episodes whose names begin so."""
    return [episode for (episode,) in log.db.execute(BEGUN_SO, (prefix,))]


def first_run(log: SqliteLog, domain: str, problem: str) -> Event | None:
    """How an episode of a problem began: the problem as it was admitted, or the case that was taken in."""
    row = log.db.execute(FIRST_RUN, runs(domain, problem)).fetchone()
    return None if row is None else decode(row[1], row[2])


def first_text(log: SqliteLog, domain: str, problem: str) -> str | None:
    """What was asked in the first run of a problem, or in the case that was taken in."""
    match first_run(log, domain, problem):
        case TraceTaken(problem=text) | ProblemAdmitted(problem=Problem(problem=text)):
            return text
        case _:
            return None


def cases_of(log: SqliteLog, traces: Iterable[str]) -> list[tuple[str, TraceTaken]]:
    """Cases that were taken from these traces, by name; ids of traces are in lower case."""
    rows = log.db.execute(CASES_OF, (orjson.dumps([*traces]).decode(),))
    found = ((episode, decode(kind, body)) for episode, kind, body in rows)
    return [(episode, event) for episode, event in found if isinstance(event, TraceTaken)]


def other_runs(log: SqliteLog, episode: str) -> list[str]:
    """Other episodes of the same problem, 20 at most. Raises ``ValueError`` for a name that is no problem's."""
    domain, problem, _ = episode_parts(episode)
    rows = log.db.execute(OTHER_RUNS, (*runs(domain, problem), episode))
    return [other for (other,) in rows]


def probes_of(log: SqliteLog, episode: str) -> list[str]:
    """The forks and probes that were taken from an episode, 50 at most."""
    return [probe for (probe,) in log.db.execute(PROBES, span(f"q/{episode}/"))]


# ── Those that wait ──────────────────────────────────────────────────────────────────────────


def not_closed(log: SqliteLog) -> int:
    """How many admitted episodes are not closed."""
    return int(log.db.execute(NOT_CLOSED).fetchone()[0])


def open_in(log: SqliteLog, scope: str) -> list[str]:
    """Episodes of a scope that were begun and are not closed, in the order of their admission."""
    return [episode for (episode,) in log.db.execute(OPEN_IN, (scope,))]


def undecided(log: SqliteLog) -> list[tuple[str, str]]:
    """Episodes that are neither closed nor taken out, with their scopes."""
    return [(episode, scope) for episode, scope in log.db.execute(UNDECIDED)]


def parked(log: SqliteLog) -> list[Parked]:
    """Episodes that wait for a person's decision, those first that were parked first."""
    return [Parked(*row) for row in log.db.execute(PARKED)]


def given_up(log: SqliteLog) -> list[GivenUp]:
    """The five learning episodes that were the last to go on without an answer."""
    return [GivenUp(*row) for row in log.db.execute(GIVEN_UP)]


def closed(log: SqliteLog) -> list[str]:
    """The closed episodes of problems, in the order of their ends."""
    return [episode for (episode,) in log.db.execute(CLOSED)]


def every(log: SqliteLog) -> list[str]:
    """Every episode that was admitted or opened, in the order of their beginnings."""
    return [episode for (episode,) in log.db.execute(ALL)]


def probes_ended(log: SqliteLog, after: int, upto: int) -> list[str]:
    """Probes that closed between two offsets, in order."""
    return [episode for (episode,) in log.db.execute(PROBES_ENDED, (after, upto))]


# ── In time ──────────────────────────────────────────────────────────────────────────────────


def recorded_ms(log: SqliteLog, episode: str) -> dict[str, int]:
    """When each address of an episode was recorded, Unix milliseconds."""
    return dict(log.db.execute(TIMES, (episode,)))


def took_ms(log: SqliteLog) -> dict[str, int]:
    """How long each closed episode took from its opening on, in milliseconds."""
    return dict(log.db.execute(TOOK))


def models(log: SqliteLog) -> list[str]:
    """The models that answered in any episode but forks, as the log names them."""
    return [str(name) for (name,) in log.db.execute(MODELS)]


def claims_on(log: SqliteLog, episode: str, topic: str) -> int:
    """Under how many claims an episode was worked on: one more than it was resumed."""
    return int(log.db.execute(CLAIMS_ON, (episode, topic)).fetchone()[0])


def moves(log: SqliteLog, after: int, upto: int) -> Iterator[Move]:
    """What began and ended between two offsets, in the order of the log."""
    for episode, kind, at_ms, void in log.db.execute(MOVES, (after, upto)):
        yield Move(episode, kind, at_ms, bool(void))


def progress(log: SqliteLog, episode: str) -> Progress:
    """How far an episode is."""
    return Progress(*log.db.execute(PROGRESS, (episode,)).fetchone())
