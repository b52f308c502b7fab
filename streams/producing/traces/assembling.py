"""Spans of one trace put together as a case: what was asked, what was replied and done, and how it was judged.

Where the span of an agent holds what was asked and answered, that is the case's problem and answer; its chats and calls
of tools are the steps. Without one the first chat's question is the problem, and the last reply the answer. An agent's
chats repeat the conversation so far, so that of each chat after the first only its own reply counts, and what tools
returned since.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemas.events.traces import Step
from streams.producing.sources import BadLine
from streams.producing.traces.case import Case, Label, score_of, verdict_of
from streams.producing.traces.messages import RETURNS, Message, Returned, Steps, as_text, parted
from streams.producing.traces.spans import AGENT, EVALUATED, TOOL, Span, in_time

PROBLEM_ID, DOMAIN = "metalogue.problem_id", "metalogue.domain"
"""Attributes by which a tool may say which problem it worked on."""
ROLE, REASONER = "metalogue.role", "reasoner"
"""By what spans of our own say whose call it was."""


@dataclass(frozen=True, slots=True)
class Read:
    """A span that holds texts, with them."""

    span: Span
    input: list[Message]
    output: Message | None


def case_of(spans: Sequence[Span], evaluation: str | None = None) -> Case:
    """The case of one trace. ``evaluation`` names the evaluation whose result is its verdict.

    Raises ``BadLine`` that says what it lacks.
    """
    ordered = in_time(spans)
    read = [Read(span, span.input(), span.output()) for span in ordered if span.operation != TOOL]
    read = [each for each in read if each.input or each.output is not None]
    agents = [each for each in read if each.span.operation == AGENT and each.input]
    chats = [each for each in read if each.span.operation != AGENT]
    # What a Monitor said of the attempt, and a Controller did about it, is no part of it.
    attempt = [each for each in chats if each.span.text(ROLE) in (None, REASONER)] or chats
    first = next(iter([*agents, *attempt]), None)
    if first is None:
        said = f"trace {spans[0].trace} holds no texts: its tool has to record messages"
        raise BadLine(1, spans[0].place, said, "trace.texts")
    problem, rest = parted(first.input, first.span.place)
    agent = agents[0] if agents else None
    tools = [span for span in ordered if span.operation == TOOL]
    # What stood behind an agent's question is what its own chats say once more, one by one.
    steps = _steps(attempt or agents, [] if agent else rest, tools)
    answer = agent.output.text.strip() if agent and agent.output else ""
    last = (attempt or agents)[-1].span
    return Case(
        line=first.span.line,
        problem=problem,
        steps=steps.all(first.span.place),
        answer=answer or None,
        label=_label(ordered, chats, agent, evaluation),
        tool=next((span.service for span in ordered if span.service), None),
        trace=first.span.trace,
        model=last.text("gen_ai.response.model", "gen_ai.request.model"),
        problem_id=first.span.text(PROBLEM_ID),
        domain=first.span.text(DOMAIN),
        in_spans=True,
    )


def _steps(chats: Sequence[Read], rest: Sequence[Message], tools: Sequence[Span]) -> Steps:
    """Replies and calls in the order in which they began. ``rest`` is what the first chat knew beside its question.

    Calls stand in their own spans where those say what came back, else in the messages.
    """
    # Tools that record their calls as spans leave them in the messages too. One of both
    # places has to be passed over, or each call would be two steps.
    told = [span for span in tools if "gen_ai.tool.call.result" in span.attributes]
    steps, waiting = Steps(), list(told)
    steps.take(rest)
    seen = {_mark(each) for message in rest for each in message.returned}
    for chat in chats:
        while waiting and waiting[0].begun < chat.span.begun:
            steps.found.append(_called(waiting.pop(0)))
        if not told:
            # Each chat repeats the conversation so far. Only what was not there
            # before has come since.
            came = [
                each
                for message in chat.input
                if message.role in RETURNS
                for each in message.returned
            ]
            steps.returns([each for each in came if _mark(each) not in seen])
            seen |= {_mark(each) for each in came}
        if chat.output is not None:
            steps.says(chat.output, calls=not told)
    steps.found += map(_called, waiting)
    return steps


def _mark(returned: Returned) -> tuple[str | None, str]:
    return returned.id, returned.text


def _called(span: Span) -> Step:
    asked: Any = span.attributes.get("gen_ai.tool.call.arguments")
    return Step(
        by="tool",
        tool=span.text("gen_ai.tool.name"),
        asked=None if asked is None else as_text(asked),
        text=as_text(span.attributes["gen_ai.tool.call.result"]),
        failed=True if span.failed else None,
    )


# ── How it was judged ────────────────────────────────────────────────────────────────────────


def _label(
    spans: Sequence[Span], chats: Sequence[Read], agent: Read | None, evaluation: str | None
) -> Label | None:
    """The newest verdict on the answer. What nobody named counts where it says right or wrong in a word for that."""
    # An evaluation of one chat or tool among others judges a step. To take it for a verdict on the
    # answer would be a guess, and a wrong one teaches.
    parts = {span.id for span in spans if span.operation == TOOL}
    if agent is not None or len(chats) != 1:
        parts |= {each.span.id for each in chats}
    found = (noted for span in spans if span.id not in parts for noted in span.noted)
    judged = sorted((each for each in found if each.name == EVALUATED), key=lambda n: n.at)
    label: Label | None = None
    for noted in judged:
        said, name = noted.attributes, noted.attributes.get("gen_ai.evaluation.name")
        if evaluation is not None and name != evaluation:
            continue
        # A bare score or truth says nothing unless somebody chose its evaluation: it may
        # measure length or politeness, and be true of a lie.
        chosen, score = evaluation is not None, said.get(SCORE)
        verdict = verdict_of(said.get("gen_ai.evaluation.score.label"), truths=chosen)
        # JSON of OTLP may spell a number as text.
        if isinstance(score, str) and NUMBER.fullmatch(score):
            score = float(score)
        if verdict is not None:
            label = verdict
        elif chosen and isinstance(score, int | float) and not isinstance(score, bool):
            label = score_of(score, SCORE)
    return label


SCORE = "gen_ai.evaluation.score.value"
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
