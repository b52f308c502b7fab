"""Closed episodes as an analysis sees them: what was asked, answered, stated and graded."""

# `read` goes over a log once and keeps what an analysis can ask for;
# `Reading.cases` then makes one `Case` of each closed episode. Whatever counts
# answers (`figures`, `trees`, `bench.results`, the evidence pack) reads cases and
# never the log, so that two tables of one log cannot disagree. Labels are joined to
# cases here and nowhere below: what policies and learners import must not see them.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from handlers.answers.grade import CHECKERS, Grade, References, grade_reference, references_of
from handlers.policies.base import Trace
from handlers.policies.meta_reasoner.measure import meant, own
from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, ProblemAdmitted
from schemas.events.learning import (
    BatchClosed,
    Graded,
    KnowledgeConsolidated,
    LessonDistilled,
    Reflected,
)
from schemas.events.search import NodePruned
from schemas.identity import address_order, episode_parts, learning_parts
from schemas.outcome import Outcome, Standing
from schemas.problem import Problem
from schemas.record import Record
from schemas.usage import Usage
from state.folds.costs import Spent
from state.folds.grades import GradesFold, Known
from state.folds.state import scope_of
from streams.core.closing import trace_of
from streams.engine.policies import NoPolicy, find, find_recorded
from streams.engine.sets import with_part
from streams.replay.differ import paid
from streams.replay.verify import before
from streams.research.analysis.progress import Batch
from streams.research.analysis.verdicts import Verdict, verdicts
from streams.runtime.embedded.labels import judgements_of

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

Grades: TypeAlias = Callable[..., Grade]
Labels: TypeAlias = "Mapping[str, tuple[int, References]]"
"""References by ``DOMAIN/PROBLEM`` or by episode, each with its place among what was said."""
"""Compares an answer with its reference, as ``grade_reference`` does."""
LINUCB: Final = "linucb@1"
RIGHT: Final[Mapping[str, bool]] = {"right": True, "wrong": False, "withheld": False}
"""Whether an outcome counts as right; one that is not here is unknown."""


@dataclass(frozen=True, slots=True)
class Case:
    """One closed episode. ``reference`` is the label, where one came; policies never see it."""

    episode: str
    problem: Problem
    opened: EpisodeOpened
    closed: EpisodeClosed
    trace: Trace
    known: Known
    """What was said of its answer."""
    calibrated: float | None
    reference: References | None
    arms: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the arms that it added are called over all episodes."""
    grade: Grades = grade_reference
    """What its other answers are graded by: what its answer was graded by."""
    verdict: Verdict | None = None
    """What a judge said of its answer, where no grader could decide. It is no outcome."""
    failed_as: str | None = None
    """What a search failed by, where shadow runs and baselines were made that tell it."""
    fits: tuple[float, float] | None = None
    """Its cosine to its own guidance, and to another's of its batch, where they were embedded."""
    spared: tuple[bool | None, ...] = ()
    """Of each branch that a shadow run spared, whether it came to a right answer; unknown where nobody can say."""
    gap: float | None = None
    """How much better than its own best leaf the best ones of its first shadow run are: 1, 0 or -1."""

    @property
    def outcome(self) -> Outcome:
        """Right, wrong, withheld where no answer was given to what can be graded, or unknown."""
        return outcome_of(self.problem, self.closed.answer, self.known, self.reference)

    @property
    def standing(self) -> Standing:
        """The same with *undecided* and *not graded* told apart."""
        return self.known.standing(self.closed.answer is not None)

    @property
    def run(self) -> str:
        """Which walk this is part of."""
        return episode_parts(self.episode)[2]

    @property
    def about(self) -> str:
        """Domain and problem: two domains may have problems of one id."""
        return f"{self.problem.domain}/{self.problem.id}"

    @property
    def name(self) -> str:
        """Policy, settings as set, and the limit of calls."""
        return name_of(self.problem, self.opened)

    @property
    def f1(self) -> float | None:
        """Token F1 of the answer, where the data set is of questions and a reference came."""
        if self.reference is None:
            return None
        # By the plain rule and not by `grade`: F1 compares
        # words, and no grader of a person's own does that.
        dataset, text = self.problem.dataset or "", self.problem.problem
        return grade_reference(self.closed.answer, self.reference, dataset=dataset, problem=text).f1

    def graded_now(self) -> Grade | None:
        """What this build's grader or checker says of the answer; none where there is nothing to hold it against."""
        return _graded(self.problem, self.closed.answer, self.reference, self.grade)

    def right(self, answer: str | None) -> bool:
        """Whether any answer is known to be right."""
        return self.judged(answer) is True

    def judged(self, answer: str | None) -> bool | None:
        """Whether any answer would have been right; unknown where nobody can say."""
        graded, by_person = (self.closed.answer, self.outcome), self.known.by is not None
        return judged(
            self.problem, answer, self.reference, graded, by_person=by_person, grade=self.grade
        )


LIMITS: Final = {"calls": "C", "tokens": "tokens", "cost": "cost", "seconds": "seconds"}
"""What limits are called in the name of a run."""


def name_of(problem: Problem, opened: EpisodeOpened) -> str:
    """The name of a run: policy, settings as set, and the limits."""
    values = " ".join(f"{k}={v}" for k, v in sorted(problem.settings.items()))
    # Limits are part of the name: a policy at eight calls is not the same run as at sixteen.
    most = opened.limits.model_dump(exclude_none=True)
    named = (f"{LIMITS[name]}={value}" for name, value in most.items())
    parts = [opened.policy, values, *named]
    profile = "paper" if problem.profile == "paper" else ""
    return " ".join(filter(None, (*parts, profile)))


def outcome_of(
    problem: Problem, answer: str | None, known: Known, reference: References | None
) -> Outcome:
    """How an answer turned out; no answer is withheld where anybody could have graded one, else unknown.

    An accuracy is over answers that somebody could grade: to count an answer that nobody labelled only where it was
    withheld would make it the accuracy of those alone.
    """
    if answer is not None:
        return known.outcome
    could = problem.domain in CHECKERS or reference is not None or known.word is not None
    return "withheld" if could else "unknown"


def judged(
    problem: Problem,
    answer: str | None,
    reference: References | None,
    graded: tuple[str | None, str],
    *,
    by_person: bool = False,
    grade: Grades = grade_reference,
) -> bool | None:
    """Whether an answer is right: as the same answer was graded, else by checker, else by the reference.

    Where it was graded ``by_person``, that counts even if they could not tell.
    """
    if answer is None:
        return False
    # The same answer must get the same outcome, however it was judged. Where a person could not
    # tell, a checker does not overrule him.
    given, outcome = graded
    if answer == given and (by_person or outcome in RIGHT):
        return RIGHT.get(outcome)
    found = _graded(problem, answer, reference, grade)
    return None if found is None else RIGHT.get(found.outcome)


def _graded(
    problem: Problem, answer: str | None, reference: References | None, grade: Grades
) -> Grade | None:
    """What the domain's checker says of an answer, else the comparison with its reference, if there is one."""
    check = CHECKERS.get(problem.domain)
    if check is not None:
        return check(problem.problem, answer)
    if reference is None:
        return None
    return grade(answer, reference, dataset=problem.dataset or "", problem=problem.problem)


@dataclass(frozen=True, slots=True)
class Shadow:
    """A side run that kept what its episode pruned: from where on, which node, how it ended, its whole trace."""

    at: str
    node: str
    closed: EpisodeClosed
    trace: Trace


@dataclass(slots=True)
class Reading:
    """A log read once: closed episodes of problems, and probes by the episode they were taken from."""

    journals: dict[str, dict[str, Event]] = field(default_factory=dict[str, dict[str, Event]])
    grades: GradesFold = field(default_factory=GradesFold)
    references: Labels = field(default_factory=dict[str, tuple[int, References]])
    learning: dict[str, Spent] = field(default_factory=dict[str, Spent])
    """What each scope spent on learning."""
    consolidated: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """How often each scope's rules came out as what, a role at a time: said anew, kept, kept by a fallback."""
    in_batch: dict[tuple[str, int], tuple[Spent, Counter[str]]] = field(
        default_factory=dict[tuple[str, int], tuple[Spent, Counter[str]]]
    )
    """Both of each batch, by scope and number."""
    makers: dict[str, set[tuple[str, str]]] = field(default_factory=dict[str, set[tuple[str, str]]])
    """Which model answered in which role while a scope learned."""
    scopes: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The scopes that the problems of each series fell into: a line may carry a domain of its own."""
    probes: dict[str, list[Usage]] = field(default_factory=dict[str, list[Usage]])
    """What closed side runs spent, by the episode they were taken from."""
    left: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What each episode left to a bandit."""
    batches: dict[str, dict[int, BatchClosed]] = field(
        default_factory=dict[str, dict[int, BatchClosed]]
    )
    """The batches that a bandit learned from, by scope and number."""
    members: dict[str, dict[int, tuple[str, ...]]] = field(
        default_factory=dict[str, dict[int, tuple[str, ...]]]
    )
    """The episodes of each scope's closed batches, by number."""
    lessons: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    """How many lessons each of them left."""
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    """What judges said of answers, by episode."""
    grade: Grades = grade_reference
    text: Callable[[str], str | None] = field(default=lambda digest: None, compare=False)
    """A text of the log by its digest."""

    def arms(self) -> dict[str, dict[str, str]]:
        """For each episode the scope's arm that each arm it proposed became."""
        found: dict[str, dict[str, str]] = {}
        for closed in self.batches.values():
            batches = (
                ([(m, self.left.get(m, {})) for m in each.members], each.constants or {})
                for _, each in sorted(closed.items())
            )
            found |= meant(batches)
        return found

    def cases(self) -> Iterator[Case]:
        """Closed episodes in the order of their admission."""
        arms = self.arms()
        for episode, journal in self.journals.items():
            admitted, closed = journal.get("admitted"), journal.get("closed")
            opened = journal.get("opened")
            if not isinstance(admitted, ProblemAdmitted) or not isinstance(closed, EpisodeClosed):
                continue
            assert isinstance(opened, EpisodeOpened)
            # A member's own journal holds its beginning
            # and its end; what it did stands in the set's.
            if opened.within is not None:
                with suppress(NoPolicy):  # only it knows which part of the set's record is whose
                    policy = find_recorded(find, opened.policy, opened.policy_version)
                    journal = with_part(journal, self.journals[opened.within], policy)
            problem, trace = admitted.problem, trace_of(journal)
            yield Case(
                episode,
                problem,
                opened,
                closed,
                trace,
                self.grades.of(episode),
                closed.calibrated,
                label(self.references, problem, episode),
                own(episode, trace, arms.get(episode, {})),
                self.grade,
                self.verdicts.get(episode),
            )

    def steps(self, cases: Iterable[Case]) -> dict[str, list[Batch]]:
        """The batches that these cases are members of, by scope and in order; without what others among them are."""
        known = {case.episode: case for case in cases}
        found: dict[str, list[Batch]] = {}
        for scope, batches in sorted(self.members.items()):
            for number, members in sorted(batches.items()):
                mine = [known[member] for member in members if member in known]
                if not mine:
                    continue
                usages = [case.closed.usage for case in mine]
                batch = Batch(
                    number,
                    outcomes=tuple(RIGHT.get(case.outcome) for case in mine),
                    calls=tuple(usage.calls for usage in usages),
                    tokens=tuple(usage.tokens for usage in usages),
                    lessons=self.lessons[scope, number],
                )
                found.setdefault(scope, []).append(batch)
        return found

    def learned(self, record: Record) -> None:
        """Take what a scope spent and said while it learned."""
        match record.event:
            case Completed() as event:
                scope, made = scope_of(record.episode), (role_of(event), event.model)
                self.learning.setdefault(scope, Spent()).add(event)
                self._batch_of(record.episode)[0].add(event)
                self.makers.setdefault(scope, set()).add(made)
            # A revision closes a batch again without what a
            # person had forgotten: its members are known.
            case BatchClosed(scope=scope, batch=batch, members=members, revision=None):
                self.members.setdefault(scope, {})[batch] = tuple(members)
            case LessonDistilled() if (parts := learning_parts(record.episode)) and parts[
                2
            ] is None:
                self.lessons[parts[0], parts[1]] += 1
            case KnowledgeConsolidated(result=result):
                self.consolidated.setdefault(scope_of(record.episode), Counter())[result] += 1
                self._batch_of(record.episode)[1][result] += 1
            case _:
                pass

    def _batch_of(self, episode: str) -> tuple[Spent, Counter[str]]:
        scope, number, _ = learning_parts(episode) or (scope_of(episode), 0, None)
        return self.in_batch.setdefault((scope, number), (Spent(), Counter()))

    def learned_from(self, scope: str, series: Set[str]) -> list[tuple[Spent, Counter[str]]]:
        """What a scope spent and came to in the batches that hold a problem of these series."""
        return [
            found
            for number, members in sorted(self.members.get(scope, {}).items())
            if (found := self.in_batch.get((scope, number))) is not None
            and any(self.series_of(member) in series for member in members)
        ]

    def series_of(self, episode: str) -> str | None:
        """The series that an episode's problem was put in."""
        admitted = self.journals.get(episode, {}).get("admitted")
        return admitted.problem.series if isinstance(admitted, ProblemAdmitted) else None

    def reference(self, episode: str) -> References | None:
        """The label of an episode's problem, where one came."""
        admitted = self.journals.get(episode, {}).get("admitted")
        if not isinstance(admitted, ProblemAdmitted):
            return None
        return label(self.references, admitted.problem, episode)

    def shadows(self, parent: str) -> list[Shadow]:
        """Closed shadow runs of an episode, one for each of its prunes and in their order; of several the newest."""
        of = self.journals.get(parent, {})
        found: dict[str, Shadow] = {}
        for journal in self.journals.values():
            opened, closed = journal.get("opened"), journal.get("closed")
            if not isinstance(opened, EpisodeOpened) or opened.parent != parent:
                continue
            at = opened.at or ""
            pruned = of.get(at)
            if not isinstance(closed, EpisodeClosed) or not isinstance(pruned, NodePruned):
                continue
            # A person may fork at a prune too, to ask another model: that run prunes there as its
            # episode did, and says nothing of the branch.
            put = orjson.loads(self.text(opened.settings) or "{}")
            if put.get("shadow_from", pruned.node) == pruned.node:
                trace = trace_of(before(of, at) | journal)
                found[at] = Shadow(at, pruned.node, closed, trace)
        return sorted(found.values(), key=lambda shadow: address_order(shadow.at))


def read(log: SqliteLog, grade: Grades = grade_reference) -> Reading:
    """Everything that an analysis needs, in one pass. ``grade`` judges answers that no episode gave."""
    reading = Reading(references=references(log), grade=grade, text=log.text)
    for record in log.records():
        # Problems, side runs and sets. All else is learning, of which only the costs and the counts
        # are kept: its journals would fill memory, and no case is made of them.
        if record.episode.startswith(("p/", "q/", "s/")) and record.topic == "events":
            reading.journals.setdefault(record.episode, {})[record.address] = record.event
        else:
            reading.learned(record)
        match record.event:
            case Graded():
                reading.grades.feed(record.episode, record.event)
            case Reflected(summary=summary) if "pulls" in summary:
                reading.left[record.episode] = summary
            # With an embedder it is a change of vectors, from which no arm learns anything.
            case BatchClosed(rule=rule) as batch if rule == LINUCB and batch.embedder is None:
                reading.batches.setdefault(batch.scope, {})[batch.batch] = batch
            case ProblemAdmitted(problem=problem, scope=scope) if problem.series is not None:
                reading.scopes.setdefault(problem.series, set()).add(scope)
            case _:
                pass
    for journal in reading.journals.values():
        opened, closed = journal.get("opened"), journal.get("closed")
        if (
            isinstance(opened, EpisodeOpened)
            and opened.parent
            and isinstance(closed, EpisodeClosed)
        ):
            reading.probes.setdefault(opened.parent, []).append(paid(journal))
    # Last of all: a verdict stands in a side run, before or behind the episode that it is about.
    reading.verdicts = verdicts(reading.journals, log.text, reading.reference)
    return reading


def role_of(reply: Completed) -> str:
    """The role that was asked."""
    return reply.asked.split(" ")[1]


def references(log: SqliteLog) -> Labels:
    """The newest reference of each problem and episode that feedback gave one, with its place on the log."""
    found: dict[str, tuple[int, References]] = {}
    for subject, told in judgements_of(log).said.items():
        # What a person answered to a policy's question is no reference of its answer.
        known = [(at, e.reference) for at, e in told if e.reference is not None and not e.review]
        if known:
            # A corrected reference stands behind the one that it replaces.
            at, reference = known[-1]
            found["/".join(subject)] = at, references_of(reference)
    return found


def label(labels: Labels, problem: Problem, episode: str) -> References | None:
    """The newest reference of an episode or of its problem."""
    names = (episode, f"{problem.domain}/{problem.id}")
    known = [labels[name] for name in names if name in labels]
    return max(known, key=itemgetter(0))[1] if known else None


def chosen(cases: Iterable[Case], run: str | None) -> list[Case]:
    """The cases of a run (by id or its beginning), policy or series; all of them without one."""
    if run is None:
        return list(cases)
    every = list(cases)
    named = [c for c in every if run in (c.opened.policy, c.problem.series, c.name, c.run)]
    # Names first: a series may be called as another one's id begins.
    return named or [case for case in every if case.run.startswith(run)]
