"""Feedback as a grade: a person's verdict, the domain's own checker, or a comparison with a reference."""

from __future__ import annotations

from typing import Any

import orjson

from handlers.answers.grade import CHECKERS, Grade
from schemas.events.learning import Graded, Reflected
from schemas.outcome import Outcome
from schemas.problem import Feedback
from streams.grading.grader import Grading
from streams.relay import graded_address

VERDICT = "verdict@1"


def as_text(reference: Any) -> str:
    """A reference as text; lists and booleans as JSON."""
    return reference if isinstance(reference, str) else orjson.dumps(reference).decode()


def said(feedback: Feedback, answered: bool) -> Grade:
    """The outcome that a person's verdict or score stands for; a score of one half says nothing."""
    if not answered:
        return Grade(outcome="withheld", grader=VERDICT)
    score = float(feedback.verdict) if feedback.verdict is not None else feedback.score or 0.0
    outcome: Outcome = "unknown" if score == 0.5 else "right" if score > 0.5 else "wrong"
    return Grade(outcome=outcome, grader=VERDICT, detail=f"score {score}")


async def opinion(grader: Grading, reflected: Reflected, feedback: Feedback) -> Grade:
    """The grade that feedback stands for: a verdict, the domain's checker, or a comparison."""
    if feedback.reference is None:
        return said(feedback, reflected.answer is not None)
    checker = CHECKERS.get(reflected.domain)
    if checker is not None:
        return checker(reflected.problem, reflected.answer)
    return await grader.grade(
        reflected.answer,
        as_text(feedback.reference),
        dataset=reflected.dataset or reflected.domain,
        problem=reflected.problem,
    )


async def graded(grader: Grading, reflected: Reflected, feedback: Feedback) -> tuple[str, Graded]:
    """The record that feedback makes of an answer, and its address: each pair is graded once."""
    grade = await opinion(grader, reflected, feedback)
    event = Graded(
        scope=reflected.scope,
        outcome=grade.outcome,
        grader=grade.grader,
        by="feedback",
        source=feedback.by,
        detail=grade.detail or None,
    )
    return graded_address(event, feedback.model_dump(mode="json")), event
