"""Memory versions as a fold over learning episodes. Needs no policy code: golden logs rebuild for ever."""

# Theory of operation. ``feed`` takes the records of one scope. A batch is closed
# (``BatchClosed``), its learning episode says what it learned, and ``MemoryVersioned`` ends it
# with a digest; ``following`` puts the version together, and a digest that is not met raises.
# Everything that a version needs is popped then, since a scope may run for years.
#
# A revision is the same number closed again: for other vectors, because a problem was forgotten,
# or because answers were graded anew. It is reckoned from the revision before and from the log,
# and it never looks at what came after its batch.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from msgspec import structs

from handlers.learning.bandits import heeded
from handlers.learning.retire import overturning, paired, ruled
from handlers.learning.retold import retold
from schemas.events.base import Event
from schemas.events.learning import (
    BatchClosed,
    EmbedderChanged,
    Graded,
    KnowledgeRevised,
    MemoryVersioned,
    ProblemForgotten,
    Reflected,
)
from schemas.identity import learning_id, learning_parts
from schemas.memory import FIRST_RULE, Labels, Memory, MemoryItem
from schemas.outcome import Outcome
from state.folds.forgetting import Forgetting, Records, stated, taught
from state.folds.labelling import Labelling, without
from state.folds.learned import Learned, pairs_of
from state.folds.measuring import standing_after
from state.folds.remeasuring import aligned, embedder_of, held_anew, numbers_of
from state.folds.succession import Measures, assembled, next_memory, rules_again
from state.folds.versions import Versions

__all__ = ["Learned", "MemoryFold", "MemoryMismatch", "next_memory"]


class MemoryMismatch(ValueError):
    """A memory version's digest differs from what its records add up to."""


def unknown(episode: str) -> str:
    """The outcome of an episode of which nothing was said."""
    return "unknown"


def never(episode: str) -> Outcome | None:
    """No answer was graded anew."""
    return None


@dataclass(slots=True)
class MemoryFold:
    """Every memory version of one scope.

    ``outcome`` says what is known of an episode's answer, ``anew`` only where it was graded anew; ``records``
    finds what was folded long ago, which only versions that are closed again need.
    """

    scope: str
    outcome: Callable[[str], str] = field(default=unknown, compare=False)
    records: Records | None = field(default=None, compare=False)
    versions: Versions = field(default_factory=Versions)
    learning: dict[str, Learned] = field(default_factory=dict[str, Learned])
    reflected: dict[str, Reflected] = field(default_factory=dict[str, Reflected])
    batches: dict[int, BatchClosed] = field(default_factory=dict[int, BatchClosed])
    words: dict[str, KnowledgeRevised] = field(default_factory=dict[str, KnowledgeRevised])
    """What persons said of items that no version heeds yet, by address."""
    changing: str | None = None
    """The embedder that its lessons are to be embedded by anew."""
    labelling: Labelling = field(default_factory=Labelling)
    forgetting: Forgetting = field(default_factory=Forgetting)
    anew: Callable[[str], Outcome | None] = field(default=never, compare=False)

    def __post_init__(self) -> None:
        self.versions.setdefault(0, Memory(self.scope, 0))

    @property
    def latest(self) -> Memory:
        """The newest version."""
        return self.versions.latest

    def learned(self, closed: BatchClosed) -> Learned:
        """Return what the learning episode of a batch has stated so far."""
        episode = learning_id(self.scope, closed.batch, closed.revision)
        return self.learning.setdefault(episode, Learned())

    def feed(self, episode: str, address: str, event: Event) -> None:
        """Take one record. Raises ``MemoryMismatch`` when a version's digest is not met."""
        if type(event) not in self.TAKES:
            if episode.startswith("b/"):
                self.learning.setdefault(episode, Learned()).feed(address, event)
            return
        match event:
            # A problem may be forgotten while its episode still runs; what that leaves is not
            # taken.
            case Reflected() if not self.forgetting.covers(episode):
                self.reflected[episode] = event
                self.labelling.reflected(episode, event)
            case Graded():
                self._graded(episode, event)
            case KnowledgeRevised():
                self.words.setdefault(address, event)
            case EmbedderChanged():
                # Vectors are owed where there are any, or where a former change is under way.
                known, begun = self.latest.embedder, self.begun_anew
                settled = known is None or (known == event.embedder and begun is None)
                self.changing = None if settled else event.embedder
            case ProblemForgotten():
                self._forgotten(event)
            case BatchClosed():
                self._closed(event)
            case MemoryVersioned():
                self._version(episode, event)
            case _:
                pass

    def awaits(self, episode: str) -> bool:
        """Whether a learning episode may still say something: its batch is closed, its version not there yet.

        A version 0 has no batch: a warm start may say it until the first batch is closed.
        """
        parts = learning_parts(episode)
        if parts is None or parts[0] != self.scope:
            return False
        _, batch, revision = parts
        if batch == 0:
            return revision is None and len(self.versions) == 1 and not self.batches
        closed = self.batches.get(batch)
        return closed is not None and closed.revision == revision

    def _graded(self, episode: str, event: Graded) -> None:
        """A label may have changed; and versions that rest on another outcome are closed again."""
        if self.forgetting.covers(episode):
            return
        self.labelling.regraded(episode)
        if event.relearned_from is not None:
            last = max([*self.versions, *self.batches])
            self._overtake(event.relearned_from)
            self.forgetting.owe_outcomes(range(event.relearned_from, last + 1))

    def _overtake(self, first: int) -> None:
        """What was closed again from a batch on knows nothing of what is said now."""
        self.forgetting.overtaken.update(
            number
            for number, closed in self.batches.items()
            if number >= first and closed.revision is not None and closed.embedder is None
        )

    def _closed(self, event: BatchClosed) -> None:
        before = self.batches.get(event.batch)
        if before is not None:  # nobody goes on with what was said of it
            self.learning.pop(learning_id(self.scope, before.batch, before.revision), None)
        self.batches[event.batch] = event
        self.forgetting.overtaken.discard(event.batch)
        if self.forgetting.overtakes(event):
            self.forgetting.overtaken.add(event.batch)
        if event.revision is None:
            self.labelling.closed(event)
            # Its closer may not have read yet that something is being forgotten. Then its version
            # is owed again like those before it, instead of being refused.
            if self.forgetting.is_unknown_to(event):
                self.forgetting.owe_unaware(event)

    def _version(self, episode: str, event: MemoryVersioned) -> None:
        known = self.versions.get(event.number)
        # A second record of the same version, as two workers may write in a takeover, changes
        # nothing.
        if event.number > 0 and known is not None and known.revision >= (event.revision or 0):
            return
        learned = self.learning.pop(episode, Learned())
        closed = self.batches.pop(event.number, None)
        memory = self.following(learned, event.number, event.live_from, closed)
        # A version that is closed again anyway may have been made by somebody who did not know why
        # yet.
        if memory.state() != event.state:
            if not self.forgetting.replaces(event):
                raise MemoryMismatch(
                    f"{self.scope}: version {memory.name} does not add up to its records"
                )
            if event.revision is not None:
                assert closed is not None
                # Nobody can tell what it was made of. Its closing stays, to be followed by the next one.
                self.batches[event.number] = closed
                return
        # Other vectors withdraw nothing and end no batch, and so the rest is not looked at.
        if closed is not None and closed.embedder is not None:
            self.changing = None if self.changing == closed.embedder else self.changing
            self.versions.revise(memory)
            return
        if memory.revision:
            assert closed is not None
            lost = self._lost(closed)
            self.versions.revise(memory)
            if event.number in self.forgetting.overtaken:
                self.forgetting.done_unaware(event.number, *lost)
            else:
                self.forgetting.done(event.number, *lost)
            return
        self.versions[event.number] = memory
        self.labelling.counted(memory.labels, memory.number)
        for address in (closed.revised or ()) if closed is not None else ():
            # Members are kept until their version stands, for a crash before it learns from them
            # again.
            self.words.pop(address, None)
        for member in closed.members if closed is not None else ():
            self.reflected.pop(member, None)

    def _lost(self, closed: BatchClosed) -> tuple[set[str], set[str]]:
        """Lessons that are withdrawn and roles that are stale once a batch that was closed again has its version."""
        if not closed.regraded or closed.batch in self.forgetting.overtaken:
            return self.touched(closed)
        # By a revision for outcomes nothing is lost; what was withdrawn before it stays so.
        if closed.throughout:
            return {*self.forgetting.withdrawn}, {*self.forgetting.stale}
        return set(), set()

    # -- what a version adds up to -----------------------------------------------------------------

    def following(
        self, learned: Learned, number: int, live_from: int, closed: BatchClosed | None
    ) -> Memory:
        """The memory version that follows from a batch, or the revision of one."""
        previous = self.versions.get(number - 1, Memory(self.scope, 0))
        if closed is None:
            return next_memory(previous, learned, number, live_from)
        if closed.embedder is not None:
            old, revision = self.versions[number], closed.revision or 0
            anew = old.embedded_anew(learned.vectors, closed.embedder, revision)
            return replace(anew, learned=held_anew(self, closed, old.learned, learned))
        if closed.revision is not None:
            return self._revised(previous, learned, closed, live_from)
        labels = previous.labels
        # Labels are counted only where the batch asked for calibration when it was closed: what is
        # fitted later must not change what a version holds.
        if closed.calibration is not None:
            labels = self.labelling.count(labels, number, self.outcome, closed.calibration)
        words = [self.words[address] for address in closed.revised or ()]
        standing = ruled(previous.standing, ((word.name, word.change) for word in words))
        measures = self._measures(previous, standing, labels, closed, learned.facts, learned)
        made = closed.measured or learned.embedder or embedder_of(self, closed)
        measures = replace(measures, embedder=made)
        return next_memory(previous, learned, number, live_from, measures)

    def _measures(
        self,
        previous: Memory,
        standing: Mapping[str, Any],
        labels: Labels | None,
        closed: BatchClosed,
        facts: Sequence[Event],
        learned: Learned,
    ) -> Measures:
        if closed.retirement == "pairs@1":
            standing = paired(standing, pairs_of(facts, previous))
        elif closed.retirement is not None:
            standing = standing_after(standing, closed, self.reflection, self.versions)
        numbers = numbers_of(self, previous, closed, facts, learned)
        numbers = heeded(numbers, standing.get("ruled", {}))
        return Measures(numbers, standing, labels, closed.retirement)

    def reflection(self, episode: str) -> Reflected:
        """Return an episode's reflection, however old it is. Raises ``LookupError``."""
        found = self.reflected.get(episode) or self._read(episode).find(episode, "reflected")
        if not isinstance(found, Reflected):
            raise LookupError(f"{episode} left no reflection")
        return found

    # -- another embedder -----------------------------------------------------------------------

    @property
    def begun_anew(self) -> BatchClosed | None:
        """The newest version's closing for other vectors, where those are not all there yet."""
        closed = self.batches.get(self.latest.number)
        return None if closed is None or closed.embedder is None else closed

    def closed_anew(self) -> BatchClosed:
        """The closing of the newest version once more, for its vectors only."""
        memory, by, begun = self.latest, self.changing, self.begun_anew
        last = memory.revision if begun is None else begun.revision or 0
        said = {"embedder": by, "measured": by if memory.learned else None, "revision": last + 1}
        return structs.replace(self.closing(memory.number), **said)

    # -- forgetting --------------------------------------------------------------------------------

    def _forgotten(self, event: ProblemForgotten) -> None:
        prefix = self.forgetting.add(event)
        self.labelling.forget(prefix)
        for name in [name for name in self.reflected if name.startswith(prefix)]:
            del self.reflected[name]
        last = max([*self.versions, *self.batches])
        # Every version from the first that learned from the problem rests on it, through the rules
        # that were carried on. Earlier ones stay as they are.
        first = next(
            (
                number
                for number in range(1, last + 1)
                if any(member.startswith(prefix) for member in self.closing(number).members)
            ),
            last + 1,
        )
        self._overtake(first)
        self.forgetting.owe(range(first, last + 1))

    def closing(self, number: int) -> BatchClosed:
        """How a batch was closed last. Raises ``LookupError``."""
        # Asked for without the version itself: it may have to be made of the whole log.
        episode = learning_id(self.scope, number, self.versions.revision(number))
        known = self.batches.get(number) or self._read(episode).find(episode, "batch")
        if not isinstance(known, BatchClosed):
            raise LookupError(f"{self.scope}: batch {number} is not on the log")
        return known

    def touched(self, closed: BatchClosed) -> tuple[set[str], set[str]]:
        """Lessons that are withdrawn up to a version that is closed again so, and roles whose rules are stale in it."""
        old, facts = self.versions[closed.batch], self.facts_kept(closed.batch)
        withdrawn, stale = set[str](), set[str]()
        for said, journal in self.said(closed):
            found = self.forgetting.touched(old, said, journal, facts)
            withdrawn, stale = withdrawn | found[0], stale | found[1]
        return withdrawn, stale

    def said(self, closed: BatchClosed) -> Iterator[tuple[BatchClosed, Mapping[str, Event]]]:
        """What was said of a batch that is closed again so: how it was closed, and the record of that."""
        old = self.versions[closed.batch]
        if closed.throughout:
            # A rule that nobody had to write anew stands in no later record than the one that brought it.
            names = (learning_id(self.scope, old.number, each) for each in range(old.revision + 1))
            for journal in map(self.journal, names):
                said = journal.get("batch")
                if isinstance(said, BatchClosed) and said.embedder is None:
                    yield said, journal
            return
        journal = taught(self.journal, old)
        said = journal["batch"]
        assert isinstance(said, BatchClosed)
        # Nobody said anything in a revision for outcomes: what it holds was said before. Versions of
        # builds that did not look there must still add up.
        yield said, journal if said.overturned is None else stated(self.journal, old)

    def kept(self, number: int) -> tuple[MemoryItem, ...]:
        """The lessons of a batch that stay when it is closed again."""
        return tuple(
            item
            for item in self.versions[number].whole()
            if item.kind == "lesson" and item.batch == number and not self.forgetting.cites(item)
        )

    def _revised(
        self, previous: Memory, learned: Learned, closed: BatchClosed, live_from: int
    ) -> Memory:
        """A version without what cites forgotten problems; what is stale only as it was said anew.

        Of one that is closed again for its outcomes nothing is stale.
        """
        number, old, said = closed.batch, self.versions[closed.batch], learned.rules
        stale = set[str]() if closed.regraded else self.touched(closed)[1]
        rules = rules_again(previous, old, said, stale)
        before = [i for i in previous.whole() if i.kind == "lesson" and i.batch >= live_from]
        # Another embedder took over after the version was made; its lessons keep the vectors that
        # they had in it.
        if previous.embedder != old.embedder:
            before = [old.item(lesson.id) or lesson for lesson in before]
        lessons = [*before, *self.kept(number), *learned.items(number)]
        kept = without(old.labels, number, self.forgetting.prefixes)
        rule = FIRST_RULE if old.labels is None else old.labels.rule
        labels = Labels.on(previous.labels, number, kept, rule)
        words = old.standing.get("ruled", {})
        standing = overturning(ruled(previous.standing, words.items()), closed.overturned or ())
        again = learned.facts
        if closed.regraded:
            # Nobody is asked when outcomes change, so the facts are those of the newest revision
            # in which somebody was. A first closing has them in ``facts_kept`` already.
            journal = stated(self.journal, old)
            asked = journal["batch"]
            assert isinstance(asked, BatchClosed)
            again = [] if asked.revision is None else self.forgetting.left(journal)
        facts = self.retold([*self.facts_kept(number), *again], closed)
        measures = self._measures(previous, standing, labels, closed, facts, learned)
        measures = replace(measures, embedder=old.embedder)
        return assembled(previous, number, rules, lessons, measures, closed.revision or 0)

    def facts_kept(self, number: int) -> list[Event]:
        """Return the facts that learning rules took from a batch when it was first closed, less those that are
        forgotten.
        """
        return self.forgetting.left(self.journal(learning_id(self.scope, number)))

    def retold(self, facts: list[Event], closed: BatchClosed) -> list[Event]:
        """Facts of a batch as its closing has its members' outcomes."""
        if not closed.retold:
            return facts
        outcomes = dict(zip(closed.members, closed.outcomes, strict=True))
        return retold(facts, outcomes, lambda episode: self.reflection(episode).summary)

    def closing_without(self, number: int) -> BatchClosed:
        """The closing of a batch once more: without members that were forgotten, with outcomes as graded anew."""
        return aligned(self, self.forgetting.again(self.closing(number), self.anew))

    def journal(self, episode: str) -> Mapping[str, Event]:
        """The records of an episode by address, as far as they are kept."""
        return self._read(episode).journal(episode)

    def _read(self, episode: str) -> Records:
        if self.records is None:
            raise LookupError(f"{self.scope}: this needs the log to read {episode} from")
        return self.records

    TAKES: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            *(Reflected, Graded, KnowledgeRevised, EmbedderChanged),
            *(ProblemForgotten, BatchClosed, MemoryVersioned),
        }
    )
    """Types of records that it takes of any episode; of others those that a learning episode says count."""
