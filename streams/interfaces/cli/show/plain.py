"""Episodes and addresses as plain values for scripts, with every text as it was recorded."""

from __future__ import annotations

from typing import Any, Final

from msgspec import structs

from handlers.policies.mc2.trace import history
from schemas.events.codec import plain
from schemas.questions import Complete
from streams.core.closing import trace_of
from streams.interfaces.cli.show.moment import StepView
from streams.views.sheet import EpisodeView
from streams.views.states import LEARNED

STATUSES: Final = {"waiting": "open", "running": "open", LEARNED: "answered"}
"""States that scripts know by other words than people."""


def episode_json(sheet: EpisodeView) -> dict[str, Any]:
    """One object for an episode."""
    # Scripts rely on these keys: one may come, none may go or change its meaning. What is not known
    # is null, for 0 or an empty text would be counted as something that was seen.
    closed, opened, known = sheet.closed, sheet.opened, sheet.known
    source, stopped = opened or sheet.learned_from, sheet.cancelled or sheet.parked
    why = None if stopped is None else stopped.reason
    standing = None
    if closed is not None and not sheet.learning:
        # It tells *undecided* and *not graded* apart, which an outcome calls unknown alike.
        standing = known.standing(closed.answer is not None)
    return {
        "episode": sheet.episode,
        **_posed(sheet),
        "policy": None if source is None else f"{source.policy}@{source.policy_version}",
        "memory_version": opened.memory_version if opened is not None else None,
        "backbones": opened.backbones if opened is not None else None,
        "price_list": opened.price_list if opened is not None else None,
        "parent": opened.parent if opened is not None else None,
        "limits": opened.limits.model_dump(exclude_none=True) if opened is not None else {},
        "batch": sheet.batch,
        "status": STATUSES.get(sheet.state, sheet.state),
        "ended_by": why if closed is None else closed.ended_by,
        "answer": closed.answer if closed is not None else None,
        # Only where it waits: scripts test for the key.
        **({"waits": [plain(each) for each in sheet.waits]} if sheet.waits else {}),
        "forgotten": None if sheet.forgotten is None else plain(sheet.forgotten),
        "outcome": known.outcome,
        "graded": standing,
        "graded_by": None if known.word is None else known.word.who,
        "graded_for": sheet.graded_for,
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


def _posed(sheet: EpisodeView) -> dict[str, Any]:
    """The problem, or of a learning episode whom it learned from."""
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
    asked: dict[str, Any] = {}
    if isinstance(question, Complete):
        sampling, template = question.sampling, question.template
        asked = {
            "role": question.role,
            "template": {"name": template.name, "digest": template.digest},
            "draw": question.draw,
            "sampling": {name: getattr(sampling, name) for name in sampling.__slots__},
            "messages": [{"role": who, "content": text} for who, text in question.messages()],
        }
    return {
        "episode": sheet.episode,
        "at": moment.at,
        "question": None if question is None else type(question).__name__.lower(),
        **asked,
        "answer": None if answer is None else plain(answer),
        "facts": [{"at": at, **plain(fact)} for at, fact in facts if at != moment.at],
    }
