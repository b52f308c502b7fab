"""A scoring reply that is read strictly: one re-prompt for the exact format, if a call is left for it.

Source: CoT2-Meta § B.4, table 23.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec import structs

from schemas.asking import Steps
from schemas.events.reasoning import ReplyReparsed
from schemas.events.search import Trust
from schemas.questions import Complete

T = TypeVar("T")


@dataclass(slots=True)
class Meter:
    """How many completions a lane or a search has had, and how many re-prompts it may still make."""

    calls: int = 0
    spare: int = 0


@dataclass(frozen=True, slots=True)
class Heard(Generic[T]):
    """What a reply says after at most one re-prompt, and how it was come by."""

    value: T
    parse: Trust
    source: str


def strictly(
    question: Complete,
    read: Callable[[str], T],
    whole: Callable[[T], bool],
    merge: Callable[[T, T], T],
    request: str,
    meter: Meter,
) -> Steps[Heard[T]]:
    """Ask; if the reply is not ``whole`` ask once more for the format, and ``merge`` both readings."""
    first = yield from question
    meter.calls += 1
    # A reply that was cut is read as nothing: its last score may be half a number.
    value = read("" if first.cut else first.text)
    if whole(value):
        return Heard(value, "first", first.address)
    # Without a call to spare the search goes on with what was read: a re-prompt must never take
    # the call that a policy had set aside for its answer.
    if meter.spare < 1:
        return Heard(value, "defaulted", first.address)
    meter.spare -= 1
    yield ReplyReparsed(role=question.role, source=first.address, reason="not in the format asked")
    history = (("assistant", first.text.strip() or "(no reply)"), ("user", request))
    second = yield from structs.replace(question, history=history)
    meter.calls += 1
    mended = read("" if second.cut else second.text)
    # What was mended in part is still told as defaulted, so that a report can count how often
    # scores were taken at their word.
    trust: Trust = "recovered" if whole(mended) else "defaulted"
    return Heard(merge(value, mended), trust, second.address)
