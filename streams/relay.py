"""Projections of a closed episode: its answer for consumers, and what it leaves to learn from. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handlers.answers.grade import CHECKERS
from handlers.policies.base import Conclusion, Policy, Trace
from schemas.events.base import Event
from schemas.events.episode import (
    Completed,
    Embedded,
    EpisodeClosed,
    EpisodeOpened,
    ProblemAdmitted,
)
from schemas.events.graph import ExperienceShown
from schemas.events.learning import Graded, Reflected
from schemas.events.reasoning import KnowledgeReached
from schemas.identity import address_order, canonical, digest, is_numbered, text_digest
from schemas.settings import PolicySettings
from schemas.usage import Usage, total
from streams.defects import describe


@dataclass(frozen=True, slots=True)
class Closing:
    """Everything that is recorded when an episode ends, in one commit."""

    closed: EpisodeClosed
    answer: bytes
    reflected: Reflected
    graded: tuple[tuple[str, Graded], ...]


def trace_of(journal: dict[str, Event]) -> Trace:
    """The numbered records of a journal, in order."""
    numbered = sorted(filter(is_numbered, journal), key=address_order)
    return Trace(tuple([(address, journal[address]) for address in numbered]))


def usage_of(trace: Trace, seconds: float | None) -> Usage:
    """What an episode spent. Seconds are those of its critical path, unknown if any latency is."""
    spent = total([event for _, event in trace.events if isinstance(event, Completed)])
    return spent if spent.seconds is None else spent.model_copy(update={"seconds": seconds})


def items_of(trace: Trace) -> tuple[str, ...]:
    """Ids of the memory items that were in an episode's prompts, each once."""
    seen = (
        item
        for _, event in trace.events
        if isinstance(event, KnowledgeReached | ExperienceShown)
        for item in event.items
    )
    return tuple(dict.fromkeys(seen))


def embedder_of(trace: Trace) -> str | None:
    """What made an episode's vectors, if it has any."""
    made = (event.embedder for _, event in trace.events if isinstance(event, Embedded))
    return next(made, None)


def status_of(conclusion: Conclusion) -> str:
    """``answered``, ``abstained``, ``exhausted`` or ``failed``."""
    if conclusion.limit is not None:
        return "exhausted"
    if conclusion.ended_by.startswith("error"):
        return "failed"
    return "abstained" if conclusion.answer is None else "answered"


def close(trace: Trace, conclusion: Conclusion, seconds: float) -> EpisodeClosed:
    """The closing of an episode."""
    return EpisodeClosed.model_validate(
        {
            "status": status_of(conclusion),
            "ended_by": conclusion.ended_by,
            "answer": conclusion.answer,
            "confidence": conclusion.confidence,
            "confidence_source": conclusion.confidence_source,
            "calibrated": conclusion.calibrated,
            "usage": usage_of(trace, seconds),
            "items": items_of(trace),
        }
    )


def answer_of(
    episode: str, admitted: ProblemAdmitted, opened: EpisodeOpened, closed: EpisodeClosed
) -> dict[str, Any]:
    """What a consumer gets."""
    return {
        "problem_id": admitted.problem.id,
        "episode": episode,
        "domain": admitted.problem.domain,
        "policy": opened.policy,
        "status": closed.status,
        "ended_by": closed.ended_by,
        "answer": closed.answer,
        "confidence": closed.confidence,
        "confidence_source": closed.confidence_source,
        "calibrated": closed.calibrated,
        "usage": closed.usage.model_dump(),
    }


def reflection_of(
    policy: Policy[Any],
    settings: PolicySettings,
    admitted: ProblemAdmitted,
    opened: EpisodeOpened,
    closed: EpisodeClosed,
    trace: Trace,
    conclusion: Conclusion,
) -> Reflected:
    """What an episode leaves to learn from; never its outcome. Source: MC² eq. (8)."""
    problem = admitted.problem
    return Reflected(
        scope=admitted.scope,
        policy=policy.reference,
        problem_id=problem.id,
        domain=problem.domain,
        problem=problem.problem,
        problem_digest=text_digest(problem.problem),
        dataset=problem.dataset,
        profile=problem.profile,
        learning=policy.settings.learning_values(problem.profile, problem.settings),
        series=problem.series,
        position=problem.position,
        labelled=problem.labelled,
        status=closed.status,
        answer=closed.answer,
        confidence=closed.confidence,
        confidence_source=closed.confidence_source,
        usage=closed.usage,
        items=closed.items,
        memory_version=opened.memory_version,
        memory_revision=opened.memory_revision,
        embedder=embedder_of(trace),
        settings=opened.settings,
        backbones=opened.backbones,
        summary=policy.reflect(trace, conclusion, settings) if closed.status != "failed" else {},
    )


def check(reflected: Reflected) -> tuple[tuple[str, Graded], ...]:
    """The grade of the domain's own checker, if it has one; it needs no label."""
    checker = CHECKERS.get(reflected.domain)
    if checker is None:
        return ()
    grade = checker(reflected.problem, reflected.answer)
    event = Graded(
        scope=reflected.scope,
        outcome=grade.outcome,
        grader=grade.grader,
        by="checker",
        detail=grade.detail or None,
    )
    return ((graded_address(event, None), event),)


def graded_address(event: Graded, evidence: Any) -> str:
    """Where a grade stands: the same grader on the same evidence grades once."""
    return f"graded.{digest([event.grader, event.by, event.source, evidence])}"


def closing(
    policy: Policy[Any],
    settings: PolicySettings,
    episode: str,
    admitted: ProblemAdmitted,
    opened: EpisodeOpened,
    journal: dict[str, Event],
    conclusion: Conclusion,
    seconds: float,
) -> Closing:
    """Everything that an episode's end leaves: a pure function of its record."""
    trace = trace_of(journal)
    closed = close(trace, conclusion, seconds)
    try:
        reflected = reflection_of(policy, settings, admitted, opened, closed, trace, conclusion)
    except Exception as error:  # the policy's own defect: the episode's outcome, not the worker's
        conclusion = Conclusion(answer=None, ended_by=f"error: reflect: {describe(error)}")
        closed = close(trace, conclusion, seconds)
        reflected = reflection_of(policy, settings, admitted, opened, closed, trace, conclusion)
    answer = canonical(answer_of(episode, admitted, opened, closed))
    return Closing(closed, answer, reflected, check(reflected))
