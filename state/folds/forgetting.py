"""Forgetting a problem: which versions of a scope have to be closed again, and what is withdrawn from them.

What cites the problem goes: its lessons; of the rules those of a role that were written from them, since
nobody can say which of their words came from where: those of the version before stand in again until they
are written anew. Arms, weights, graphs and labels are folded again without it. All of it follows from the
record.

Answers that are graded anew owe versions too: those are closed again with the new outcomes. What was said while
learning stays as it is, and what is counted is counted again.

Source: design/architecture.md#verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from msgspec import structs

from schemas.events.base import Event
from schemas.events.graph import PrincipleInduced
from schemas.events.learning import (
    BatchClosed,
    KnowledgeConsolidated,
    MemoryVersioned,
    ProblemForgotten,
)
from schemas.identity import episode_id, learning_id
from schemas.memory import Memory, MemoryItem
from schemas.outcome import Outcome
from schemas.problem import Limits
from state.folds.learned import Learned

# A consolidation that was refused, or kept what there was, put no word of the batch into the
# rules.
WRITTEN = ("consolidated",)
JournalOf: TypeAlias = Callable[[str], Mapping[str, Event]]
"""The record of an episode by address."""


# A port with one implementation for each log, and one for tests.
class Records(Protocol):
    """Parts of the log, for what folds do not keep."""

    def find(self, episode: str, address: str) -> Event | None:
        """One record's event, if it is there."""
        ...

    def journal(self, episode: str) -> Mapping[str, Event]:
        """The records of one episode by address."""
        ...

    def episodes(self, scope: str, prefix: str) -> Iterable[str]:
        """Names of a scope's episodes that begin with this."""
        ...


@dataclass(slots=True)
class Forgetting:
    """Problems that a scope forgot, and how far that has come."""

    subjects: dict[str, str] = field(default_factory=dict[str, str])
    """What names of a problem's episodes begin with, and the problem as ``domain/id``."""
    owed: list[int] = field(default_factory=list[int])
    """Versions that still have to be closed again, in order."""
    limits: Limits = field(default_factory=Limits)
    withdrawn: set[str] = field(default_factory=set[str])
    """Ids of the lessons that the versions so far have lost."""
    stale: set[str] = field(default_factory=set[str])
    """Roles whose rules rest on what was withdrawn."""
    regraded: set[int] = field(default_factory=set[int])
    # More was lost than outcomes: a revision for outcomes alone would keep lessons that have to
    # go.
    """Those that are owed only because answers were graded anew, in them or before: nothing is withdrawn."""
    overtaken: set[int] = field(default_factory=set[int])
    """Those that were closed again by somebody who had not read yet all that they are owed for; they stay owed."""

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Prefixes of the names of forgotten episodes."""
        return tuple(self.subjects)

    def add(self, event: ProblemForgotten) -> str:
        """One more problem; what the names of its episodes begin with."""
        prefix = episode_id(event.domain, event.problem_id, "")
        self.subjects[prefix] = f"{event.domain}/{event.problem_id}"
        self.limits = event.limits
        return prefix

    def covers(self, episode: str) -> bool:
        """Whether an episode worked on a forgotten problem."""
        return bool(self.subjects) and episode.startswith(self.prefixes)

    def cites(self, item: MemoryItem) -> bool:
        """Whether an item came from a forgotten problem."""
        return item.subject in self.subjects.values() or any(map(self.covers, item.evidence))

    def speaks_of(self, event: Event) -> bool:
        """Whether a fact was stated of a forgotten problem or of an episode that worked on it."""
        # Any of these names may lead to the problem; a fact that names it in none is not about it.
        said = (getattr(event, name, None) for name in ("subject", "source", "episode", "pair"))
        named = [each for each in said if isinstance(each, str)]
        return any(each in self.subjects.values() or self.covers(each) for each in named)

    def is_unknown_to(self, closed: BatchClosed) -> bool:
        """Whether a batch was closed by somebody who had not read yet what is being forgotten."""
        unawares = bool(self.owed) or any(map(self.covers, closed.members))
        return closed.revision is None and unawares

    def overtakes(self, closed: BatchClosed) -> bool:
        """Whether a batch was closed again by somebody who had not read yet all that it is owed for."""
        if closed.revision is None or closed.embedder is not None:
            return False
        # Whoever had read it would have left the problem out, and would have begun with the first that is owed.
        late = bool(self.owed) and closed.batch != self.owed[0]
        return late or any(map(self.covers, closed.members))

    def replaces(self, version: MemoryVersioned) -> bool:
        """Whether a version is closed again anyway; who made it may not have read yet why."""
        return version.number in (self.owed if version.revision is None else self.overtaken)

    def owe(self, numbers: Collection[int]) -> None:
        """These versions, and no others, have to be closed again, for more than their outcomes."""
        self.owed = sorted({*self.owed, *numbers})
        # What is owed for being forgotten is stronger than what is owed for an outcome: it
        # withdraws more.
        self.regraded.difference_update(numbers)

    def owe_outcomes(self, numbers: Collection[int]) -> None:
        """These have to be closed again for outcomes that changed; what else was owed to them still is."""
        self.regraded |= {*numbers} - {*self.owed}
        self.owed = sorted({*self.owed, *numbers})

    def owe_unaware(self, closed: BatchClosed) -> None:
        """A batch was closed by somebody who had not read yet why others before it are closed again."""
        forgot = self.regraded != {*self.owed} or any(map(self.covers, closed.members))
        (self.owe if forgot else self.owe_outcomes)([closed.batch])

    def done(self, number: int, withdrawn: set[str], stale: set[str]) -> None:
        """A version was closed again."""
        self.owed = [each for each in self.owed if each != number]
        self.regraded.discard(number)
        # Lists of lessons and roles are carried from version to version while any is owed, and end
        # with the last.
        self.withdrawn, self.stale = (withdrawn, stale) if self.owed else (set(), set())

    def done_unaware(self, number: int, withdrawn: set[str], stale: set[str]) -> None:
        """A version was closed again by somebody who had not read all that it is owed for: it stays owed for all of it.

        What the version lost is found in no later one, and what rests on it still has to be.
        """
        self.overtaken.discard(number)
        self.withdrawn |= withdrawn
        self.stale |= stale

    def touched(
        self,
        old: Memory,
        closed: BatchClosed,
        journal: Mapping[str, Event],
        facts: Sequence[Event] = (),
    ) -> tuple[set[str], set[str]]:
        """Lessons withdrawn up to a version, and the roles whose rules are stale in it.

        ``old``, ``closed`` and ``journal`` are those of the revision before; ``facts`` are what the
        batch's learning rule took from. Principles are written of all facts up to theirs.
        """
        withdrawn = self.withdrawn | {item.id for item in old.whole() if self.cites(item)}
        rests = any(map(self.covers, closed.members)) or any(
            isinstance(fact, PrincipleInduced) for fact in facts
        )
        # Nobody can say which words of a rule came from which lesson; so all rules of a role that
        # rest on a withdrawn one are stale, or, where no lessons are named, on the whole batch.
        stale = set(self.stale)
        for event in journal.values():
            if isinstance(event, KnowledgeConsolidated) and event.result in WRITTEN:
                named = withdrawn.intersection(event.lessons)
                if named or (rests and not event.lessons):
                    stale.add(event.role)
        return withdrawn, stale

    def left(self, journal: Mapping[str, Event]) -> list[Event]:
        """Return the facts of a batch that learning rules took, less those that are forgotten.

        A principle that names no problem goes unless its batch kept all members.
        """
        learned, closed = Learned(), journal["batch"]
        for address, event in journal.items():
            learned.feed(address, event)
        assert isinstance(closed, BatchClosed)
        lost = any(map(self.covers, closed.members))
        return [
            fact
            for fact in learned.facts
            if not self.speaks_of(fact)
            and not (lost and isinstance(fact, PrincipleInduced) and fact.subject is None)
        ]

    def again(self, closed: BatchClosed, anew: Callable[[str], Outcome | None]) -> BatchClosed:
        """The closing of a batch once more, without the members that were forgotten.

        ``anew`` gives the outcomes of answers that were graded anew.
        """
        # Outcomes are taken as they were recorded when the batch was learned from, unless the
        # answer was graded anew: a label that came later counts in a later version.
        pairs = zip(closed.members, closed.outcomes, strict=True)
        left = [(m, anew(m) or outcome) for m, outcome in pairs if not self.covers(m)]
        was = dict(zip(closed.members, closed.outcomes, strict=True))
        turned = closed.retold or any(outcome != was[member] for member, outcome in left)
        return structs.replace(
            closed,
            members=tuple(member for member, _ in left),
            outcomes=tuple(outcome for _, outcome in left),
            revision=(closed.revision or 0) + 1,
            limits=self.limits,
            embedder=None,
            measured=None,
            regraded=True if closed.batch in self.regraded else None,
            retold=turned or None,
            throughout=True,
        )


def taught(journal_of: JournalOf, memory: Memory) -> Mapping[str, Event]:
    """The record of the newest revision that was learned, not only given other vectors."""
    return _newest(journal_of, memory, lambda closed: closed.embedder is None)


def stated(journal_of: JournalOf, memory: Memory) -> Mapping[str, Event]:
    """The record of the newest revision in which somebody could be asked, and so state what was learned."""
    return _newest(journal_of, memory, lambda closed: not closed.embedder and not closed.regraded)


def _newest(
    journal_of: JournalOf, memory: Memory, is_such: Callable[[BatchClosed], bool]
) -> Mapping[str, Event]:
    """The record of the newest such revision; the first is always one."""
    revision = memory.revision
    while True:
        journal = journal_of(learning_id(memory.scope, memory.number, revision))
        closed = journal["batch"]
        assert isinstance(closed, BatchClosed)
        if not revision or is_such(closed):
            return journal
        revision -= 1


def blank(item: MemoryItem) -> MemoryItem:
    """Return what tables keep of a withdrawn item: only that there was one."""
    # The text's digest stays, so that a reader of tables can tell a withdrawn rule from a new one
    # of its id.
    return MemoryItem(
        id=item.id,
        kind=item.kind,
        role=item.role,
        text="",
        text_digest=item.text_digest,
        batch=item.batch,
    )
