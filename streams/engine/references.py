"""References tell what labels say of answers that no episode gave. Only learners ask them, never a policy that
solves.
"""

from __future__ import annotations

from typing import Any

from handlers.answers.forms import compared
from handlers.answers.grade import Grade
from schemas.questions import Worth
from streams.answering.grading.grader import Grading
from streams.engine.judgements import Judgements


class References:
    """The newest reference of each problem that feedback gave one."""

    def __init__(self, grader: Grading, said: Judgements) -> None:
        self.grader, self.said = grader, said

    async def grade(self, question: Worth[Any]) -> Grade:
        """The answer compared with the reference; unknown where nobody gave one."""
        # Ids of problems may hold a slash, names of domains may not.
        domain, _, problem_id = question.subject.partition("/")
        reference = self.said.reference(domain, problem_id)
        if reference is None:
            return Grade(outcome="unknown", grader="none")
        held = compared(question.domain, question.typed, reference)
        assert held.references is not None
        return await self.grader.grade(
            question.answer,
            held.references,
            dataset=held.dataset,
            problem=question.problem,
            typed=held.typed,
        )
