"""Traces of other tools, taken in as cases to learn from: what was asked, what was said and done, who recorded it.

A case is no work of ours: it has no episode on ``events``, so it counts in no accuracy, budget or sum of tokens.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from schemas.events.base import Act, Event
from schemas.problem import Profile, Values
from schemas.struct import NonNegativeInt, Struct

Speaker: TypeAlias = Literal["assistant", "tool", "user"]


class Step(Struct):
    """One thing that was said or done: a reply, a call of a tool and its result, or a further word of the user."""

    by: Speaker
    text: str | None = None
    """What was said or returned; unknown of a call whose result the trace does not hold."""
    tool: str | None = None
    asked: str | None = None
    """What a tool was called with, as its JSON text."""
    failed: Literal[True] | None = None
    """Whether the trace marks the call as failed."""


class TraceTaken(Event, tag="trace.taken"):
    """A trace of another tool was taken in as a case of one scope. Its verdict, if it has one, is feedback."""

    act: ClassVar[Act] = "learned"
    latest: ClassVar[tuple[str, ...]] = ("answer_type",)
    scope: str
    policy: str
    profile: Profile
    settings: Values
    """The values as they were set, for the scope that learns from it."""
    problem_id: str
    domain: str
    problem: str
    statement: str | None = None
    answer_type: dict[str, Any] | None = None
    """What the problem's answer is, where whoever took it in said so."""
    dataset: str | None = None
    series: str
    position: NonNegativeInt
    labelled: bool
    answer: str | None = None
    """What the trace answers: what it marks as its answer, else its last reply as it stands."""
    steps: tuple[Step, ...]
    source: str
    """The file that it was read from."""
    tool: str | None = None
    """Whoever recorded it, by name; unknown where neither the trace nor the command line says."""
    trace: str | None = None
    """Its id there."""
    model: str | None = None
    """The model that replied last, where the trace tells."""
