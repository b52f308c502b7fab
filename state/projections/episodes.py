"""Rows of episodes: what was asked and spent, what each left to learn from, and the past cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import Reflected
from schemas.identity import canonical, probed
from schemas.usage import Usage
from state.folds.state import Touched
from state.tables.columns import shared
from state.tables.table import Column, Found, Row, Source, Table

ENDED = (
    Column("status", "text", "answered, abstained, exhausted or failed"),
    Column("answer", "text", "the answer, if there is one"),
    Column("confidence", "float", "what the policy claimed, in [0, 1]"),
    Column("confidence_source", "text", "what it is made of"),
    *shared("outcome", "graded", "graded_by"),
)
SPENT = (
    Column("calls", "int", "completions received"),
    *shared("prompt_tokens", "completion_tokens", "cost", "seconds"),
)
PROBLEM = (
    *shared("withdrawn", "domain"),
    Column("problem_id", "text", "the problem's id in its domain"),
    Column("problem", "text", "the problem's text"),
    Column("policy", "text", "the policy that worked on it"),
)


def spent(usage: Usage) -> Row:
    """The figures of a usage that tables have."""
    names = [column.name for column in SPENT]
    return {name: getattr(usage, name) for name in names}


def episode(source: Source, name: str, found: Found) -> Row | None:
    """One episode: life, settings, end and cost."""
    row = _admitted(found) | _opened(found) | _closed(found)
    if not row:
        return None
    return row | _graded(
        source, name, answered=row.get("answer") is not None, ended="status" in row
    )


def _graded(source: Source, name: str, *, answered: bool, ended: bool = True) -> Row:
    """Return the outcome of an answer, and who gave it."""
    known = source.state.outcomes.of(name)
    return {
        "outcome": known.outcome,
        "graded": known.standing(answered) if ended else None,
        "graded_by": None if known.word is None else known.word.who,
    }


def _admitted(found: Found) -> Row:
    event = found["admitted"][2] if "admitted" in found else None
    if not isinstance(event, ProblemAdmitted):
        return {}
    problem = event.problem
    return {
        "domain": problem.domain,
        "problem_id": problem.id,
        "problem": problem.problem,
        "scope": event.scope,
        "series": problem.series,
        "position": problem.position,
        "profile": problem.profile,
        "labelled": problem.labelled,
    }


def _opened(found: Found) -> Row:
    if "opened" not in found:
        return {}
    _, at, event = found["opened"]
    if not isinstance(event, EpisodeOpened):
        return {}
    return {
        "policy": event.policy,
        "policy_version": event.policy_version,
        "memory_version": event.memory_version,
        "seed": event.seed,
        "backbones": event.backbones,
        "parent": event.parent,
        "purpose": event.purpose,
        "opened_ms": at,
    }


def _closed(found: Found) -> Row:
    if "closed" not in found:
        return {}
    _, at, event = found["closed"]
    if not isinstance(event, EpisodeClosed):
        return {}
    names = ("status", "answer", "confidence", "confidence_source", "calibrated")
    said: Row = {name: getattr(event, name) for name in names}
    said |= {"ended_by": event.ended_by, "items": list(event.items), "closed_ms": at}
    return said | spent(event.usage)


def _reflected(found: Found) -> Reflected | None:
    event = found["reflected"][2] if "reflected" in found else None
    return event if isinstance(event, Reflected) else None


def reflection(source: Source, name: str, found: Found) -> Row | None:
    """Return an episode's reflection."""
    event = _reflected(found)
    if event is None:
        return None
    return _of_problem(event) | {
        "scope": event.scope,
        "memory_version": event.memory_version,
        "items": list(event.items),
        "summary": canonical(event.summary).decode(),
    }


def case(source: Source, name: str, found: Found) -> Row | None:
    """A past problem with its outcome and cost."""
    event = _reflected(found)
    if event is None:
        return None
    names = ("status", "answer", "confidence", "confidence_source")
    ended: Row = {name: getattr(event, name) for name in names}
    return (
        _of_problem(event)
        | ended
        | spent(event.usage)
        | {
            "problem_digest": event.problem_digest,
            "dataset": event.dataset,
            "labelled": event.labelled,
        }
        | _graded(source, name, answered=event.answer is not None)
    )


def _of_problem(event: Reflected) -> Row:
    names = ("domain", "problem_id", "problem", "policy")
    return {name: getattr(event, name) for name in names}


def _scope(found: Found) -> str:
    """The scope that an episode belongs to; side episodes say none."""
    said = (found[at][2] for at in ("admitted", "reflected") if at in found)
    return next((e.scope for e in said if isinstance(e, ProblemAdmitted | Reflected)), "")


def _forgotten_since(source: Source, name: str, found: Found) -> int | None:
    """Since which offset its problem is forgotten; a fork or probe goes with what it was taken from."""
    if not source.state.forgotten:
        return None
    parent = probed(name)
    if parent != name:
        found = dict(source.records([parent])).get(parent, found)
    return source.state.forgotten_since(_scope(found), parent)


def _rows(make: Any, source: Source, keys: Sequence[str]) -> Iterator[Row]:
    for name, found in source.records(keys):
        forgotten = _forgotten_since(source, name, found)
        if forgotten is not None:
            yield {"key": name, "off": forgotten, "withdrawn": True}
            continue
        row = make(source, name, found)
        if row is not None:
            last = max(offset for offset, _, _ in found.values())
            off = max(last, source.state.outcomes.offset(name))
            yield row | {"key": name, "off": off, "withdrawn": False}


def _touched(touched: Touched) -> Iterable[str]:
    return touched.episodes


def _keys(source: Source) -> Iterable[str]:
    return source.episodes()


EPISODES = Table(
    "episodes",
    "Every episode: what was asked, by which policy and memory, how it ended, what it cost",
    (
        *PROBLEM,
        Column("policy_version", "text", "the policy's version"),
        *shared("scope"),
        Column("series", "text", "the series that it belongs to"),
        Column("position", "int", "its place in the series"),
        Column("profile", "text", "service or paper"),
        Column("labelled", "bool", "whether a label came with the problem"),
        *shared("memory_version"),
        Column("seed", "int", "every random choice follows from it"),
        Column("backbones", "text", "which model answered which role"),
        Column("parent", "text", "the episode that a fork or probe was taken from"),
        Column("purpose", "text", "what a side episode is for"),
        *ENDED,
        Column("calibrated", "float", "chance of being right; null until enough labels came"),
        Column("ended_by", "text", "what ended it"),
        Column("items", "texts", "ids of the memory items in its prompts"),
        *SPENT,
        Column("opened_ms", "int", "Unix milliseconds"),
        Column("closed_ms", "int", "Unix milliseconds"),
    ),
    _touched,
    _keys,
    lambda source, keys: _rows(episode, source, keys),
)
REFLECTIONS = Table(
    "reflections",
    "What each finished episode left to learn from, without its outcome",
    (
        *PROBLEM,
        *shared("scope", "memory_version"),
        Column("items", "texts", "ids of the memory items in its prompts"),
        Column("summary", "text", "the policy's own summary, as JSON"),
    ),
    _touched,
    _keys,
    lambda source, keys: _rows(reflection, source, keys),
)
CASES = Table(
    "cases",
    "Past problems with outcome and cost",
    (
        *PROBLEM,
        Column("problem_digest", "text", "digest of the problem's text"),
        Column("dataset", "text", "the data set that it comes from"),
        Column("labelled", "bool", "whether a label came with the problem"),
        *ENDED,
        *SPENT,
    ),
    _touched,
    _keys,
    lambda source, keys: _rows(case, source, keys),
)
