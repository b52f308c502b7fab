"""Lists of episodes and answers, a page at a time from the newest on: each page reads only its own rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from schemas.identity import episode_parts
from state.folds.grades import Known
from state.folds.state import State
from streams.runtime.embedded.log import SqliteLog

PAGE: Final = 50
EXCERPT: Final = 160
NEWEST: Final = 1 << 62

OUT = """exists (select 1 from records v where v.episode = a.episode
    and v.kind = 'episode.adopted' and json_extract(v.body, '$.void'))"""
EPISODES = f"""
select a.offset, a.episode, a.at_ms, a.body, o.body, o.at_ms, c.body, c.at_ms, {OUT}
  from records a
  left join records o on o.episode = a.episode and o.address = 'opened'
  left join records c on c.episode = a.episode and c.address = 'closed'
  where a.address = 'admitted' and a.offset < :before {{wanted}} order by a.offset desc limit :rows
"""
WANTED: Final[Mapping[str, str]] = {
    "waiting": f"and o.offset is null and not {OUT}",
    "running": f"and o.offset is not null and c.offset is null and not {OUT}",
    "cancelled": f"and c.offset is null and {OUT}",
    "closed": "and c.offset is not null",
    "failed": "and json_extract(c.body, '$.status') = 'failed'",
    "exhausted": "and json_extract(c.body, '$.status') = 'exhausted'",
    "abstained": "and json_extract(c.body, '$.status') = 'abstained'",
}
FILTERS: Final[Mapping[str, str]] = {
    "policy": "and json_extract(o.body, '$.policy') = :policy",
    "domain": "and json_extract(a.body, '$.problem.domain') = :domain",
    "text": "and (instr(lower(json_extract(a.body, '$.problem.problem')), lower(:text)) "
    "or json_extract(a.body, '$.problem.id') = :text)",
}
SIDE = """
select o.offset, o.episode, o.at_ms, null, o.body, o.at_ms, c.body, c.at_ms, false from records o
  left join records c on c.episode = o.episode and c.address = 'closed'
  where o.episode >= :first and o.episode < :end and o.address = :address and o.offset < :before
  order by o.offset desc limit :rows
"""
SIDES: Final[Mapping[str, tuple[str, str, str]]] = {
    "probes": ("q/", "q0", "opened"),
    "learning": ("b/", "b0", "batch"),
}
ANSWERS = """
select m.offset, m.key, m.at_ms, m.value, c.body from messages m not indexed
  left join records c on c.episode = m.key and c.address = 'closed'
  where m.topic = 'answers' and m.offset < :before {wanted} order by m.offset desc limit :rows
"""
STATUS = "and json_extract(m.value, '$.status') = :status"


@dataclass(frozen=True, slots=True)
class ListedEpisode:
    """One episode of a list."""

    offset: int
    episode: str
    name: str
    problem: str
    domain: str
    policy: str | None
    state: str
    """waiting, running, or how it ended."""
    answer: str | None
    known: Known | None
    """What is known of the answer; nothing where there is none to be graded."""
    confidence: float | None
    calibrated: float | None
    source: str | None
    calls: int | None
    call_limit: int | None
    tokens: int | None
    cost: float | None
    seconds: float | None
    began_ms: int | None
    ended_ms: int | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page of a list; ``older`` is where the next begins, if there is one."""

    lines: Sequence[ListedEpisode]
    older: int | None


def episodes(log: SqliteLog, state: State, wanted: Mapping[str, str], before: int) -> Leaf:
    """A page of episodes. ``wanted`` may have ``state``, ``policy``, ``domain`` and ``text``."""
    values: dict[str, Any] = {"before": before, "rows": PAGE + 1}
    which = wanted.get("state", "")
    if which in SIDES:
        values |= dict(zip(("first", "end", "address"), SIDES[which], strict=True))
        return _leaf(log.db.execute(SIDE, values).fetchall(), state)
    clauses = [WANTED.get(which, "")]
    for name, clause in FILTERS.items():
        if wanted.get(name):
            clauses.append(clause)
            values[name] = wanted[name]
    return _leaf(
        log.db.execute(EPISODES.format(wanted=" ".join(clauses)), values).fetchall(), state
    )


def name_of(episode: str) -> str:
    """What people call an episode: its problem's id, its batch, or what it is a fork or probe of."""
    if episode.startswith("b/"):
        return f"batch {episode.rpartition('/')[2]}"
    try:
        if episode.startswith("q/"):
            parent, at, purpose, _ = episode.removeprefix("q/").rsplit("/", 3)
            return f"{name_of(parent)} at {at}, {purpose}"
        return episode_parts(episode)[1]
    except ValueError:
        return episode


def _leaf(rows: Sequence[Sequence[Any]], state: State) -> Leaf:
    lines = [_line(row, state) for row in rows[:PAGE]]
    return Leaf(lines, lines[-1].offset if len(rows) > PAGE else None)


def _line(row: Sequence[Any], state: State) -> ListedEpisode:
    offset, episode, at_ms, admitted, opened, opened_ms, closed, closed_ms, out = row
    said = _json(admitted).get("problem", {})
    began, ended = _json(opened), _json(closed)
    limits: dict[str, Any] = began.get("limits") or {}
    waiting = "cancelled" if out else "running" if opened else "waiting"
    return ListedEpisode(
        offset=offset,
        episode=episode,
        name=said.get("id") or name_of(episode),
        problem=str(said.get("problem", ""))[:EXCERPT],
        domain=said.get("domain", ""),
        policy=began.get("policy") or said.get("policy"),
        state=ended.get("status", waiting),
        answer=ended.get("answer"),
        known=state.outcomes.of(episode) if ended and episode.startswith("p/") else None,
        call_limit=limits.get("calls"),
        began_ms=opened_ms or at_ms,
        ended_ms=closed_ms,
        **_spent(ended),
    )


def _spent(ended: Mapping[str, Any]) -> dict[str, Any]:
    """Confidence and usage of a closing; unknown is none."""
    usage: Mapping[str, Any] = ended.get("usage") or {}
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return {
        "confidence": ended.get("confidence"),
        "calibrated": ended.get("calibrated"),
        "source": ended.get("confidence_source"),
        "calls": usage.get("calls"),
        "tokens": None if prompt is None or completion is None else prompt + completion,
        "cost": usage.get("cost"),
        "seconds": usage.get("seconds"),
    }


def answers(log: SqliteLog, state: State, status: str, before: int) -> Leaf:
    """A page of answers, newest first."""
    query = ANSWERS.format(wanted=STATUS if status else "")
    values = {"before": before, "rows": PAGE + 1, "status": status}
    rows = log.db.execute(query, values).fetchall()
    lines = [_answer(row, state) for row in rows[:PAGE]]
    return Leaf(lines, lines[-1].offset if len(rows) > PAGE else None)


def _answer(row: Sequence[Any], state: State) -> ListedEpisode:
    offset, episode, at_ms, value, closed = row
    said, ended = _json(value), _json(closed)
    return ListedEpisode(
        offset=offset,
        episode=episode,
        name=said.get("problem_id", episode),
        problem="",
        domain=said.get("domain", ""),
        policy=said.get("policy"),
        state=said.get("status", ""),
        answer=said.get("answer"),
        known=state.outcomes.of(episode),
        call_limit=None,
        began_ms=None,
        ended_ms=at_ms,
        **_spent(ended or said),
    )


def _json(body: Any) -> dict[str, Any]:
    return {} if body is None else orjson.loads(body)
