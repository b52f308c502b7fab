"""Feedback meets answers: whichever comes first waits for the other, and each pair is graded once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import orjson
from pydantic import ValidationError

from handlers.answers.grade import CHECKERS, Grade
from schemas.events.learning import Graded, Reflected
from schemas.identity import canonical, digest, episode_id
from schemas.outcome import Outcome
from schemas.problem import Feedback
from streams.grading import Grading
from streams.learner import Learner
from streams.relay import graded_address
from streams.runtime.embedded.log import SqliteLog, Writer

BATCH = 512
VERDICT = "verdict@1"
REFLECTED = (
    "select episode from records where episode >= ? and episode < ? and address = 'reflected'"
)


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


class Labels:
    """Labels by problem and by episode, read off the feedback topic."""

    def __init__(self, log: SqliteLog, writer: Writer, learner: Learner) -> None:
        self.log, self.writer, self.learner = log, writer, learner
        self.grader = Grading()
        self.of_problem: dict[tuple[str, str], list[Feedback]] = defaultdict(list)
        self.of_episode: dict[str, list[Feedback]] = defaultdict(list)
        self.position = 0
        self.refused = ""
        self.committed = log.position("learner", "feedback")

    def load(self) -> None:
        """Remember the feedback that was read before."""
        for offset, _, _, value in self.log.messages("feedback"):
            if offset > self.committed:
                break
            self._remember(offset, value)

    async def take(self) -> bool:
        """Read new feedback and grade the answers that it speaks of. Returns whether there was any."""
        found = list(self.log.messages("feedback", self.position, BATCH))
        for offset, key, headers, value in found:
            feedback = self._remember(offset, value)
            if feedback is None:
                self._refuse(offset, key, headers, value)
            else:
                await self._grade_known(feedback)
            self.writer.advance("learner", "feedback", offset)
        return bool(found)

    def _refuse(self, offset: int, key: str, headers: dict[str, Any], value: bytes) -> None:
        errors = {
            "__metalogue.errors.topic": "feedback",
            "__metalogue.errors.offset": offset,
            "__metalogue.errors.message": self.refused,
        }
        name = f"feedback/{offset}/{digest(key)}"
        self.writer.send("dead-letters", name, value, headers | errors)

    def _remember(self, offset: int, value: bytes) -> Feedback | None:
        self.position = offset
        try:
            feedback = Feedback.model_validate_json(value)
            canonical(feedback.model_dump(mode="json"))
        except (ValidationError, TypeError) as error:
            self.refused = str(error)[:200]
            return None
        if feedback.episode is not None:
            self.of_episode[feedback.episode].append(feedback)
        else:
            self.of_problem[feedback.domain or "", feedback.problem_id or ""].append(feedback)
        return feedback

    async def _grade_known(self, feedback: Feedback) -> None:
        async for episode, reflected in self._answered(feedback):
            address, event = await self._grade(reflected, feedback)
            self.writer.state("learning", episode, address, event)
            self.learner.feed(episode, event)

    async def _answered(self, feedback: Feedback) -> AsyncIterator[tuple[str, Reflected]]:
        if feedback.episode is not None:
            episodes = [feedback.episode]
        else:
            first = episode_id(feedback.domain or "", feedback.problem_id or "", "")
            rows = self.log.db.execute(REFLECTED, (first, first[:-1] + "0")).fetchall()
            episodes = [row[0] for row in rows]
        for episode in episodes:
            reflected = self.log.find(episode, "reflected")
            if isinstance(reflected, Reflected):
                yield episode, reflected

    async def missed(
        self, episode: str, reflected: Reflected, graded: int
    ) -> list[tuple[str, Graded]]:
        """Grades by feedback that came while the episode was being closed."""
        checked = 1 if reflected.domain in CHECKERS else 0
        feedback = self._of(episode, reflected)[graded - checked :]
        return [await self._grade(reflected, each) for each in feedback]

    def _of(self, episode: str, reflected: Reflected) -> list[Feedback]:
        key = (reflected.domain, reflected.problem_id)
        return [*self.of_problem.get(key, ()), *self.of_episode.get(episode, ())]

    async def known(self, episode: str, reflected: Reflected) -> list[tuple[str, Graded]]:
        """Grades of an episode that just ended, by the feedback that came before it."""
        return [await self._grade(reflected, each) for each in self._of(episode, reflected)]

    async def _grade(self, reflected: Reflected, feedback: Feedback) -> tuple[str, Graded]:
        grade = await opinion(self.grader, reflected, feedback)
        event = Graded(
            scope=reflected.scope,
            outcome=grade.outcome,
            grader=grade.grader,
            by="feedback",
            source=feedback.by,
            detail=grade.detail or None,
        )
        return graded_address(event, feedback.model_dump(mode="json")), event

    def close(self) -> None:
        """End the grader's process, if one was started."""
        self.grader.close()
