"""What work costs: calls that were made for tenants, and what closed episodes took of late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from schemas.events.codec import decode
from schemas.events.episode import Completed
from state.folds.budgets import BudgetsFold
from streams.runtime.embedded.queries.conditions import IS_CLOSED

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

NEWEST = 1 << 62
# A set asks for all its members at once, so its calls are its first member's tenant's, as everywhere else.
SPENT = """
select json_extract(a.body, '$.problem.tenant'), r.at_ms, r.body from records r
  left join records o on r.episode >= 's/' and r.episode < 's0'
    and o.episode = r.episode and o.address = 'opened'
  join records a on a.episode = coalesce(json_extract(o.body, '$.members[0]'), r.episode)
    and a.address = 'admitted'
  where r.kind = 'completed' and r.topic = 'events' and r.at_ms >= ? and r.at_ms < ?
    and r.offset > ? and r.offset <= ? and r.epoch != ?
    and json_extract(a.body, '$.problem.tenant') is not null
"""
WAITING = f"""
select json_extract(problem, '$.policy'), json_extract(problem, '$.profile'),
  json_extract(problem, '$.settings'), json_extract(problem, '$.limits'), count(*) from (
    select json_extract(body, '$.problem') problem from records a where address = 'admitted'
      and not {IS_CLOSED}
    union all
    select value from messages where topic = 'problems' and offset > ? limit ?)
  group by 1, 2, 3, 4 order by count(*) desc
"""
TAKEN = """
select count(*), avg(calls), avg(prompt), avg(completion), count(prompt + completion) from (
  select json_extract(c.body, '$.usage.calls') calls, json_extract(c.body, '$.usage.prompt_tokens') prompt,
    json_extract(c.body, '$.usage.completion_tokens') completion
  from records c join records o on o.episode = c.episode and o.address = 'opened'
  where c.offset > (select coalesce(max(offset), 0) from records) - ? and c.address = 'closed'
    and c.episode >= 'p/' and c.episode < 'p0'
    and json_extract(o.body, '$.policy') = ? and json_extract(o.body, '$.backbones') = ?)
"""


class Waiting(NamedTuple):
    """A kind of problem that waits to be worked on, and how many there are of it."""

    policy: str | None
    profile: str | None
    settings: str | None
    limits: str | None
    """Settings and limits are JSON as they were put; nothing where a problem says none."""
    problems: int


class Taken(NamedTuple):
    """What closed episodes took on average. Tokens are unknown where those of any episode are."""

    closed: int
    calls: float
    prompt_tokens: float | None
    completion_tokens: float | None


def spent_since(
    log: SqliteLog,
    at_ms: int,
    before_ms: int = NEWEST,
    *,
    after: int = 0,
    upto: int = NEWEST,
    but: int = -1,
) -> Iterator[tuple[str, int, Completed]]:
    """The calls for problems of tenants since a moment, between two offsets: tenant, Unix milliseconds, reply.

    ``but`` leaves out those under one claim, by its epoch.
    """
    for tenant, at, body in log.db.execute(SPENT, (at_ms, before_ms, after, upto, but)):
        said = decode("completed", body)
        assert isinstance(said, Completed)
        yield tenant, at, said


@dataclass(slots=True)
class SpentBeside:
    """What others spend on the problems of tenants while somebody works under a claim, read as they commit it."""

    log: SqliteLog
    epoch: int
    upto: int
    """The offset up to which all of it was read."""
    fold: BudgetsFold = field(default_factory=BudgetsFold)
    version: int = -1

    def __call__(self) -> tuple[BudgetsFold]:
        """The sums as they stand now."""
        # Asked before each call: only where another process committed is there anything to read.
        if self.version != (version := self.log.data_version()):
            self.version, end = version, self.log.end()
            for row in spent_since(self.log, 0, after=self.upto, upto=end, but=self.epoch):
                self.fold.feed(*row)
            self.upto = end
        return (self.fold,)


def waiting(log: SqliteLog, most: int) -> list[Waiting]:
    """Kinds of problems that wait, the most frequent first; so many are looked at, admitted ones before others."""
    rows = log.db.execute(WAITING, (log.position("intake", "problems"), most))
    return [Waiting(*row) for row in rows]


def taken(log: SqliteLog, policy: str, backbones: str, span: int) -> Taken | None:
    """What episodes of a policy took that closed with these models in the last ``span`` records; none without any."""
    row = log.db.execute(TAKEN, (span, policy, backbones)).fetchone()
    closed, calls, prompt, completion, counted = row
    if not closed:
        return None
    return Taken(closed, calls, *((prompt, completion) if counted == closed else (None, None)))
