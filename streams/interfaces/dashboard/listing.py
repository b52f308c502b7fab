"""Lists of episodes and answers, a page at a time from the newest on: each page reads only its own rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from schemas.answer import as_answer
from schemas.identity import episode_parts
from state.folds.grades import Known
from state.folds.state import State
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import lists
from streams.runtime.embedded.queries.conditions import UNREADABLE
from streams.views.states import state_of

PAGE: Final = 50
NEWEST: Final = 1 << 62


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
    """As ``streams.views.states`` says it."""
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
    # One more than is shown tells whether there is an older page, without counting them all.
    rows = lists.episodes(log, wanted, before, PAGE + 1)
    lines: list[ListedEpisode] = []
    for row in rows[:PAGE]:
        said = _json(row.admitted).get("problem", {})
        began, ended, episode = _json(row.opened), _json(row.closed), row.episode
        limits: dict[str, Any] = began.get("limits") or {}
        # A batch or a probe answers no problem of anybody's: there is nothing to be right or wrong.
        is_graded = bool(ended) and episode.startswith("p/")
        line = ListedEpisode(
            offset=row.offset,
            episode=episode,
            name=said.get("id") or name_of(episode),
            problem=str(said.get("problem", "")),
            domain=said.get("domain", ""),
            policy=began.get("policy") or said.get("policy"),
            state=state_of(
                ended.get("status"),
                learning=episode.startswith("b/"),
                parked=row.parked,
                cancelled=row.taken_out,
                asking=row.asking,
                begun=row.opened is not None,
            ),
            answer=ended.get("answer"),
            known=state.outcomes.of(episode) if is_graded else None,
            call_limit=limits.get("calls"),
            began_ms=row.opened_ms or row.at_ms,
            ended_ms=row.closed_ms,
            **_spent(ended),
        )
        lines.append(line)
    return Leaf(lines, lines[-1].offset if len(rows) > PAGE else None)


# An id says all that identifies an episode, and is far too long for a column of a table.
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


def _spent(ended: Mapping[str, Any]) -> dict[str, Any]:
    """Confidence and usage of a closing; unknown is none."""
    # One count without the other is no sum of tokens, and 0 would be one.
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
    rows = lists.answers(log, status, before, PAGE + 1)
    lines: list[ListedEpisode] = []
    for row in rows[:PAGE]:
        # Anybody may have put what is no answer: it has a line all the same.
        said = {} if as_answer(row.value) is None else _json(row.value)
        line = ListedEpisode(
            offset=row.offset,
            episode=row.episode,
            name=said.get("problem_id", row.episode),
            problem="",
            domain=said.get("domain", ""),
            policy=said.get("policy"),
            state=said.get("status", UNREADABLE),
            answer=said.get("answer"),
            known=state.outcomes.of(row.episode) if said else None,
            call_limit=None,
            began_ms=None,
            ended_ms=row.at_ms,
            **_spent(_json(row.closed) or said),
        )
        lines.append(line)
    return Leaf(lines, lines[-1].offset if len(rows) > PAGE else None)


# Lists read the few fields that they show, and do not decode events: a record of a build that knows
# more kinds has its line here all the same.
def _json(body: str | bytes | None) -> dict[str, Any]:
    return {} if body is None else orjson.loads(body)
