"""Episodes as spans by OpenTelemetry's conventions for generative AI; pure functions of the record.

An episode is one trace: ``invoke_agent {policy}`` with a child for each answer on record (``chat``,
``embeddings``, ``retrieval``, ``execute_tool``). Trace and span ids follow from log, episode and address,
so sending a span again changes nothing. No prompt and no reply's text leaves, only names and figures, unless
who sends them gives their texts along (``streams.telemetry.texts``). Replies that a probe took over from its
parent are in its parent's trace alone: nobody was asked for them again, and no usage of the probe holds them.

Source: OpenTelemetry semantic conventions for generative AI, agent spans and evaluation results.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from schemas.events.episode import (
    Completed,
    Embedded,
    EpisodeClosed,
    EpisodeOpened,
    ProblemAdmitted,
    Recalled,
)
from schemas.events.graph import ToolCalled
from schemas.events.learning import BatchClosed, Graded
from schemas.record import Record, event_id
from schemas.usage import Usage, total

Attribute: TypeAlias = str | int | float | tuple[str, ...]
Attributes: TypeAlias = Mapping[str, Attribute]

EVALUATED: Final = "gen_ai.evaluation.result"
ERRORS: Final = frozenset({"error", "timeout"})
SCORES: Final = ("value", "reward")
"""Where the assessing facts hold their number."""
SCORE_OF: Final[Mapping[str, float]] = {"right": 1.0, "wrong": 0.0}
NO_TEXTS: Final[Mapping[str, Attributes]] = MappingProxyType({})
_BACKBONE = re.compile(r"(?:(?P<role>[\w-]+)=)?(?P<kind>[a-z]+)")


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that was observed during a span."""

    name: str
    at_ms: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """One span. ``remote`` tells a call that left the process from work inside it."""

    trace: int
    id: int
    name: str
    start_ms: int
    end_ms: int
    parent: int | None = None
    remote: bool = False
    attributes: Attributes = field(default_factory=dict[str, Attribute])
    noted: tuple[Noted, ...] = ()
    error: str | None = None


def number(name: str, digits: int) -> int:
    """A span's or trace's id: so many hexadecimal digits of the digest of what it is."""
    # Never zero, which the protocol takes for no id at all.
    return int(hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits], 16) or 1


def trace_of(log: str, episode: str) -> int:
    """The trace of an episode of this log."""
    return number(f"{log}/{episode}", 32)


def span_of(log: str, episode: str, address: str) -> int:
    """The span of a record of this log."""
    return number(f"{log}/{event_id(episode, address)}", 16)


def spans(
    log: str,
    records: Sequence[Record],
    backbones: str,
    texts: Mapping[str, Attributes] = NO_TEXTS,
) -> Iterator[Span]:
    """The spans of a closed episode, the episode's own first. ``records`` are all that it has.

    ``texts`` are more attributes of the span at an address.
    """
    by_address = {record.address: record for record in records}
    closed = by_address["closed"]
    # A learning episode has no opening: the closing of its batch stands for it.
    first = by_address.get("opened") or by_address.get("batch") or closed
    about: Attributes = {}
    match by_address.get("admitted"):
        case Record(event=ProblemAdmitted(problem=problem)):
            # By these a problem comes back under its own id where its spans are taken in.
            about = {"metalogue.problem_id": problem.id, "metalogue.domain": problem.domain}
        case _:
            pass
    replies = [record.event for record in records if isinstance(record.event, Completed)]
    paid = None
    if any(reply.reused for reply in replies):
        # Its closing counts what was taken over, for its limits did.
        paid = total(reply for reply in replies if not reply.reused)
    root = _root(log, first, closed, paid, backbones, {**about, **texts.get("closed", {})})
    yield root
    noted = _assessments(records)
    for record in records:
        child = _child(record, backbones)
        if child is not None:
            name, start, attributes, error = child
            place = {"gen_ai.conversation.id": record.episode, "metalogue.at": record.address}
            yield Span(
                root.trace,
                span_of(log, record.episode, record.address),
                name,
                start,
                record.at_ms,
                root.id,
                isinstance(record.event, Completed),
                {**attributes, **place, **texts.get(record.address, {})},
                tuple(noted.get(record.address, ())),
                error,
            )


def _root(
    log: str, first: Record, closed: Record, paid: Usage | None, backbones: str, more: Attributes
) -> Span:
    """The span of the episode itself, with what it paid where its closing says more."""
    event, begun = closed.event, first.event
    assert isinstance(event, EpisodeClosed)
    usage = paid or event.usage
    agent, purpose = "unknown", None
    if isinstance(begun, EpisodeOpened):
        agent, purpose = begun.policy, begun.purpose
    elif isinstance(begun, BatchClosed):
        agent, purpose = begun.policy, "learning"
    failed = event.status == "failed"
    said = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider(backbones, "*"),
        "gen_ai.agent.name": agent,
        "gen_ai.agent.version": getattr(begun, "policy_version", None),
        "gen_ai.conversation.id": closed.episode,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "metalogue.status": event.status,
        "metalogue.ended_by": event.ended_by,
        "metalogue.calls": usage.calls,
        "metalogue.purpose": purpose,
        "error.type": "error" if failed else None,
    }
    return Span(
        trace_of(log, closed.episode),
        span_of(log, closed.episode, "closed"),
        f"invoke_agent {agent}",
        first.at_ms,
        # The clock may have been set back meanwhile, and no viewer shows a span that
        # ends before it starts.
        max(first.at_ms, closed.at_ms),
        attributes={**_given(said), **more},
        error=event.ended_by if failed else None,
    )


def graded(log: str, record: Record) -> Span:
    """A grade as a span of its own under its episode's: it may come long after the episode ended."""
    event, episode = record.event, record.episode
    assert isinstance(event, Graded)
    result = {
        "gen_ai.evaluation.name": event.grader,
        "gen_ai.evaluation.score.label": event.outcome,
        "gen_ai.evaluation.score.value": SCORE_OF.get(event.outcome),
        "gen_ai.evaluation.explanation": event.detail,
        "metalogue.graded_by": event.by,
        "metalogue.graded_source": event.source,
    }
    return Span(
        trace_of(log, episode),
        span_of(log, episode, record.address),
        f"evaluate {event.grader}",
        record.at_ms,
        record.at_ms,
        span_of(log, episode, "closed"),
        attributes={"gen_ai.conversation.id": episode},
        noted=(Noted(EVALUATED, record.at_ms, _given(result)),),
    )


def provider(backbones: str, role: str) -> str:
    """Return who answers a role, by the kind of its backbone: ``openai``, ``llamacpp``, ``rehearsal``."""
    # An episode's opening says its backbones in words, so that people can read it; here
    # they are taken apart.
    found: dict[str, str] = {}
    for said in backbones.split(", "):
        named = _BACKBONE.match(said)
        if named is not None:
            found.setdefault(named["role"] or "*", named["kind"])
    return found.get(role) or found.get("*") or "_OTHER"


def _child(record: Record, backbones: str) -> tuple[str, int, Attributes, str | None] | None:
    """Name, start, attributes and error of what one record asked of the world."""
    match record.event:
        case Completed(reused=True):
            return None
        case Completed() as event:
            # The record is made when the reply is here. When the call went out is
            # reckoned back from that.
            start = record.at_ms - round(1000 * (event.seconds or 0.0))
            error = event.finish if event.finish in ERRORS else None
            # A fingerprint begins with the sort of question and the role that it is put to.
            role = event.asked.split(" ")[1]
            asked: dict[str, Attribute | None] = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": event.model,
                "gen_ai.provider.name": provider(backbones, role),
                "gen_ai.response.model": event.model,
                "gen_ai.response.finish_reasons": (event.finish,),
                "gen_ai.usage.input_tokens": event.prompt_tokens,
                "gen_ai.usage.output_tokens": event.completion_tokens,
                "gen_ai.usage.cache_read.input_tokens": event.cached_tokens,
                "gen_ai.usage.reasoning.output_tokens": event.reasoning_tokens,
                "metalogue.role": role,
                "metalogue.attempts": event.attempts,
                "metalogue.cost": event.cost,
                "error.type": error,
            }
            return f"chat {event.model}", start, _given(asked), error
        case Embedded() as event:
            model = event.embedder
            said = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": model}
            return f"embeddings {event.embedder}", record.at_ms, said, None
        case Recalled() as event:
            said = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "memory"}
            version = {"metalogue.memory_version": event.memory_version}
            return "retrieval memory", record.at_ms, said | version, None
        case ToolCalled() as event:
            said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.tool}
            error = event.result if event.result in ERRORS else None
            return f"execute_tool {event.tool}", record.at_ms, said, error
        case _:
            return None


def _assessments(records: Sequence[Record]) -> dict[str, list[Noted]]:
    """Facts that assess a reply, by the reply's address."""
    # A judgement is a reply of its own. What it says goes to the span of what it judges, where
    # viewers look for it.
    found: dict[str, list[Noted]] = {}
    for record in records:
        event = record.event
        source = getattr(event, "source", None)
        if event.act != "assessed" or not isinstance(source, str):
            continue
        value = next((v for name in SCORES if (v := getattr(event, name, None)) is not None), None)
        said = _given(
            {
                "gen_ai.evaluation.name": event.kind,
                "gen_ai.evaluation.score.value": value,
                "gen_ai.evaluation.score.label": getattr(event, "flag", None),
            }
        )
        found.setdefault(source, []).append(Noted(EVALUATED, record.at_ms, said))
    return found


def _given(said: Mapping[str, Attribute | None]) -> Attributes:
    """Return what is known: an unknown number is left out, and is never 0."""
    return {name: value for name, value in said.items() if value is not None}
