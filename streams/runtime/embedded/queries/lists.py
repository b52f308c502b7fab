"""Pages of episodes and of answers, from the newest on: each reads only its own rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from streams.runtime.embedded.queries.conditions import IS_ASKING, IS_PARKED, IS_TAKEN_OUT

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

# Pages go by offset and not by number: a page that is looked at stays the same while new episodes come in, and the
# thousandth costs as much as the first.
EPISODES = f"""
select a.offset, a.episode, a.at_ms, a.body, o.body, o.at_ms, c.body, c.at_ms,
    case when c.offset is null then {IS_TAKEN_OUT} else false end,
    case when c.offset is null then {IS_PARKED} else false end,
    case when c.offset is null then {IS_ASKING} else false end
  from records a
  left join records o on o.episode = a.episode and o.address = 'opened'
  left join records c on c.episode = a.episode and c.address = 'closed'
  where a.address = 'admitted' and a.offset < :before {{wanted}} order by a.offset desc limit :rows
"""
GOES_ON = f"not ({IS_TAKEN_OUT} or {IS_PARKED})"
# By cases, for SQLite would look at all records of every episode before it looks whether that is closed.
WANTED: Final[Mapping[str, str]] = {
    "waiting": f"and case when c.offset is null and o.offset is null then {GOES_ON} end",
    "running": "and case when c.offset is null and o.offset is not null "
    f"then {GOES_ON} and not {IS_ASKING} end",
    "asking": f"and case when c.offset is null and o.offset is not null then {GOES_ON} and {IS_ASKING} end",
    "parked": f"and case when c.offset is null then {IS_PARKED} end",
    "cancelled": f"and case when c.offset is null then {IS_TAKEN_OUT} end",
    "closed": "and c.offset is not null",
    "failed": "and json_extract(c.body, '$.status') = 'failed'",
    "exhausted": "and json_extract(c.body, '$.status') = 'exhausted'",
    "abstained": "and json_extract(c.body, '$.status') = 'abstained'",
}
SAYS = """(instr(lower(json_extract(a.body, '$.problem.problem')), lower(:text))
    or json_extract(a.body, '$.problem.id') = :text)"""
FILTERS: Final[Mapping[str, str]] = {
    # One that was not begun has the policy that its problem names.
    "policy": "and coalesce(json_extract(o.body, '$.policy'), "
    "json_extract(a.body, '$.problem.policy')) = :policy",
    "domain": "and json_extract(a.body, '$.problem.domain') = :domain",
    "text": f"and {SAYS}",
}
SIDE = """
select o.offset, o.episode, o.at_ms, null, o.body, o.at_ms, c.body, c.at_ms, false, false, false from records o
  left join records c on c.episode = o.episode and c.address = 'closed'
  where o.episode >= :first and o.episode < :end and o.address = :address and o.offset < :before {wanted}
  order by o.offset desc limit :rows
"""
# Neither a batch nor a probe was admitted: its problems are those of its members, or of what it was taken from.
SIDE_FILTERS: Final[Mapping[str, str]] = {
    "policy": "and json_extract(o.body, '$.policy') = :policy",
    # A batch is named after its scope, a probe after its parent, and the names of both begin with the domain.
    "domain": "and substr(ltrim(o.episode, 'q/'), 3, length(:domain) + 1) = :domain || '/'",
    "text": f"""and exists (select 1 from records a where a.address = 'admitted' and {SAYS} and a.episode in (
    select value from json_each(o.body, '$.members') union select json_extract(o.body, '$.parent')))""",
}
SIDES: Final[Mapping[str, tuple[str, str, str]]] = {
    "probes": ("q/", "q0", "opened"),
    "learning": ("b/", "b0", "batch"),
}
# Answers are walked from the newest on by their offsets. The index of identities would find the
# topic first, and then sort all of its answers for each page.
ANSWERS = """
select m.offset, m.key, m.at_ms, m.value, c.body from messages m not indexed
  left join records c on c.episode = m.key and c.address = 'closed'
  where m.topic = 'answers' and m.offset < :before {wanted} order by m.offset desc limit :rows
"""
STATUS = "and answer_status(m.value) = :status"


class Listed(NamedTuple):
    """One episode of a list; times are Unix milliseconds, bodies JSON as they were recorded."""

    offset: int
    episode: str
    at_ms: int
    admitted: str | None
    opened: str | None
    opened_ms: int | None
    closed: str | None
    closed_ms: int | None
    taken_out: bool
    parked: bool
    asking: bool


class ListedAnswer(NamedTuple):
    """One answer of a list as it lies on its topic, and the closing of its episode; both are JSON."""

    offset: int
    episode: str
    at_ms: int
    value: str | bytes
    closed: str | None


def episodes(log: SqliteLog, wanted: Mapping[str, str], before: int, most: int) -> list[Listed]:
    """Episodes that were admitted before an offset, newest first.

    ``wanted`` may have ``state`` (a key of ``WANTED``, ``probes`` or ``learning``), ``policy``, ``domain``, ``text``.
    """
    values: dict[str, Any] = {"before": before, "rows": most}
    which = wanted.get("state", "")
    query, filters, clauses = EPISODES, FILTERS, [WANTED.get(which, "")]
    if which in SIDES:
        query, filters = SIDE, SIDE_FILTERS
        values |= dict(zip(("first", "end", "address"), SIDES[which], strict=True))
    # Only what was asked for becomes a clause, so that a page without filters reads nothing else.
    for name, clause in filters.items():
        if wanted.get(name):
            clauses.append(clause)
            values[name] = wanted[name]
    query = query.format(wanted=" ".join(clauses))
    return [Listed(*row) for row in log.db.execute(query, values)]


def answers(log: SqliteLog, status: str, before: int, most: int) -> list[ListedAnswer]:
    """Answers before an offset, newest first; of one status, if it is not empty: what is none has ``UNREADABLE``."""
    query = ANSWERS.format(wanted=STATUS if status else "")
    values = {"before": before, "rows": most, "status": status}
    return [ListedAnswer(*row) for row in log.db.execute(query, values)]
