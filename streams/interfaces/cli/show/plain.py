"""Episodes and addresses as plain values for scripts, with every text as it was recorded."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from handlers.policies.mc2.trace import history
from schemas.events.codec import plain
from schemas.questions import Complete
from streams.core.closing import trace_of
from streams.interfaces.cli.show.moment import StepView
from streams.views.sheet import EpisodeView


def _status(sheet: EpisodeView) -> str:
    """How an episode ended, or why it has not."""
    if sheet.parked:
        return "parked"
    if sheet.cancelled:
        return "cancelled"
    if sheet.waits:
        return "waiting"
    return "open" if sheet.closed is None else sheet.closed.status


def episode_json(sheet: EpisodeView) -> dict[str, Any]:
    """One object for an episode."""
    closed, opened = sheet.closed, sheet.opened
    parked = sheet.parked
    out = sheet.cancelled
    ended_by = out.reason if out is not None else parked.reason if parked else None
    waits = {"waits": [plain(each) for each in sheet.waits]} if sheet.waits else {}
    return {
        "episode": sheet.episode,
        **_problem(sheet),
        "policy": _policy(sheet),
        "memory_version": opened.memory_version if opened is not None else None,
        "backbones": opened.backbones if opened is not None else None,
        "price_list": opened.price_list if opened is not None else None,
        "parent": opened.parent if opened is not None else None,
        "limits": opened.limits.model_dump(exclude_none=True) if opened is not None else {},
        "batch": sheet.batch,
        "status": _status(sheet),
        "ended_by": closed.ended_by if closed is not None else ended_by,
        "answer": closed.answer if closed is not None else None,
        **waits,
        "forgotten": None if sheet.forgotten is None else plain(sheet.forgotten),
        "outcome": sheet.known.outcome,
        **_graded(sheet),
        "judgements": structs.asdict(sheet.judged),
        "confidence": closed.confidence if closed is not None else None,
        "confidence_source": closed.confidence_source if closed is not None else None,
        "calibrated": closed.calibrated if closed is not None else None,
        "usage": sheet.usage.told(),
        "items": list(closed.items) if closed is not None else [],
        "resumed": sheet.resumed,
        "taught": [lesson.id for lesson in sheet.taught or ()],
        "learned_in": sheet.learned_in,
        "summary": sheet.summary,
        "steps": [{"at": at, "act": event.act, **plain(event)} for at, event in sheet.numbered],
    }


def history_json(sheet: EpisodeView) -> dict[str, Any]:
    """What MC² keeps of an episode, a record a round (§ C.6); nothing of another policy's."""
    if sheet.opened is None or sheet.opened.policy != "mc2":
        return {}
    return {"history": history(trace_of(sheet.journal))}


def _graded(sheet: EpisodeView) -> dict[str, str | None]:
    """What is known of the answer, with *undecided* and *not graded* told apart, and whose word it is."""
    closed, known = sheet.closed, sheet.known
    standing = (
        None if closed is None or sheet.learning else known.standing(closed.answer is not None)
    )
    return {"graded": standing, "graded_by": None if known.word is None else known.word.who}


def _policy(sheet: EpisodeView) -> str | None:
    source = sheet.opened or sheet.learned_from
    return None if source is None else f"{source.policy}@{source.policy_version}"


def _problem(sheet: EpisodeView) -> dict[str, Any]:
    if sheet.admitted is None:
        members = sheet.learned_from.members if sheet.learned_from is not None else ()
        return {"members": list(members)}
    problem = sheet.admitted.problem
    return {
        "problem_id": problem.id,
        "problem": problem.problem,
        "domain": problem.domain,
        "series": problem.series,
        "position": problem.position,
    }


def moment_json(sheet: EpisodeView, moment: StepView) -> dict[str, Any]:
    """One object for an address."""
    question, answer = moment.question, moment.answer
    facts = moment.row.said if moment.row is not None else ()
    return {
        "episode": sheet.episode,
        "at": moment.at,
        "question": None if question is None else type(question).__name__.lower(),
        **(_asked(question) if isinstance(question, Complete) else {}),
        "answer": None if answer is None else plain(answer),
        "facts": [{"at": at, **plain(fact)} for at, fact in facts if at != moment.at],
    }


def _asked(question: Complete) -> dict[str, Any]:
    sampling = question.sampling
    return {
        "role": question.role,
        "template": {"name": question.template.name, "digest": question.template.digest},
        "draw": question.draw,
        "sampling": {name: getattr(sampling, name) for name in sampling.__slots__},
        "messages": [{"role": speaker, "content": text} for speaker, text in question.messages()],
    }
