"""What metrics and figures are counted of: records between two offsets, so that each is looked at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

MADE = "(episode < 'q/' or episode >= 'q0' or json_extract(body, '$.reused') is null)"
"""Of a call: whether it was made, and not taken over by a probe from its parent."""
# Sums alone would take what is unknown for zero: so what is known is counted beside each of them.
CALLS = f"""
select topic, substr(episode, 1, 2), count(*), total(json_extract(body, '$.prompt_tokens')),
    total(json_extract(body, '$.completion_tokens')), count(json_extract(body, '$.prompt_tokens')
    + json_extract(body, '$.completion_tokens')), total(json_extract(body, '$.cost')),
    count(json_extract(body, '$.cost'))
  from records where offset > ? and offset <= ? and kind = 'completed' and {MADE} group by 1, 2
"""
# That an episode is to be learned from counts, and not what it says of itself, which is long. Of those that begin
# only solves count: nobody put them.
FACTS = """
select kind, topic, episode, case kind when 'reflected' then '{}' else body end from records
  where offset > ? and offset <= ? and (kind in ('problem.admitted', 'episode.closed', 'reflected',
    'episode.parked', 'episode.adopted', 'batch.closed', 'memory.versioned', 'lesson.distilled',
    'knowledge.consolidated', 'graded', 'review.asked', 'review.answered')
    or kind = 'episode.opened' and json_extract(body, '$.purpose') = 'solve') order by offset
"""
LATENCIES = f"""
select json_extract(body, '$.model'), case {{buckets}} else {{last}} end, count(*),
    total(json_extract(body, '$.seconds'))
  from records where offset > ? and offset <= ? and kind = 'completed' and {MADE}
    and json_extract(body, '$.seconds') is not null group by 1, 2 order by min(offset)
"""
# Anybody may put anything there: one that nobody can read must not hold up those behind it, nor be a label of its own.
ANSWERS = """
select answer_status(value), count(*), max(offset) from (
  select offset, value from messages where topic = 'answers' and offset > ? order by offset limit ?)
  group by 1
"""
# A dead letter of a worker says where the problem lies that it refused. What a producer refused was never put; a
# source's name may begin like a topic's.
PROBLEMS = """
select count(*) filter (where topic = 'problems'), count(*) filter (where topic = 'dead-letters'
    and key >= 'problems/' and key < 'problems0'
    and json_extract(headers, '$."__metalogue.errors.source"') is null),
    coalesce(max(offset), 0)
  from messages where topic in ('problems', 'dead-letters') and offset > ?
"""
PUT_SINCE = "select key from messages where topic = 'problems' and offset > ?"
PUT = (
    "select key from messages where topic = 'problems' and key in (select value from json_each(?))"
)


class Calls(NamedTuple):
    """Calls of one topic and one sort of episode, with sums of what is known of them."""

    topic: str
    sort: str
    """What the names of their episodes begin with, such as ``p/``."""
    calls: int
    prompt_tokens: float
    completion_tokens: float
    counted: int
    """Calls whose tokens are known."""
    cost: float
    priced: int
    """Calls whose cost is known."""


class Fact(NamedTuple):
    """A record of one of the kinds that figures are made of; its body is JSON."""

    kind: str
    topic: str
    episode: str
    body: str


class Latency(NamedTuple):
    """How many calls of a model took so long, and the seconds of all of them."""

    model: str
    bucket: int
    """The place of the first bound that they did not exceed; as many as there are bounds for longer ones."""
    calls: int
    seconds: float


class Answered(NamedTuple):
    """How many answers have a status, and the last one's offset."""

    status: str
    answers: int
    last: int


class Put(NamedTuple):
    """How many problems were put, how many a worker refused, and where the last of them lies; 0 where there is none."""

    problems: int
    refused: int
    last: int


def calls(log: SqliteLog, after: int, upto: int) -> list[Calls]:
    """Sums of the calls between two offsets; what a probe took over from its parent is nobody's call."""
    return [Calls(*row) for row in log.db.execute(CALLS, (after, upto))]


def facts(log: SqliteLog, after: int, upto: int) -> Iterator[Fact]:
    """What figures are made of, between two offsets in order."""
    return map(Fact._make, log.db.execute(FACTS, (after, upto)))


def latencies(log: SqliteLog, after: int, upto: int, bounds: Sequence[float]) -> list[Latency]:
    """How long calls between two offsets took: by model, and by these upper bounds in seconds.

    A model that replied first comes first, wherever the offsets lie.
    """
    buckets = " ".join(
        f"when json_extract(body, '$.seconds') <= {bound} then {index}"
        for index, bound in enumerate(bounds)
    )
    query = LATENCIES.format(buckets=buckets, last=len(bounds))
    return [Latency(*row) for row in log.db.execute(query, (after, upto))]


def answers(log: SqliteLog, after: int, most: int) -> list[Answered]:
    """The next answers behind an offset, ``most`` at a time, by status."""
    return [Answered(*row) for row in log.db.execute(ANSWERS, (after, most))]


def problems(log: SqliteLog, after: int) -> Put:
    """The problems that were put, or refused, behind an offset."""
    return Put(*log.db.execute(PROBLEMS, (after,)).fetchone())


def put_since(log: SqliteLog, after: int) -> Iterator[str]:
    """The episodes whose problems were put for workers behind an offset."""
    return (key for (key,) in log.db.execute(PUT_SINCE, (after,)))


def put(log: SqliteLog, episodes: Iterable[str]) -> set[str]:
    """Those of some episodes whose problems were put for workers."""
    names = orjson.dumps([*episodes]).decode()
    return {key for (key,) in log.db.execute(PUT, (names,))}
