"""Feedback as a grade: a person's verdict, the domain's own checker, or a comparison with a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from handlers.answers.forms import Compared, compared
from handlers.answers.grade import CHECKERS, VERDICT, Grade
from schemas.answer_type import AnswerType
from schemas.events.episode import EpisodeClosed, ProblemAdmitted
from schemas.events.learning import Graded, Reflected
from schemas.outcome import Outcome
from schemas.problem import Feedback
from streams.answering.grading.grader import Grading
from streams.core.closing import evidence_of, graded_address


def said(feedback: Feedback, answered: bool) -> Grade:
    """The outcome that a person's verdict or score stands for; a score of one half says nothing."""
    if not answered:
        return Grade(outcome="withheld", grader=VERDICT)
    # A verdict is a score of one or nought, so both are read by one rule.
    score = float(feedback.verdict) if feedback.verdict is not None else feedback.score or 0.0
    outcome: Outcome = "unknown" if score == 0.5 else "right" if score > 0.5 else "wrong"
    return Grade(outcome=outcome, grader=VERDICT, detail=f"score {score}")


@dataclass(frozen=True, slots=True)
class Solved:
    """The answer of an episode that leaves nothing to learn from, as a solve does."""

    scope: str
    domain: str
    dataset: str | None
    problem: str
    answer: str | None
    answer_type: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, admitted: ProblemAdmitted, closed: EpisodeClosed) -> Solved:
        """From what is on its record."""
        problem = admitted.problem
        asked = (problem.domain, problem.dataset, problem.problem)
        typed = problem.answer_type
        return cls(admitted.scope, *asked, closed.answer, None if typed is None else typed.said)


Judged: TypeAlias = Reflected | Solved
"""An answer that can be judged: whose it is, to what."""


def held_against(judged: Judged, label: Any) -> Compared:
    """What an answer is held against, by its problem's answer type."""
    said = judged.answer_type
    typed = None if said is None else AnswerType.model_validate(said)
    return compared(judged.dataset or judged.domain, typed, label)


def at_once(judged: Judged, feedback: Feedback, checked: bool = True) -> Grade | None:
    """What a verdict says, or the domain's checker; nothing where a reference is to be compared with."""
    if feedback.reference is None:
        return said(feedback, judged.answer is not None)
    # A checker knows more than a label: of several right answers a label names one.
    checker = CHECKERS.get(judged.domain) if checked else None
    return None if checker is None else checker(judged.problem, judged.answer)


async def opinion(grader: Grading, judged: Judged, feedback: Feedback) -> Grade:
    """The grade that feedback stands for: a verdict, the domain's checker, or a comparison.

    Where the operator gave a grader of his own, it compares, also in a domain that has a checker.
    """
    known = at_once(judged, feedback, checked=grader.own is None)
    if known is not None:
        return known
    held = held_against(judged, feedback.reference)
    assert held.references is not None
    return await grader.grade(
        judged.answer,
        held.references,
        dataset=held.dataset,
        problem=judged.problem,
        typed=held.typed,
    )


def as_graded(judged: Judged, feedback: Feedback, grade: Grade) -> Graded:
    """A grade that feedback stands for, as it is recorded."""
    return Graded(
        scope=judged.scope,
        outcome=grade.outcome,
        grader=grade.grader,
        by="feedback",
        source=feedback.by,
        detail=grade.detail or None,
    )


async def graded(grader: Grading, judged: Judged, feedback: Feedback) -> tuple[str, Graded]:
    """The record that feedback makes of an answer, and its address: each pair is graded once."""
    event = as_graded(judged, feedback, await opinion(grader, judged, feedback))
    # The address follows from grader and evidence, so that a learner that reads the feedback again
    # after a crash puts the grade where it stands already.
    return graded_address(event, evidence_of(feedback)), event
