"""What labels say of answers that no episode gave: a learner asks, whoever solves never does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handlers.answers.grade import Grade
from schemas.problem import Feedback
from schemas.questions import Worth
from streams.grading.grader import Grading
from streams.runtime.grades import as_text


class References:
    """The newest reference of each problem that feedback gave one."""

    def __init__(
        self, grader: Grading, of_problem: Mapping[tuple[str, str], Sequence[Feedback]]
    ) -> None:
        self.grader, self.of_problem = grader, of_problem

    async def grade(self, question: Worth[Any]) -> Grade:
        """The answer compared with the reference; unknown where nobody gave one."""
        domain, _, problem_id = question.subject.partition("/")
        told = self.of_problem.get((domain, problem_id), ())
        references = [each.reference for each in told if each.reference is not None]
        if not references:
            return Grade(outcome="unknown", grader="none")
        return await self.grader.grade(
            question.answer,
            as_text(references[-1]),
            dataset=question.domain,
            problem=question.problem,
        )
