"""A case: one problem as another tool worked on it, with what is known of how that turned out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from handlers.answers.extract import extract
from schemas.events.traces import Step
from streams.producing.sources import BadLine, SourceLine

VERDICTS: Final = {
    **dict.fromkeys(("right", "correct", "pass", "passed"), True),
    **dict.fromkeys(("wrong", "incorrect", "fail", "failed"), False),
}
"""Words that say of an answer whether it is right."""
TRUTHS: Final = {"true": True, "false": False}
"""Words that say it only of what was asked about the answer: that an answer is relevant may be true as well."""


@dataclass(frozen=True, slots=True)
class Label:
    """What somebody said of the answer: a reference, a verdict, or a score in [0, 1]."""

    reference: Any = None
    verdict: bool | None = None
    score: float | None = None

    @property
    def said(self) -> dict[str, Any]:
        """As the fields of feedback."""
        named = {"reference": self.reference, "verdict": self.verdict, "score": self.score}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One trace as it was read. ``line`` is where it begins."""

    line: SourceLine
    problem: str
    steps: tuple[Step, ...]
    answer: str | None = None
    """The answer, where the trace says it apart from its replies."""
    label: Label | None = None
    tool: str | None = None
    trace: str | None = None
    model: str | None = None
    problem_id: str | None = None
    domain: str | None = None
    dataset: str | None = None
    in_spans: bool = False
    """Whether it was told span by span, so that a file may hold a part of it."""

    @property
    def answered(self) -> str | None:
        """What was answered: as it was said apart, as the last reply marks it, else that reply as it stands."""
        if self.answer is not None:
            return self.answer
        # A chain of thought marks its answer; a chat just gives it.
        replies = (step.text for step in reversed(self.steps) if step.by == "assistant")
        last = (next(replies, None) or "").strip()
        return (extract(last) or last) or None


def score_of(value: float, field: str) -> Label:
    """A score as a label. Raises ``BadLine`` where it is none from 0 to 1."""
    if not 0 <= value <= 1:
        raise BadLine(1, field, f"must be from 0 to 1, and is {value:g}", "input.field")
    return Label(score=float(value))


def verdict_of(said: Any, *, truths: bool = True) -> Label | None:
    """The verdict that a word stands for; nothing where it says none of these.

    ``truths``: whether true and false are said of the answer being right.
    """
    # Only whole words of this list: in "not right" stands one of them as well.
    word = str(said).strip().casefold() if isinstance(said, str | bool) else ""
    found = VERDICTS.get(word, TRUTHS.get(word) if truths else None)
    return None if found is None else Label(verdict=found)
