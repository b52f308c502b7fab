"""Grading the answers of a log anew: by another grader, or by a judge's verdicts that are on the record.

Nobody is asked. A grade that says what the newest one on record says adds nothing, so doing it twice is doing it
once. What counts of an answer follows the rule of ``state.folds.grades``: a person's verdict stands. Where a batch
was learned with another outcome, the grade names it, and the versions from there on are closed again; what was said
under an outcome that is the opposite now is set aside then (``streams.engine.overturned``).

All grades are one commit. Whoever is killed after it left versions that are owed: the next worker, or the same
command again, closes them. On Kafka they are proposed, and the owners of the scopes state them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import structs

from handlers.answers.forms import Compared
from handlers.answers.grade import Grade
from handlers.learning.graph import CASE
from handlers.policies.base import Policy
from schemas.events.graph import PrincipleInduced
from schemas.events.learning import BatchClosed, Graded, GradeProposed
from schemas.identity import episode_parts, is_taken, learning_id
from schemas.outcome import Outcome
from schemas.problem import Feedback
from state.folds.grades import GradesFold
from streams.core.closing import GRADED, evidence_of, grade_address, graded_address
from streams.engine.grades import Judged, held_against
from streams.engine.learner import episode_of
from streams.engine.regraded import is_of_person, learned_with, relearned_from
from streams.runtime.embedded.forgetting import close_again
from streams.runtime.embedded.labels import judged_of, judgements_of
from streams.runtime.embedded.log import ClosedAgain, SqliteLog
from streams.runtime.embedded.queries.reviews import grades_of
from streams.runtime.embedded.records import learned

CLOSED = """
select episode from records where kind in ('episode.closed', 'trace.taken')
  and episode >= 'p/' and episode < 'p0'
  order by offset
"""


@dataclass(frozen=True, slots=True)
class Put:
    """An answer to be graded anew, with the newest reference that somebody gave, if anybody did."""

    episode: str
    judged: Judged
    feedback: Feedback | None

    @property
    def held(self) -> Compared:
        """What it is held against."""
        return held_against(self.judged, self.evidence)

    @property
    def evidence(self) -> Any:
        """The reference as it was given, as evidence of a grade."""
        return None if self.feedback is None else self.feedback.reference


class New(NamedTuple):
    """A grade that is new, the address at which it will stand, and that of the grade that it follows."""

    episode: str
    address: str
    after: str | None
    event: Graded

    @property
    def proposed(self) -> tuple[str, str, GradeProposed]:
        """As a word to whoever may state it, with its place."""
        event = self.event
        said = GradeProposed(
            scope=event.scope,
            grade=self.address.removeprefix(GRADED),
            after=self.after,
            outcome=event.outcome,
            grader=event.grader,
            source=event.source,
            detail=event.detail,
        )
        return self.episode, f"proposed.{self.address}", said


@dataclass(slots=True)
class Changes:
    """What grading anew comes to: answers whose known outcome is another now, and grades by what they say."""

    given: int = 0
    """Grades that are new on the log."""
    known: int = 0
    """Grades that said what the newest on record says."""
    said: dict[str, int] = field(default_factory=dict[str, int])
    """New and known grades by their outcome."""
    changed: list[tuple[str, Outcome, Outcome]] = field(
        default_factory=list[tuple[str, Outcome, Outcome]]
    )
    """Episodes whose outcome changed, with both outcomes."""
    by_person: int = 0
    """Grades of answers for which a person's verdict stands."""


class Regrading:
    """One pass over a log. ``find`` turns a policy's name into the policy."""

    def __init__(self, log: SqliteLog, find: Callable[[str], Policy[Any]]) -> None:
        self.log, self.find = log, find
        # Only what was learned says which batches a grade would change, so all of it is folded
        # once.
        self.learner = learned(log, find)
        self.done = Changes()
        self.new: list[New] = []

    # -- what there is -----------------------------------------------------------------------------

    def answers(self) -> Iterator[Put]:
        """Every answer of a closed episode or a case, but of forgotten problems, in the order of the log."""
        told = judgements_of(self.log)
        for (episode,) in self.log.db.execute(CLOSED).fetchall():
            found = judged_of(self.log, episode)
            if found is None or found[1].answer is None:
                continue
            problem_id, judged = found
            if not self.learner.memory(judged.scope).forgetting.covers(episode):
                said = [*told.about((judged.domain, problem_id)), *told.about((episode,))]
                of = [
                    (at, each)
                    for at, each in said
                    if each.reference is not None and each.judges(judged.answer)
                ]
                # The newest counts, whether it was said of the problem or of this very answer.
                newest = max(of, key=itemgetter(0))[1] if of else None
                yield Put(episode, judged, newest)

    # -- what is said of it ------------------------------------------------------------------------

    def grade(
        self, put: Put, grade: Grade, *, source: str | None = None, evidence: Any = None
    ) -> None:
        """Take a new grade of an answer. ``evidence`` is what it rests on, instead of the reference."""
        grades = grades_of(self.log, put.episode)
        fold, newest = GradesFold(), predecessor(grades)
        for event in grades.values():
            fold.feed(put.episode, event)
        rests = put.evidence if evidence is None else evidence
        told = source or (None if put.feedback is None else put.feedback.by)
        self.done.said[grade.outcome] = self.done.said.get(grade.outcome, 0) + 1
        if newest is not None and self._says_that(grades, newest, grade, told, rests, put):
            self.done.known += 1
            return
        event = Graded(
            scope=put.judged.scope,
            outcome=grade.outcome,
            grader=grade.grader,
            by="regrade",
            source=told,
            detail=grade.detail or None,
        )
        # The grade names the batch that was learned with another outcome: that is closed again from there on.
        batch = relearned_from(self._learned, fold, put.episode, event.outcome)
        event = structs.replace(event, relearned_from=batch)
        # What counts is asked of the fold before and after, and not of this grade: a person's
        # verdict stands.
        before = fold.outcome(put.episode)
        fold.feed(put.episode, event)
        now = fold.outcome(put.episode)
        self.done.by_person += fold.anew(put.episode) is None
        if now != before:
            self.done.changed.append((put.episode, before, now))
        self.done.given += 1
        # The address names the grade before it, so that going back to an earlier grader is said
        # anew, while the same pass done twice finds its own words.
        self.new.append(New(put.episode, address_of(event, rests, newest), newest, event))

    def _says_that(
        self,
        grades: dict[str, Graded],
        newest: str,
        grade: Grade,
        source: str | None,
        evidence: Any,
        put: Put,
    ) -> bool:
        """Whether the newest grade is by this grader, of the same evidence."""
        # Grading anew must add nothing the second time, whatever the first grade came from: so its address is
        # made again, of the evidence that is here now, and held against the one on record.
        event = grades[newest]
        if event.grader != grade.grader or event.outcome != grade.outcome:
            return False
        match event.by:
            case "checker":
                return True
            case "feedback":
                said = put.feedback
                return said is not None and graded_address(event, evidence_of(said)) == newest
            case "regrade":
                before = predecessor(grades, newest)
                return event.source == source and address_of(event, evidence, before) == newest

    @cached_property
    def _learned(self) -> dict[str, tuple[int, Outcome]]:
        """For each member of a closed batch that somebody learned from, the batch and its outcome then."""
        found: dict[str, tuple[int, Outcome]] = {}
        for scope in self.learner.scopes.values():
            found |= learned_with(scope)
        return found

    def stays(self) -> dict[str, list[str]]:
        """By scope, what its memory holds that was said while an outcome that changed was another.

        Nobody is asked, so it stays as it was said, but for what is set aside when versions are closed again. Where
        nobody is told outcomes, none of it hangs on them.
        """
        found: dict[str, list[str]] = {}
        induced = [*self.log.records("learning", kinds=("principle.induced",))]
        for scope in self.learner.scopes.values():
            labels = scope.policy.learns == "labels"
            episodes = {
                episode for episode, _, _ in self.done.changed if labels or is_taken(episode)
            }
            names = [
                item.id
                for item in scope.memory.latest.whole()
                if item.kind == "lesson" and item.role != CASE and episodes & {*item.evidence}
            ]
            # Principles were made of all runs of a problem, whichever of them changed its outcome.
            subjects = {"/".join(episode_parts(episode)[:2]) for episode in episodes}
            names += [
                record.event.principle
                for record in induced
                if record.episode.startswith(f"b/{scope.id}/")
                and isinstance(record.event, PrincipleInduced)
                and record.event.subject in subjects
                and record.event.principle is not None
            ]
            if names:
                found[scope.id] = list(dict.fromkeys(names))
        return found

    def turned(
        self, closed_again: Iterable[str]
    ) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """By scope, ids of what closing these versions again set aside, and of what it brought back."""
        aside, back = dict[str, list[str]](), dict[str, list[str]]()
        for name in closed_again:
            scope, _, version = name.rpartition("@")
            number, revision = (int(part) for part in version.split("."))
            ids = {i.mark: i.id for i in self.learner.memory(scope).versions[number].whole()}
            batches = (
                self.log.find(learning_id(scope, number, each), "batch")
                for each in (revision - 1, revision)
            )
            before, now = (
                set((isinstance(each, BatchClosed) and each.overturned) or ()) for each in batches
            )
            for marks, found in ((now - before, aside), (before - now, back)):
                if marks:
                    # Ids of rules return with other texts.
                    known = found.setdefault(scope, [])
                    known += sorted({ids[mark] for mark in marks} - {*known})
        return aside, back

    # -- recording it ------------------------------------------------------------------------------

    def lost(self) -> dict[str, str]:
        """Scopes whose policy is not here, and why: what they learned could not follow."""
        return {name: each.why for name, each in self.learner.lost.items()}

    async def write(self, name: str) -> None:
        """Record the new grades, in one commit; without any nothing is written.

        Raises ``ClosedAgain``, and writes nothing, where a version that would follow is half made: a worker was
        killed over it, and only a worker may ask what it still needs.
        """
        if not self.new:
            return
        for each in self.new:
            scope = self.learner.scopes.get(each.event.scope)
            half_made = None if scope is None else scope.half_made
            if half_made is not None and each.event.relearned_from is not None:
                raise ClosedAgain(episode_of(half_made))
        writer = self.log.claim(name)
        for each in self.new:
            writer.state("learning", each.episode, each.address, each.event)
        await writer.commit()
        # Only what is on disk is learned from: the versions to be closed again must rest on the log.
        for each in self.new:
            self.learner.feed(each.episode, each.address, each.event)

    def propose(self) -> None:
        """Leave the new grades to those who may append grades to this log: it lies on Kafka."""
        self.log.publish(commands=[each.proposed for each in self.new])

    async def close_again(self, name: str) -> tuple[list[str], list[str]]:
        """Close what is owed, unless something else than outcomes is: names of what was, scopes that wait."""
        owing = [s for s in self.learner.scopes.values() if s.memory.forgetting.owed]
        if not owing:
            return [], []
        if any({*s.memory.forgetting.owed} - s.memory.forgetting.regraded for s in owing):
            return [], [scope.id for scope in owing]
        return await close_again(self.log, self.find, None, name)


def predecessor(grades: dict[str, Graded], address: str | None = None) -> str | None:
    """The newest grade before one, else of all, but for verdicts of persons; none before the first."""
    before: str | None = None
    for each, event in grades.items():
        if each == address:
            break
        before = before if is_of_person(event) else each
    return before


def address_of(event: Graded, evidence: Any, after: str | None) -> str:
    """The address of a grade that was given anew, ``after`` another: the same again stands elsewhere."""
    said = {"evidence": evidence, "after": after}
    return grade_address(event.grader, event.by, event.source, said)
