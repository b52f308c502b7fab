"""Projections of a closed episode: the answer for consumers, and the reflection to learn from. All of it is pure.

``closing`` derives everything that an episode leaves from its record alone, so a worker, a relay on Kafka
and ``verify`` come to the same result.

Theory of operation. ``closing`` first makes the closing event (``close``), then lets the policy summarise its own
trace (``summary_of``), puts that into the reflection (``reflection_of``), writes the answer for consumers
(``answer_of``), and adds the grade of the domain's checker (``check``). The caller records all of it in one commit,
so that nobody ever reads an answer whose episode is still open. Each step may fail for what a policy said, and none
may take the worker along: the episode then ends as failed, with an end that is derived again from the shorter
conclusion. What must never happen here is a look at a label or an outcome: the reflection is what later prompts are
made from. ``Graded`` is a record of its own for that reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from msgspec import structs

from handlers.answers.grade import CHECKERS
from handlers.answers.plain import plain_text
from handlers.policies.base import Conclusion, Policy, Trace
from schemas.answer import Judgements
from schemas.carried import Carried
from schemas.events.base import Event
from schemas.events.codec import BadEvent, as_written
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import Graded, Reflected
from schemas.identity import canonical, digest, is_numbered, text_digest
from schemas.outcome import Status
from schemas.problem import Feedback, finite
from schemas.settings import PolicySettings
from streams.core.defects import describe
from streams.core.judgements import judgements
from streams.core.totals import EpisodeTotals, in_order
from streams.core.unkept import AT_THE_END, Unkept, is_unkept


@dataclass(frozen=True, slots=True)
class Closing:
    """Everything that is recorded when an episode ends, in one commit."""

    closed: EpisodeClosed
    answer: bytes
    reflected: Reflected
    graded: tuple[tuple[str, Graded], ...]
    headers: Carried | None = None
    """What its application wants to find on the answer."""


def trace_of(
    journal: Mapping[str, Event], texts: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> Trace:
    """The numbered records of a journal, in order; read when the trace is first looked at.

    ``texts`` are what vectors are made of, by address, if that is known.
    """
    return Trace(_numbered(journal), texts)


def _numbered(journal: Mapping[str, Event]) -> Iterator[tuple[str, Event]]:
    # A generator, so that nothing is sorted for the many policies that never look at their trace.
    for address in in_order(filter(is_numbered, journal)):
        yield address, journal[address]


def status_of(conclusion: Conclusion) -> Status:
    """``answered``, ``abstained``, ``exhausted`` or ``failed``."""
    # The limit comes first: a policy that gave its best answer at the limit is
    # exhausted, not answered.
    if conclusion.limit is not None:
        return "exhausted"
    if conclusion.ended_by.startswith("error"):
        return "failed"
    return "abstained" if conclusion.answer is None else "answered"


def close(tally: EpisodeTotals, conclusion: Conclusion, seconds: float) -> EpisodeClosed:
    """The closing of an episode."""
    closed = EpisodeClosed(
        status=status_of(conclusion),
        ended_by=conclusion.ended_by,
        answer=conclusion.answer,
        confidence=conclusion.confidence,
        confidence_source=conclusion.confidence_source,
        calibrated=conclusion.calibrated,
        usage=tally.usage(seconds),
        items=tally.items(),
    )
    return as_written(closed)


def answer_of(
    episode: str,
    admitted: ProblemAdmitted,
    opened: EpisodeOpened,
    closed: EpisodeClosed,
    judged: Judgements,
) -> dict[str, Any]:
    """The answer as a consumer receives it."""
    # What is rare is left out where there is nothing to say, since consumers store one
    # of these an episode.
    unread = {"judgements": structs.asdict(judged)} if judged.unread else {}
    typed = admitted.problem.answer_type
    is_json = typed is not None and typed.type == "json"
    # An answer in JSON is meant for programs; to read it as LaTeX would spoil its backslashes.
    plain = closed.answer if closed.answer is None or is_json else plain_text(closed.answer)
    typeset = {} if plain == closed.answer else {"plain": plain}
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
        "usage": closed.usage.told(),
        **unread,
        **typeset,
    }


@dataclass(frozen=True, slots=True)
class Summary:
    """The policy's own summary of an episode, and the texts that vectors in it are made of."""

    said: dict[str, Any]
    texts: tuple[str, ...] = ()


NOTHING_SAID = Summary({})


def summary_of(
    policy: Policy[Any],
    settings: PolicySettings,
    closed: EpisodeClosed,
    trace: Trace,
    conclusion: Conclusion,
) -> Summary:
    """The policy's summary; nothing of an episode that failed."""
    # A policy that failed may have left its trace in a state that its own summary does not expect.
    if closed.status == "failed":
        return NOTHING_SAID
    said = policy.reflect(trace, conclusion, settings)
    return Summary(finite(said), policy.measured_texts(trace, settings))


def reflection_of(
    policy: Policy[Any],
    admitted: ProblemAdmitted,
    opened: EpisodeOpened,
    closed: EpisodeClosed,
    tally: EpisodeTotals,
    summary: Summary,
) -> Reflected:
    """The reflection that an episode leaves to learn from. It never holds the outcome. Source: MC² eq. (8)."""
    problem = admitted.problem
    return Reflected(
        scope=admitted.scope,
        policy=policy.reference,
        problem_id=problem.id,
        domain=problem.domain,
        problem=problem.problem,
        statement=problem.statement,
        answer_type=None if problem.answer_type is None else problem.answer_type.said,
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
        held_out=tally.held_out() or None,
        memory_version=opened.memory_version,
        memory_revision=opened.memory_revision,
        embedder=tally.embedder(),
        texts=summary.texts or None,
        settings=opened.settings,
        backbones=opened.backbones,
        summary=summary.said,
    )


# Their absence must not change a digest: grades of earlier builds stand at addresses that were
# made without them.
UNSAID = ("at", "passed", "review", "of", "mark")


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


def evidence_of(feedback: Feedback) -> Any:
    """The evidence of a grade by feedback: the judgement as it was given, or what stands for it."""
    if feedback.mark is not None:
        return {"mark": feedback.mark}
    unsaid = {name for name in UNSAID if getattr(feedback, name) is None}
    return feedback.model_dump(mode="json", exclude=unsaid)


def graded_address(event: Graded, evidence: Any) -> str:
    """The address of a grade: the same grader on the same evidence grades once."""
    return grade_address(event.grader, event.by, event.source, evidence)


GRADED = "graded."
"""What addresses of grades begin with."""


def grade_address(grader: str, by: str, source: str | None, evidence: Any) -> str:
    """Where the grade of a grader would stand."""
    return f"{GRADED}{digest([grader, by, source, evidence])}"


def closing(
    policy: Policy[Any],
    settings: PolicySettings,
    episode: str,
    admitted: ProblemAdmitted,
    opened: EpisodeOpened,
    journal: dict[str, Event],
    conclusion: Conclusion,
    seconds: float,
    tally: EpisodeTotals | None = None,
    room: int | None = None,
) -> Closing:
    """Everything that an episode's end leaves: a pure function of its record.

    ``tally`` is what the record comes to, where it was kept along. An end that has no ``room`` on its log is
    a failure that says so.
    """
    tally = EpisodeTotals.of(journal) if tally is None else tally
    try:
        closed = close(tally, conclusion, seconds)
    except BadEvent as error:
        # No record can hold what the policy concluded, such as an answer that is no text.
        conclusion = Conclusion(answer=None, ended_by=f"error: {describe(error)}")
        closed = close(tally, conclusion, seconds)
    try:
        trace = trace_of(journal, tally.texts)
        summary = summary_of(policy, settings, closed, trace, conclusion)
        reflected = reflection_of(policy, admitted, opened, closed, tally, summary)
        if summary != NOTHING_SAID:
            # To read it back takes time for a large event. All its other parts
            # were read back before.
            reflected = as_written(reflected)
    except (Exception, SystemExit) as error:
        # It is the policy's own defect, and thus the episode's outcome. The worker goes on, also
        # where the policy would end it.
        conclusion = Conclusion(answer=None, ended_by=f"error: reflect: {describe(error)}")
        closed = close(tally, conclusion, seconds)
        reflected = reflection_of(policy, admitted, opened, closed, tally, NOTHING_SAID)
    judged = judgements(journal.values())
    answer = canonical(answer_of(episode, admitted, opened, closed, judged))
    unkept = _unkept(room, conclusion, closed, answer, reflected)
    if unkept is not None:
        # Sizes are known only now that all parts are made. What replaces them holds no text of the
        # policy's, so it fits, and need not be measured again.
        closed = close(tally, Conclusion(answer=None, ended_by=unkept.ended_by), seconds)
        reflected = reflection_of(policy, admitted, opened, closed, tally, NOTHING_SAID)
        answer = canonical(answer_of(episode, admitted, opened, closed, judged))
    return Closing(closed, answer, reflected, check(reflected), admitted.headers)


def _unkept(
    room: int | None,
    conclusion: Conclusion,
    closed: EpisodeClosed,
    answer: bytes,
    reflected: Reflected,
) -> Unkept | None:
    """Return the part of an episode's end that is too large for its log."""
    # An episode that ends because a record was too large has the smallest end there is already.
    if room is None or is_unkept(conclusion.ended_by):
        return None
    sizes = (
        (closed.kind, len(closed.to_json())),
        ("answer", len(answer)),
        (reflected.kind, len(reflected.to_json())),
    )
    found = (Unkept(kind, AT_THE_END, size, room) for kind, size in sizes if size > room)
    return next(found, None)
