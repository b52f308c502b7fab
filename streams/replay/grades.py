"""Grades on record, compared with what they were made of: an answer, and a checker or what was said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec import structs
from pydantic import ValidationError

from handlers.answers.forms import by_rules
from handlers.answers.grade import CHECKERS, Grade
from handlers.policies.answer_judge import JUDGED
from schemas.asking import Diverged
from schemas.events.base import Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened, ProblemAdmitted, ReviewAnswered
from schemas.events.learning import BatchClosed, Graded, Reflected
from schemas.identity import learning_id
from schemas.problem import Feedback
from streams.answering.grading.own import OwnGrader
from streams.answering.world import answered
from streams.core.closing import check, evidence_of, graded_address
from streams.core.compare import difference, same
from streams.engine.grades import Judged, Solved, as_graded, at_once, held_against
from streams.replay.left_out import Leftovers
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.messages import values
from streams.runtime.embedded.regrading import address_of, predecessor

SAID_IN = "said in "
"""Behind it the grade of a judge names its side run."""


@dataclass
class Grades:
    """Judgements of answers from outside, and the grades that follow from them."""

    log: SqliteLog
    left: Leftovers
    own: OwnGrader | None = None
    """A grader of somebody's own, which was given to say again what it said."""
    part: bool = False
    """Whether this is a part of a log: what a grade rests on may stand in another."""

    @cached_property
    def _feedback(self) -> defaultdict[tuple[str, str], list[Feedback]]:
        """By domain and problem, or by episode."""
        found: defaultdict[tuple[str, str], list[Feedback]] = defaultdict(list)
        for _, value in values(self.log, "feedback"):
            try:
                feedback = Feedback.model_validate_json(value)
            except ValidationError:
                continue  # its dead letter says why
            found[feedback.domain or "", feedback.problem_id or feedback.episode or ""].append(
                feedback
            )
        return found

    def compared(self, episode: str, journal: dict[str, Event]) -> Iterator[Diverged]:
        """Grades of an episode that its answer and what was said of it do not make."""
        admitted, closed = journal.get("admitted"), journal.get("closed")
        judged: Judged
        if isinstance(said := journal.get("reflected"), Reflected):
            problem_id, judged = said.problem_id, said
        # A solve leaves no reflection, and people judge its answer all the same.
        elif isinstance(admitted, ProblemAdmitted) and isinstance(closed, EpisodeClosed):
            problem_id, judged = admitted.problem.id, Solved.of(admitted, closed)
        else:
            return
        given = {at: event for at, event in journal.items() if isinstance(event, Graded)}
        # A word about a problem judges all its episodes, one about an episode that episode alone; and
        # either judges only the answer that it was said of.
        of_problem = self._feedback.get((judged.domain, problem_id), [])
        of_episode = [each for each in self._feedback.get(("", episode), []) if each.episode]
        heard = [each for each in of_problem if each.episode is None] + of_episode
        spoken = [each for each in heard if each.judges(judged.answer)]
        for address, event in given.items():
            told = self._told(judged, spoken, episode, address, given)
            if told is None:
                words = f"{event.outcome} by {event.grader}"
                yield Diverged(episode, address, "graded", words, "nobody said that")
            elif told.scope != event.scope or not same(event, told):
                yield Diverged(episode, address, *difference(event, told))
        made = {
            graded_address(event, evidence_of(each)) for event in given.values() for each in spoken
        }
        ungraded = len(spoken) - len(made & given.keys())
        self.left.add("words of feedback", "no grade was made of them yet", max(ungraded, 0))

    def heard(self, episode: str, journal: dict[str, Event]) -> Iterator[Diverged]:
        """Answers of people to an episode's questions that nobody gave."""
        spoken = [each for each in self._feedback.get(("", episode), []) if each.episode]
        for address, event in journal.items():
            if not isinstance(event, ReviewAnswered) or event.result == "nobody":
                continue
            told = (answered(each, event.asked) for each in spoken if each.review == address)
            if event not in told:
                yield Diverged(
                    episode, address, "review.answered", event.result, "nobody said that"
                )

    def _told(
        self,
        judged: Judged,
        spoken: list[Feedback],
        episode: str,
        address: str,
        given: dict[str, Graded],
    ) -> Graded | None:
        """The grade that should stand there; nothing where none should."""
        event = given[address]
        # An address says what a grade rests on, so each way to make one gives the address that it
        # would have.
        if event.by != "regrade":
            return self._derived(judged, spoken, address, event)
        after = predecessor(given, address)
        run = (event.detail or "").removeprefix(SAID_IN)
        if address_of(event, {"run": run}, after) == address:
            return self._judged(episode, run, event)
        known: list[Any] = [None, *(each.reference for each in spoken)]
        evidence = [each for each in known if address_of(event, each, after) == address]
        if not evidence or not self._was_learned(judged.scope, episode, event):
            return None
        # It was given anew: its grader says it again, where that grader is here.
        reference = evidence[0]
        by = self._own_grade(judged, reference, event)
        if by is None and reference is not None:
            by = _grade(judged, Feedback(episode="e", reference=reference))
        elif by is None and judged.domain in CHECKERS:
            by = CHECKERS[judged.domain](judged.problem, judged.answer)
        # Where nobody here can say it again it stands as it is, and is told as left out: never as
        # verified.
        told = structs.replace(event, scope=judged.scope)
        if by is None or by.grader != event.grader:
            self.left.add("grades", f"only {event.grader} can tell whether they are right")
            return told
        if by.outcome == "unknown" and (event.detail or "").startswith(by.detail):
            return structs.replace(told, outcome=by.outcome)
        return structs.replace(told, outcome=by.outcome, detail=by.detail or None)

    def _own_grade(self, judged: Judged, reference: Any, event: Graded) -> Grade | None:
        """What the grader that was given says again; nothing of a grade that another gave."""
        # Another grader's word is no evidence against this one's, nor for it.
        if self.own is None or event.grader != self.own.reference:
            return None
        held = held_against(judged, reference)
        asked = {"dataset": held.dataset, "problem": judged.problem}
        return self.own.grade(judged.answer, held.references, **asked)

    def _was_learned(self, scope: str, episode: str, event: Graded) -> bool:
        """Whether the batch that a grade says was learned with another outcome had the episode in it."""
        if event.relearned_from is None:
            return True
        closed = self.log.find(learning_id(scope, event.relearned_from), "batch")
        if closed is None and self.part:
            self.left.add("grades", "what was learned with others is in another part of the log")
            return True
        return isinstance(closed, BatchClosed) and episode in closed.members

    def _judged(self, episode: str, run: str, event: Graded) -> Graded | None:
        """The grade that the verdict of a judge's side run makes; nothing without that run."""
        opened, closed = self.log.find(run, "opened"), self.log.find(run, "closed")
        # A part is no proof that something is missing.
        if opened is None and self.part:
            self.left.add("grades", "a judge's side run is in another part of the log")
            return event
        if not isinstance(opened, EpisodeOpened) or not isinstance(closed, EpisodeClosed):
            return None
        if opened.parent != episode or opened.policy != JUDGED.name or closed.answer is None:
            return None
        if not self._was_learned(event.scope, episode, event):
            return None
        outcome = closed.answer if closed.answer in ("right", "wrong") else "unknown"
        judge = f"{opened.policy}@{opened.policy_version}"
        return structs.replace(event, outcome=outcome, grader=judge, source=opened.backbones)

    def _derived(
        self, judged: Judged, spoken: list[Feedback], address: str, event: Graded
    ) -> Graded | None:
        """The grade that should stand there; as it is recorded where only its grader could say."""
        if event.by == "checker":
            # Of a solve's answer nobody asks it: there is only what people say.
            given = check(judged) if isinstance(judged, Reflected) else ()
            for at, now in given:
                if at == address:
                    return now
                # The same checker of another version stands where its own name puts it.
                is_named = now.grader.partition("@")[0] == event.grader.partition("@")[0]
                then = structs.replace(now, grader=event.grader)
                if is_named and graded_address(then, None) == address:
                    self.left.add("grades", f"only {event.grader} can tell whether they are right")
                    return structs.replace(event, scope=judged.scope)
            return None
        feedback = next(
            (f for f in spoken if graded_address(event, evidence_of(f)) == address), None
        )
        if feedback is None:
            made = (as_graded(judged, each, _grade(judged, each)) for each in spoken)
            return next((each for each in made if each == event), None)
        told = as_graded(judged, feedback, _grade(judged, feedback))
        own = self._own_grade(judged, feedback.reference, event)
        if own is not None:
            said = {"outcome": own.outcome, "grader": own.grader, "detail": own.detail or None}
            return structs.replace(told, **said)
        if told.grader != event.grader:
            self.left.add("grades", f"only {event.grader} can tell whether they are right")
            return structs.replace(event, scope=judged.scope)
        if told.outcome == "unknown" and (event.detail or "").startswith(told.detail or ""):
            return structs.replace(told, detail=event.detail)  # what was asked next added a word
        return told


def _grade(judged: Judged, feedback: Feedback) -> Grade:
    """The grade by a person's word, the domain's checker, or exact rules; others' are not asked again."""
    known = at_once(judged, feedback)
    if known is not None:
        return known
    held = held_against(judged, feedback.reference)
    assert held.references is not None
    asked = (judged.answer, held.references, held.dataset, judged.problem)
    return by_rules(*asked, held.typed)
