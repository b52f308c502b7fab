"""Feedback meets answers: whichever comes first waits for the other, and each pair is graded once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from pydantic import ValidationError

from handlers.answers.grade import CHECKERS
from schemas.events.episode import EpisodeClosed, ProblemAdmitted
from schemas.events.learning import Graded, Reflected
from schemas.identity import canonical, digest, is_taken
from schemas.letters import errors_of
from schemas.problem import Feedback
from schemas.written import feedback_of
from streams.answering.grading.grader import Grading
from streams.core.closing import check, evidence_of, graded_address
from streams.engine.grades import Judged, Solved, graded
from streams.engine.judgements import Judgements
from streams.engine.learner import Learner
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.queries.conditions import runs
from streams.runtime.embedded.queries.reviews import grades_of
from streams.runtime.faults import told

BATCH = 512
ANSWERED = """
select episode from records where episode >= ? and episode < ? and address in ('closed', 'taken')
"""
ENDED_BESIDE = """
select offset, episode from records where offset > ? and offset <= ? and partition != 0
  and kind = 'episode.closed' and episode >= 'p/' and episode < 'p0' order by offset limit ?
"""
"""Solves: what a worker ends itself is on its own partition, 0."""
LAST_EVENT = "select offset from records where topic = 'events' order by offset desc limit 1"
UNHEARD = "select 1 from records where episode = ? and address = 'taken' and offset > ?"
"""A case that somebody put on the log behind an offset."""


def judged_of(log: SqliteLog, episode: str) -> tuple[str, Judged] | None:
    """The problem's id and the answer of a closed episode; also of a solve, from which nothing learns."""
    reflected = log.find(episode, "reflected")
    if isinstance(reflected, Reflected):
        return reflected.problem_id, reflected
    admitted, closed = log.find(episode, "admitted"), log.find(episode, "closed")
    if isinstance(admitted, ProblemAdmitted) and isinstance(closed, EpisodeClosed):
        return admitted.problem.id, Solved.of(admitted, closed)
    return None


def judgements_of(log: SqliteLog) -> Judgements:
    """Everything that feedback says on a log, less what cannot be read: anybody may put anything there."""
    told = Judgements()
    for offset, _, _, value in log.messages("feedback"):
        with suppress(ValidationError, TypeError):  # its dead letter says why
            told.add(offset, feedback_of(value))
    return told


def rests_on(grades: Mapping[str, Graded], feedback: Feedback) -> bool:
    """Whether one of an answer's grades rests on a judgement, whichever version of a grader gave it."""
    evidence = evidence_of(feedback)
    return any(graded_address(each, evidence) == address for address, each in grades.items())


def last_event(log: SqliteLog) -> int:
    """The last offset on ``events``; 0 before the first."""
    row = log.db.execute(LAST_EVENT).fetchone()
    return 0 if row is None else int(row[0])


class Labels:
    """Labels by problem and by episode, read off the feedback topic."""

    def __init__(
        self, log: SqliteLog, writer: Writer, learner: Learner, grading: Grading | None = None
    ) -> None:
        self.log, self.writer, self.learner = log, writer, learner
        self.grader = grading or Grading()
        self.said = Judgements()
        self.position = 0
        self.more = False
        """Whether there is more than was read at once: nobody else's write would tell of it."""
        self.is_behind = False
        self.refused = ""
        self.replied: set[str] = set()
        """Episodes whose question somebody answered since anybody looked."""
        self.committed = self.read = log.position("learner", "feedback")
        """Up to where feedback is read for good, and up to where its grades are stated."""
        self.held: list[int] = []
        """How far feedback had come when those episodes began to be closed that still are."""
        # Where nobody has read any feedback, all of it is still to come, and meets the ends that are there.
        self.met = log.position("learner", "events") if self.committed else last_event(log)
        """Up to where the ends of solves have met what was said before them."""

    def load(self) -> None:
        """Remember the feedback that was read before."""
        for offset, _, _, value in self.log.messages("feedback"):
            if offset > self.committed:
                break  # from here on it is new, and `take` grades by it
            self._remember(offset, value)

    async def take(self, heard: int) -> bool:
        """Read new feedback and grade the answers that it speaks of. Returns whether there was any.

        ``heard`` is the offset up to which commands were read: a case behind it is graded when it is heard of.
        """
        found = list(self.log.messages("feedback", self.position, BATCH))
        self.more = len(found) == BATCH or self.is_behind
        for offset, key, headers, value in found:
            feedback = self._remember(offset, value)
            if feedback is None:
                errors = errors_of("feedback", offset=offset, message=self.refused)
                name = f"feedback/{offset}/{digest(key)}"
                self.writer.send("dead-letters", name, value, headers | errors)
            else:
                for episode, judged in self._answered(feedback, heard):
                    # What was read by a worker that was killed while it closed an episode is read again.
                    if not rests_on(grades_of(self.log, episode), feedback):
                        address, event = await graded(self.grader, judged, feedback)
                        self.writer.state("learning", episode, address, event)
                        self.learner.feed(episode, address, event)
            self.read = offset
            self._advance()
        return bool(found)

    async def meet(self) -> bool:
        """Grade solves that ended by the feedback that came before. Returns whether there was any.

        No worker ends them, and who does hears no feedback. Call it before ``take``, which grades what ended already.
        """
        upto, moved = last_event(self.log), False
        found: list[tuple[int, str]] = []
        if self.said:
            found = self.log.db.execute(ENDED_BESIDE, (self.met, upto, BATCH)).fetchall()
        for offset, episode in found:
            about = judged_of(self.log, episode)
            if about is not None:
                problem_id, judged = about
                for each in self.said.on(episode, judged.domain, problem_id, judged.answer):
                    if not rests_on(grades_of(self.log, episode), each):
                        address, event = await graded(self.grader, judged, each)
                        self.writer.state("learning", episode, address, event)
                        self.learner.feed(episode, address, event)
                        moved = True
            # With its grades in one commit, as with feedback.
            self._met(offset)
        if len(found) == BATCH:
            # The rest in the next turn, so that problems are not kept waiting for it.
            self.is_behind = True
            return True
        self.is_behind = False
        # Whoever starts again looks no further back; without anything said nobody has to.
        if self.said and upto > self.met:
            self._met(upto)
        self.met = upto
        return moved

    def _met(self, offset: int) -> None:
        self.met = offset
        self.writer.advance("learner", "events", offset)

    def _advance(self) -> bool:
        # In the commit that holds its grades: whoever is killed before it grades them again, to the same ids.
        offset = min(self.read, *self.held) if self.held else self.read
        if offset <= self.committed:
            return False
        self.committed = offset
        self.writer.advance("learner", "feedback", offset)
        self._met(self.met)
        return True

    def hold(self) -> int:
        """An episode begins to be closed: what is read from now on is only read when that was graded too."""
        self.held.append(self.position)
        return self.position

    def let_go(self, held: int) -> bool:
        """All that came while an episode was being closed is stated. Returns whether any of it is read for good."""
        self.held.remove(held)
        return self._advance()

    def _remember(self, offset: int, value: bytes) -> Feedback | None:
        self.position = offset
        feedback: Feedback | None = None
        try:
            feedback = feedback_of(value)
            # A reference may be JSON that has no canonical form, such as a number that is too
            # large. It would be part of an address, and is refused here before anything is made of
            # it.
            canonical(feedback.model_dump(mode="json"))
        except (ValidationError, TypeError) as error:
            self.refused = told(error, feedback)
            return None
        self.said.add(offset, feedback)
        if feedback.review is not None and feedback.episode is not None:
            self.replied.add(feedback.episode)
        return feedback

    def _answered(self, feedback: Feedback, heard: int) -> Iterator[tuple[str, Judged]]:
        if feedback.episode is not None:
            episodes = [feedback.episode]
        else:
            of_problem = runs(feedback.domain or "", feedback.problem_id or "")
            episodes = [row[0] for row in self.log.db.execute(ANSWERED, of_problem).fetchall()]
        for episode in episodes:
            # Its grade would stand before the case for us, and behind it for whoever reads the log: our
            # window would wait for it for ever.
            if is_taken(episode) and self.log.db.execute(UNHEARD, (episode, heard)).fetchone():
                continue
            found = judged_of(self.log, episode)
            if found is not None and feedback.judges(found[1].answer):
                yield episode, found[1]

    async def missed(
        self, episode: str, reflected: Reflected, given: int
    ) -> list[tuple[str, Graded]]:
        """Grades by feedback that came while the episode was being closed, with so many grades given."""
        if not self.said:
            return []
        checked = 1 if reflected.domain in CHECKERS else 0
        # Judgements are kept in the order in which they came, so those behind the given ones came meanwhile.
        feedback = self.said.of(episode, reflected)[given - checked :]
        said = [await graded(self.grader, reflected, each) for each in feedback]
        return [each for each in said if self.log.find(episode, each[0]) is None]

    async def of_taken(self, episode: str, taken: Reflected) -> list[tuple[str, Graded]]:
        """Grades of a case that was just taken in: by its domain's checker, and by what was said before it came."""
        # The case is looked at again at each start, maybe of a build whose graders are of other versions.
        stated = grades_of(self.log, episode)
        is_checked = any(each.by == "checker" for each in stated.values())
        given = [] if is_checked else [*check(taken)]
        owed = [each for each in self.said.of(episode, taken) if not rests_on(stated, each)]
        return [*given, *[await graded(self.grader, taken, each) for each in owed]]

    async def known(self, episode: str, reflected: Reflected) -> list[tuple[str, Graded]]:
        """Grades of an episode that just ended, by the feedback that came before it."""
        if not self.said:
            return []
        said = self.said.of(episode, reflected)
        return [await graded(self.grader, reflected, each) for each in said]

    def close(self) -> None:
        """End the grader's process, if one was started."""
        self.grader.close()
