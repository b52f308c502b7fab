"""Tools, principles and pairs: what an agent's search and a graph memory leave on the record.

Source: *From Experience to Strategy* (trainable graph memory), eq. (4), Algorithms 1 and 2.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from schemas.events.base import Act, AnswerEvent, Event
from schemas.outcome import Found, Outcome
from schemas.struct import NonNegativeFloat, NonNegativeInt, PositiveInt, always

Induction: TypeAlias = Literal["contrast", "speculative", "positive", "neighbours"]
"""From which paths a principle came; ``neighbours``: it stands on similar cases' successes (eq. 7)."""
Skipped: TypeAlias = Literal["no_principle", "lone_principle", "reward_unknown"]
"""Why weights stay as they are: nothing is active, one principle alone is, or nobody knows what a side earned."""


class ToolCalled(AnswerEvent, tag="tool.called"):
    """A tool was called; what it returned is recorded before anyone acts on it."""

    act: ClassVar[Act] = "recalled"
    tool: str
    result: Found
    text: str = always("")


class ExperienceShown(Event, tag="experience.shown"):
    """Items of memory were put into a prompt's guidance."""

    act: ClassVar[Act] = "recalled"
    sort: str
    items: tuple[str, ...]
    scores: tuple[float, ...] = always(())


class PathGrounded(Event, tag="path.grounded"):
    """One run of a problem was read as a canonical path (Algorithm 1 lines 5 to 11)."""

    act: ClassVar[Act] = "learned"
    case: str
    """Digest of the problem's text."""
    subject: str
    """The problem as ``domain/id``."""
    path: str
    outcome: Outcome
    source: str
    """The episode that ran, or the address of the probe's check."""


class PrincipleInduced(Event, tag="principle.induced"):
    """A principle was made of paths, met again, or not made (Algorithm 1 lines 19 to 34)."""

    act: ClassVar[Act] = "learned"
    later: ClassVar[tuple[str, ...]] = ("subject", "near")
    case: Induction
    decision: Literal["create", "update", "skip"]
    principle: str | None = None
    """Its id; none where nothing was made."""
    summary: str = always("")
    strategies: tuple[tuple[str, str, float], ...] = always(())
    """Each strategy principle with its strength in words and as a number."""
    confidence: str = always("")
    uncertainty: str = always("")
    paths: tuple[str, ...] = always(())
    """Canonical paths that it is linked to."""
    reason: str = always("")
    source: str | None = None
    score: float | None = None
    """Its strength after this, from 30 to 85."""
    vector: str | None = None
    """Embedding of its summary, base64 float16; none where the summary stays as it is."""
    claimed: float | None = None
    """How many paths the model says that it rests on; only recorded."""
    subject: str | None = None
    """The problem whose runs it was made of, as ``domain/id``."""
    near: tuple[str, ...] | None = None
    """Cases whose successes it was borrowed from, or contrasted with."""


class PairCompared(Event, tag="pair.compared"):
    """A problem was run with one principle and with none (Algorithm 2 lines 11 to 18)."""

    act: ClassVar[Act] = "learned"
    later: ClassVar[tuple[str, ...]] = ("subject", "out")
    pair: str
    problem: str
    active: tuple[tuple[str, float], ...]
    """Active cases with their similarity."""
    principle: str
    p: NonNegativeFloat
    with_reward: NonNegativeFloat
    without_reward: NonNegativeFloat
    memory_version: NonNegativeInt
    subject: str | None = None
    """The problem as ``domain/id``."""
    out: tuple[str, ...] | None = None
    """Active principles that were out of service, and so no rivals."""


class PairSkipped(Event, tag="pair.skipped"):
    """A problem moves no weight, and why (Algorithm 2 lines 7 to 18)."""

    act: ClassVar[Act] = "learned"
    problem: str
    reason: Skipped
    principle: str | None = None
    """The principle that was drawn, or the only one there is."""
    subject: str
    """The problem as ``domain/id``."""


class NoteLinked(Event, tag="note.linked"):
    """An evolving note was linked to others, whose keywords may have changed (A-MEM)."""

    act: ClassVar[Act] = "learned"
    note: str
    links: tuple[str, ...]
    evolved: tuple[tuple[str, str], ...] = always(())
    """Notes whose context was rewritten, with the new one."""


class InsightVoted(Event, tag="insight.voted"):
    """An insight was added, agreed with, changed, or voted down (ExpeL)."""

    act: ClassVar[Act] = "learned"
    operation: Literal["ADD", "UPVOTE", "DOWNVOTE", "EDIT"]
    insight: PositiveInt
    text: str = always("")
    source: str
