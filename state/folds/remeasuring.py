"""Measures by another embedder: what a rule took from vectors, reckoned again from what they are made of.

A version keeps what was decided (which proposals joined, which cases were near, what a pair moved); vectors
that it holds, and regressions on them, are made anew. Every text is on the record: of a problem, of a
principle or proposal, or what an episode said that it measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import structs

from handlers.learning.contexts import Folded
from handlers.learning.embedding import Anew
from handlers.learning.measured import Measured
from handlers.learning.rules import VECTORS
from schemas.events.base import Event
from schemas.events.episode import Embedded
from schemas.events.learning import BatchClosed, Reflected
from schemas.identity import learning_id
from schemas.memory import Memory
from state.folds.forgetting import taught
from state.folds.learned import Learned
from state.folds.measuring import members_of, numbers_after
from state.folds.versions import Versions


# The part of ``MemoryFold`` that is asked here. It is a protocol, because that module imports this
# one.
class Past(Protocol):
    """The past of a scope: everything that is known of it, however long ago."""

    versions: Versions

    def reflection(self, episode: str) -> Reflected:
        """Return an episode's reflection."""
        ...

    def journal(self, episode: str) -> Mapping[str, Event]:
        """The records of a learning episode by address."""
        ...

    def closing(self, number: int) -> BatchClosed:
        """How a batch was closed last."""
        ...

    def facts_kept(self, number: int) -> list[Event]:
        """Return the facts that learning rules took from a batch, less those that are forgotten."""
        ...


@dataclass(frozen=True, slots=True)
class Remeasuring:
    """One closing of a batch for whose version measures get vectors anew.

    ``known`` are the vectors of texts that the record names, by embedder.
    """

    past: Past
    closed: BatchClosed
    known: dict[str, Anew]

    @classmethod
    def of(cls, past: Past, closed: BatchClosed, learned: Learned) -> Remeasuring:
        """With every vector that is named up to there; a batch that is new has none but its own."""
        episodes = (
            learning_id(past.versions[number].scope, number, revision)
            for number in range(1, closed.batch + 1 if closed.revision is not None else 1)
            for revision in range(past.versions[number].revision + 1)
        )
        said = (each for episode in episodes for each in past.journal(episode).values())
        named = [each for each in said if isinstance(each, Embedded) and each.texts is not None]
        known: dict[str, Anew] = {}
        # The first vector of a text counts: an endpoint may give another one when it is asked
        # again.
        for each in [*named, *learned.named]:
            anew = known.setdefault(each.embedder, Anew())
            for text, vector in zip(each.texts or (), each.vectors, strict=False):
                anew.known.setdefault(text, vector)
        return cls(past, closed, known)

    @property
    def vectors(self) -> Anew:
        """Those of the embedder that the closing names."""
        return self.known.setdefault(self.closed.measured or "", Anew())

    def numbers(self, before: Memory, facts: Sequence[Event]) -> Mapping[str, Any]:
        """The learned state after the batch."""
        state = numbers_after(before, self.closed, facts, self._members(before, self.closed))
        made = made_by(self.past, before, self.closed)
        # What was folded by the embedder that is wanted holds its vectors already.
        return state if made == self.closed.measured else self.held(state)

    def held(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """A state of this batch with other vectors in it."""
        rule, constants = self.closed.rule, self.closed.constants or {}
        if rule is None:
            return state
        return VECTORS[rule].held(state, self._history(), constants, self.vectors)

    def everything(self) -> None:
        """Look for every vector that members and facts of any batch up to this one brought along."""
        for number in range(1, self.closed.batch + 1):
            closed = self._taught(number)
            if closed.rule is None:
                continue
            how = VECTORS[closed.rule]
            for member in members_of(closed, self.past.reflection):
                how.member(member, self.vectors)
            for text in filter(None, map(how.text_of, self.past.facts_kept(number))):
                self.vectors(text)

    def _history(self) -> Iterator[Folded]:
        """Every batch up to this one, as it was folded."""
        for number in range(1, self.closed.batch + 1):
            before = self.past.versions[number - 1]
            # The batch itself counts as it is being closed; those before it as their versions were
            # learned.
            now = number == self.closed.batch and self.closed.embedder is None
            closed = self.closed if now else self._taught(number)
            yield Folded(before.learned, self._members(before, closed), closed.constants or {})

    def _taught(self, number: int) -> BatchClosed:
        """How a batch was closed that its version was learned from."""
        closed = taught(self.past.journal, self.past.versions[number])["batch"]
        assert isinstance(closed, BatchClosed)
        return closed

    def _members(self, before: Memory, closed: BatchClosed) -> list[Measured]:
        """Return the members' measures, by one embedder where the closing says that there were two."""
        made, wanted = members_of(closed, self.past.reflection), made_by(self.past, before, closed)
        # Only where two embedders met does the closing name one, and then members of the other are
        # measured anew. All other logs are folded as ever.
        if closed.measured is None or closed.rule is None or wanted is None:
            return made
        anew, vectors = VECTORS[closed.rule].member, self.known.setdefault(wanted, Anew())
        own = (self.past.reflection(member).embedder for member in closed.members)
        pairs = zip(made, own, strict=True)
        return [each if by in (None, wanted) else anew(each, vectors) for each, by in pairs]


def made_by(past: Past, before: Memory, closed: BatchClosed) -> str | None:
    """By which embedder a batch is folded: that of the version before, else of the last to measure."""
    return before.embedder or _last_to_measure(past, closed)


def _last_to_measure(past: Past, closed: BatchClosed) -> str | None:
    made = (past.reflection(member).embedder for member in reversed(closed.members))
    return next((each for each in made if each is not None), None)


def numbers_of(
    past: Past, before: Memory, closed: BatchClosed, facts: Sequence[Event], learned: Learned
) -> Mapping[str, Any]:
    """The learned state after a batch, with vectors anew where its closing says so."""
    if closed.measured is None:
        return numbers_after(before, closed, facts, members_of(closed, past.reflection))
    return Remeasuring.of(past, closed, learned).numbers(before, facts)


def held_anew(
    past: Past, closed: BatchClosed, state: Mapping[str, Any], learned: Learned
) -> Mapping[str, Any]:
    """The learned state of a version that is closed again for its vectors."""
    return state if closed.measured is None else Remeasuring.of(past, closed, learned).held(state)


def embedder_of(past: Past, closed: BatchClosed) -> str | None:
    """Return the embedder of the vectors that a batch's members measured, if its rule takes any.

    Where reflections of an earlier build do not say it, the members' own records do, as far as they are at hand.
    """
    if closed.rule is None:
        return None
    found = _last_to_measure(past, closed)
    if found:
        return found
    # Reflections of earlier builds name no embedder, but the members' own records may.
    sought = Anew()
    for member in members_of(closed, past.reflection):
        VECTORS[closed.rule].member(member, sought)
        if sought.lacks or sought.unsaid:
            said = past.journal(member.episode).values()
            return next((each.embedder for each in said if isinstance(each, Embedded)), None)
    return None


def aligned(past: Past, closed: BatchClosed) -> BatchClosed:
    """The closing, which says by which embedder its measures get vectors anew if there are two."""
    if closed.rule is None:
        return closed
    folded = made_by(past, past.versions[closed.batch - 1], closed)
    wanted = folded if closed.revision is None else past.versions[closed.batch].embedder
    made = {folded, *(past.reflection(member).embedder for member in closed.members)}
    # None is no embedder: a member that measured nothing does not make a second one.
    others = made - {wanted, None}
    return structs.replace(closed, measured=wanted if others else None)


def wanted(past: Past, closed: BatchClosed) -> Anew:
    """Return the texts that a closing's measures need: of all that was ever measured, or of its members.

    A batch that only loses a forgotten problem needs no more than was made for it before.
    """
    again = Remeasuring.of(past, closed, Learned())
    if closed.embedder is not None:
        again.everything()
    elif closed.revision is None:
        again.numbers(past.versions[closed.batch - 1], ())
    return again.vectors


def sought_by(past: Past, memory: Memory) -> Anew:
    """All that a version's measures would look for by an embedder that made none of their vectors."""
    said = {"embedder": "another", "measured": "another"}
    return wanted(past, structs.replace(past.closing(memory.number), **said))
