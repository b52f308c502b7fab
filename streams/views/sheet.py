"""Everything that an episode's screen needs, read from the log."""

# `show`, the dashboard and the door read an episode by `read`, and nothing else
# of it: what a person is shown in one place cannot differ from what is shown in
# another. A view is made anew for each request and never kept, for the log may
# have grown; it folds one episode alone, so that a long log costs nothing.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from schemas.answer import Judgements
from schemas.events.base import Event
from schemas.events.episode import (
    Completed,
    EpisodeAdopted,
    EpisodeClosed,
    EpisodeOpened,
    EpisodeParked,
    ProblemAdmitted,
    ReviewAsked,
)
from schemas.events.learning import (
    BatchClosed,
    Graded,
    LessonDistilled,
    ProblemForgotten,
    Reflected,
)
from schemas.identity import address_order, is_numbered, learning_id
from schemas.usage import Usage, total
from state.folds.grades import GradesFold, Known, word_of
from streams.core.judgements import judgements
from streams.runtime.embedded.queries.episodes import claims_on
from streams.views.states import state_of

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog


COUNTED = {"pulls": "reward", "proposals": "proposal", "tuples": "attempt"}
"""What a summary holds that a scope learns by counting, by its name there."""


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """One episode as recorded. ``journal`` of a fork begins with its parent's record."""

    episode: str
    journal: dict[str, Event]
    admitted: ProblemAdmitted | None
    opened: EpisodeOpened | None
    closed: EpisodeClosed | None
    batch: int | None
    learned_from: BatchClosed | None
    resumed: int
    taught: tuple[LessonDistilled, ...] | None
    """Lessons drawn from it; none at all before its batch was learned from."""
    forgotten: ProblemForgotten | None = None
    """Who had its problem forgotten, and why, if somebody did: no later memory rests on it."""

    @property
    def learning(self) -> bool:
        """Whether this is an episode in which a scope learns."""
        return self.learned_from is not None

    @property
    def numbered(self) -> list[tuple[str, Event]]:
        """What the policy yielded, in order."""
        return sorted(
            ((at, event) for at, event in self.journal.items() if is_numbered(at)),
            key=lambda pair: address_order(pair[0]),
        )

    @property
    def usage(self) -> Usage:
        """What was spent, so far if the episode is open."""
        if self.closed is not None:
            return self.closed.usage
        return total(event.usage for event in self.journal.values() if isinstance(event, Completed))

    @property
    def known(self) -> Known:
        """What is known of its answer."""
        fold = GradesFold()
        for event in self.journal.values():
            if isinstance(event, Graded):
                fold.feed(self.episode, event)
        return fold.of(self.episode)

    @property
    def undecided_for(self) -> str | None:
        """Why a grader could not decide about its answer, where none could and it says so."""
        answered = self.closed is not None and self.closed.answer is not None
        return self.graded_for if self.known.standing(answered) == "undecided" else None

    @property
    def graded_for(self) -> str | None:
        """The reason that the grade which counts gives for itself, such as why a grader cannot decide."""
        word = self.known.word
        grades = (event for event in self.journal.values() if isinstance(event, Graded))
        reasons = [each.detail for each in grades if word_of(each) == word]
        return reasons[-1] if reasons else None

    @property
    def judged(self) -> Judgements:
        """How many judgements of its work could be read."""
        return judgements(event for _, event in self.numbered)

    @property
    def parked(self) -> EpisodeParked | None:
        """Why it waits for a person, if it does."""
        # Each time that a person takes it up again leaves an `adopted` of its own, so it is parked
        # while there are more partings than returns.
        kinds = [event.kind for event in self.journal.values()]
        if self.closed or kinds.count("episode.parked") <= kinds.count("episode.adopted"):
            return None
        return [e for e in self.journal.values() if isinstance(e, EpisodeParked)][-1]

    @property
    def cancelled(self) -> EpisodeAdopted | None:
        """Who took it out, and why, if somebody did before it had ended."""
        if self.closed:
            return None
        decided = (e for e in self.journal.values() if isinstance(e, EpisodeAdopted) and e.void)
        return next(decided, None)

    @property
    def waits(self) -> list[ReviewAsked]:
        """The questions to people that nobody has answered; of a closed episode none matters any more."""
        if self.closed or self.parked or self.cancelled:
            return []
        # The answer takes the place that the question named:
        # a question whose address is empty still waits.
        asked = (event for event in self.journal.values() if isinstance(event, ReviewAsked))
        return [event for event in asked if event.address not in self.journal]

    @property
    def state(self) -> str:
        """What has become of it, in one word."""
        return state_of(
            None if self.closed is None else self.closed.status,
            learning=self.learning,
            parked=self.parked is not None,
            cancelled=self.cancelled is not None,
            asking=bool(self.waits),
            begun=self.opened is not None or self.learning,
        )

    @property
    def summary(self) -> dict[str, object]:
        """What the policy itself says of the episode in short."""
        reflected = self.journal.get("reflected")
        return reflected.summary if isinstance(reflected, Reflected) else {}

    @property
    def learned_in(self) -> str | None:
        """The episode in which its scope learned from it, once it has."""
        if self.taught is None or self.batch is None or self.admitted is None:
            return None
        return learning_id(self.admitted.scope, self.batch)

    @property
    def counted(self) -> list[tuple[int, str]]:
        """What it left that is counted and not written down: how many of what. Arms and beliefs have no lessons."""
        left = ((self.summary.get(name), what) for name, what in COUNTED.items())
        found = [
            (len(cast("list[object]", each)), what) for each, what in left if isinstance(each, list)
        ]
        if self.summary.get("phase") in ("build", "weigh"):
            found.append((1, "run"))
        return [each for each in found if each[0]]


def read(log: SqliteLog, episode: str) -> EpisodeView:
    """The sheet of an episode."""
    own = log.journal(episode)
    opened, closed = own.get("opened"), own.get("closed")
    opened = opened if isinstance(opened, EpisodeOpened) else None
    journal = _with_parent(log, own, opened)
    admitted, batch = journal.get("admitted"), own.get("batch")
    admitted = admitted if isinstance(admitted, ProblemAdmitted) else None
    learned_from = batch if isinstance(batch, BatchClosed) else None
    number, taught = None, None
    if admitted is not None and opened is not None:
        number, taught = _taught(log, episode, admitted.scope, opened.memory_version)
    forgotten = None
    if admitted is not None:
        # By the memory that it belongs to. No early end: a problem may be forgotten again under
        # another reason, and the last word counts.
        problem, place = admitted.problem, f"n/{admitted.scope}/-"
        for record in log.records(episode=place, kinds=("problem.forgotten",)):
            said = record.event
            if isinstance(said, ProblemForgotten) and (
                (said.domain, said.problem_id) == (problem.domain, problem.id)
            ):
                forgotten = said
    # The first claim is that of the worker that began;
    # each further one took up where another ended.
    topic = "learning" if learned_from is not None else "events"
    return EpisodeView(
        episode,
        journal,
        admitted,
        opened,
        closed if isinstance(closed, EpisodeClosed) else None,
        number if learned_from is None else learned_from.batch,
        learned_from,
        max(claims_on(log, episode, topic) - 1, 0),
        taught,
        forgotten,
    )


def _with_parent(
    log: SqliteLog, own: dict[str, Event], opened: EpisodeOpened | None
) -> dict[str, Event]:
    """A fork's record: its parent's before the address where it left it, then its own.

    The record of a member of a set has its part of the set's.
    """
    if opened is not None and opened.within is not None:
        # Imported here: the registry loads every policy, and most episodes are members of no set.
        from streams.engine.policies import NoPolicy, find, find_recorded
        from streams.engine.sets import with_part

        with suppress(NoPolicy):  # only it knows which part of the set's record is whose
            policy = find_recorded(find, opened.policy, opened.policy_version)
            return with_part(own, log.journal(opened.within), policy)
        return own
    if opened is None or opened.parent is None:
        return own
    parent = log.journal(opened.parent)
    if opened.at is None:
        return {at: e for at, e in parent.items() if at == "admitted"} | own
    # A probe that leaves at no address runs all of it anew, so only
    # the problem is its parent's. A fork keeps what came before the
    # address where it left; what its parent did later is not its past.
    end = address_order(opened.at)
    kept = {
        at: event
        for at, event in parent.items()
        if at == "admitted" or (is_numbered(at) and address_order(at) < end)
    }
    return kept | own


def batches(log: SqliteLog, scope: str, after: int = 0) -> Iterator[BatchClosed]:
    """The closed batches of a scope, from a memory version on."""
    # An episode that saw version n can only be in a later batch. Versions are counted as batches
    # are, so no batch before that one is looked at.
    number = after + 1
    while isinstance(closed := log.find(learning_id(scope, number), "batch"), BatchClosed):
        yield closed
        number += 1


def _taught(
    log: SqliteLog, episode: str, scope: str, version: int
) -> tuple[int | None, tuple[LessonDistilled, ...] | None]:
    """The batch that an episode is a member of, and the lessons that were drawn from it."""
    for closed in batches(log, scope, version):
        if episode in closed.members:
            learning = learning_id(scope, closed.batch)
            # While the batch is being learned from, some of its lessons
            # may be written: none are shown as if they were all.
            if log.find(learning, "closed") is None:
                return closed.batch, None
            learned = log.records(episode=learning, kinds=("lesson.distilled",))
            events = (record.event for record in learned)
            lessons = (
                e for e in events if isinstance(e, LessonDistilled) and episode in e.evidence
            )
            return closed.batch, tuple(lessons)
    return None, None
