"""A line of chat messages as a case: ``messages``, and what somebody said of the answer.

Fields that are not named here are other tools' own, and are passed over.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, StrictBool, StrictFloat, StrictInt

from schemas.problem import Name, ProblemId, ReferenceAnswer
from streams.producing.sources import BadLine, SourceLine, parse_as
from streams.producing.traces.case import Case, Label, score_of, verdict_of
from streams.producing.traces.messages import Steps, messages_of, parted

SAID = ("reference", "label", "verdict", "reward", "score")
BLANK: Final[tuple[Any, ...]] = (None, "", [])


class ChatLine(BaseModel):
    """One line, as other tools write it."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, strict=True)

    messages: list[Any]
    id: str | int | None = None
    trace_id: str | None = None
    problem_id: ProblemId | None = None
    domain: Name | None = None
    dataset: Name | None = None
    tool: str | None = None
    model: str | None = None
    answer: str | None = None
    reference: ReferenceAnswer = None
    label: ReferenceAnswer = None
    verdict: StrictBool | None = None
    reward: StrictInt | StrictFloat | None = None
    score: StrictInt | StrictFloat | None = None
    subject: Any = None


def case_of(line: SourceLine) -> Case:
    """The case on a line. Raises ``BadLine`` that names what is wrong with it."""
    said = parse_as(ChatLine, line.raw)
    # What a case taught is everybody's, and no key would erase it again.
    if said.subject is not None:
        raise BadLine(1, "subject", "what is taken in is of no subject", "input.subject")
    problem, rest = parted(messages_of(said.messages, "messages"), "messages")
    steps = Steps()
    steps.take(rest)
    # Tools name a trace in one of two ways; the narrower name comes first.
    trace = said.trace_id if said.trace_id is not None else said.id
    return Case(
        line=line,
        problem=problem,
        steps=steps.all("messages"),
        answer=said.answer,
        label=_label(said),
        tool=said.tool,
        trace=None if trace is None else str(trace),
        model=said.model,
        problem_id=said.problem_id,
        domain=said.domain,
        dataset=said.dataset,
    )


def _label(said: ChatLine) -> Label | None:
    """What was said of the answer. A label of true or false, or in a word for either, is a verdict."""
    # Tools leave a field blank where nobody judged, and by that no answer is right or wrong.
    found = {name: getattr(said, name) for name in SAID}
    found = {name: each.strip() if isinstance(each, str) else each for name, each in found.items()}
    given = [name for name, each in found.items() if each not in BLANK]
    # Which of the two is meant cannot be known, and a verdict is never guessed.
    if len(given) > 1:
        raise BadLine(1, given[1], f"stands beside {given[0]}: give one of them", "input.field")
    if said.verdict is not None:
        return Label(verdict=said.verdict)
    for name in ("reward", "score"):
        value = getattr(said, name)
        if value is not None:
            return score_of(value, name)
    if "reference" in given:
        return Label(reference=said.reference)
    if "label" in given:
        return verdict_of(said.label) or Label(reference=said.label)
    return None
