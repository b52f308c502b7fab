"""Rows of episodes: what was asked and spent, what each left to learn from, and the past cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter, methodcaller
from typing import Any, TypeVar

from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import Reflected
from schemas.identity import canonical, probed
from schemas.usage import Usage
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
    Column(
        "calls",
        "int",
        "completions on its record; a fork's, with tokens and cost, may be taken over: completions.reused",
    ),
    *shared("prompt_tokens", "completion_tokens", "cost", "seconds"),
)
PROBLEM = (
    *shared("withdrawn", "domain"),
    Column("problem_id", "text", "the problem's id in its domain"),
    Column("problem", "text", "the problem's text"),
    Column("policy", "text", "the policy that worked on it"),
)
REFLECTED = ("domain", "problem_id", "problem", "policy")
"""What a reflection says of its problem."""

E = TypeVar("E", bound=Event)


def _said(found: Found, address: str, kind: type[E]) -> tuple[int, E] | None:
    """When a record was made and its event, if an episode has it; a record may still be on its way."""
    record = found.get(address)
    return (record[1], record[2]) if record is not None and isinstance(record[2], kind) else None


def spent(usage: Usage) -> Row:
    """The figures of a usage that tables have."""
    names = [column.name for column in SPENT]
    return {name: getattr(usage, name) for name in names}


def episode(source: Source, name: str, found: Found) -> Row | None:
    """One episode: life, settings, end and cost."""
    row: Row = {}
    if (admitted := _said(found, "admitted", ProblemAdmitted)) is not None:
        problem = admitted[1].problem
        row |= {
            "domain": problem.domain,
            "problem_id": problem.id,
            "problem": problem.problem,
            "scope": admitted[1].scope,
            "series": problem.series,
            "position": problem.position,
            "profile": problem.profile,
            "labelled": problem.labelled,
        }
    if (opened := _said(found, "opened", EpisodeOpened)) is not None:
        at, event = opened
        names = ("policy", "policy_version", "memory_version", "seed", "backbones", "parent")
        row |= {name: getattr(event, name) for name in (*names, "purpose")} | {"opened_ms": at}
    if (closed := _said(found, "closed", EpisodeClosed)) is not None:
        at, end = closed
        names = ("status", "answer", "confidence", "confidence_source", "calibrated", "ended_by")
        row |= {name: getattr(end, name) for name in names}
        row |= {"items": list(end.items), "closed_ms": at} | spent(end.usage)
    if not row:
        return None
    return row | _graded(
        source, name, answered=row.get("answer") is not None, ended="status" in row
    )


def _graded(source: Source, name: str, *, answered: bool, ended: bool = True) -> Row:
    """Return the outcome of an answer, and who gave it."""
    # Of an episode that runs on nobody can say yet that it was not graded.
    known = source.state.outcomes.of(name)
    return {
        "outcome": known.outcome,
        "graded": known.standing(answered) if ended else None,
        "graded_by": None if known.word is None else known.word.who,
    }


def reflection(source: Source, name: str, found: Found) -> Row | None:
    """Return an episode's reflection."""
    said = _said(found, "reflected", Reflected)
    if said is None:
        return None
    event = said[1]
    problem: Row = {name: getattr(event, name) for name in REFLECTED}
    return problem | {
        "scope": event.scope,
        "memory_version": event.memory_version,
        "items": list(event.items),
        "summary": canonical(event.summary).decode(),
    }


def case(source: Source, name: str, found: Found) -> Row | None:
    """A past problem with its outcome and cost."""
    said = _said(found, "reflected", Reflected)
    if said is None:
        return None
    event = said[1]
    names = (*REFLECTED, "status", "answer", "confidence", "confidence_source")
    ended: Row = {name: getattr(event, name) for name in names}
    return (
        ended
        | spent(event.usage)
        | {
            "problem_digest": event.problem_digest,
            "dataset": event.dataset,
            "labelled": event.labelled,
        }
        | _graded(source, name, answered=event.answer is not None)
    )


def _forgotten_since(source: Source, name: str, found: Found) -> int | None:
    """Since which offset its problem is forgotten; a fork or probe goes with what it was taken from."""
    if not source.state.forgotten:
        return None
    parent = probed(name)
    if parent != name:
        found = dict(source.records([parent])).get(parent, found)
    # The scope is the admission's or the reflection's; side episodes say none.
    said = (found[at][2] for at in ("admitted", "reflected") if at in found)
    scope = next((e.scope for e in said if isinstance(e, ProblemAdmitted | Reflected)), "")
    return source.state.forgotten_since(scope, parent)


def _rows(make: Any, source: Source, keys: Sequence[str]) -> Iterator[Row]:
    for name, found in source.records(keys):
        forgotten = _forgotten_since(source, name, found)
        if forgotten is not None:
            # The key stays, so that a reader who knows it learns that the row was withdrawn and
            # not lost.
            yield {"key": name, "off": forgotten, "withdrawn": True}
            continue
        row = make(source, name, found)
        if row is not None:
            last = max(offset for offset, _, _ in found.values())
            off = max(last, source.state.outcomes.offset(name))
            yield row | {"key": name, "off": off, "withdrawn": False}


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
    attrgetter("episodes"),
    methodcaller("episodes"),
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
    attrgetter("episodes"),
    methodcaller("episodes"),
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
    attrgetter("episodes"),
    methodcaller("episodes"),
    lambda source, keys: _rows(case, source, keys),
)
