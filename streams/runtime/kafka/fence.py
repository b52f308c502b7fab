"""The claim fence: which records of a partition count, decided by the log alone. Pure.

A fenced record counts only if the claim that it carries is the latest before it, and its address is new.
A claim is a fenced record too: it carries the one that it follows. So a claim that was sent twice counts once, and
one that comes late, after another's, never. Commands and projections carry no claim: the first of an id counts,
whoever sent it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import orjson

from schemas.events.base import Event
from schemas.events.codec import BadEvent, decode
from schemas.events.episode import EpisodeAdopted
from schemas.identity import is_set
from streams.runtime.kafka.envelope import LogRecord

CLAIMED = "partition.claimed"
FREE = frozenset(
    {
        *("series.opened", "position.voided", "reflected", "episode.adopted"),
        *("knowledge.revised", "problem.forgotten", "embedder.changed", "trace.taken"),
        *("subject.erased", "grade.proposed"),
    }
)
"""Kinds that need no claim."""
Journal: TypeAlias = dict[str, LogRecord]
"""What an episode said, by address."""
PARKING = {"episode.parked": 1, "episode.adopted": -1}


@dataclass(slots=True)
class Fence:
    """The claims of one partition, in order, as far as they were read."""

    epoch: int = -1
    """The offset of the latest claim."""
    claims: list[int] = field(default_factory=list[int])
    by: str = ""
    """The address of the latest claim; nothing where it was not read."""

    def admits(self, offset: int, said: LogRecord) -> bool:
        """Whether the record at this offset stands under the claim in force."""
        if said.kind == CLAIMED:
            # Reading to the end and then announcing oneself is not enough: an append of the former owner may land
            # in between. So a claim names the one that it follows, and the log decides which of two came first.
            if said.epoch not in (None, self.epoch):  # of an earlier build: it follows any
                return False
            self.epoch, self.by = offset, said.address
            self.claims.append(offset)
            return True
        if said.epoch is None:
            return said.kind in FREE
        return said.epoch == self.epoch

    def before(self, claims: Iterable[int]) -> None:
        """Know earlier claims too: who goes back behind its first record has to say what was in force there."""
        self.claims = sorted({*claims, *self.claims})

    def in_force(self, offset: int) -> int:
        """The claim in force before an offset."""
        return max((claim for claim in self.claims if claim < offset), default=-1)


class Closings(Protocol):
    """Episodes that are closed."""

    def __contains__(self, episode: str, /) -> bool:
        """Whether an episode is."""
        ...

    def add(self, episode: str, /) -> None:
        """One more is."""
        ...


def heard(said: LogRecord) -> Event | None:
    """What a record says; nothing where that is no event of its kind."""
    try:
        return decode(said.kind, said.body)
    except BadEvent:
        return None


def takes_out(said: LogRecord) -> bool:
    """Whether a person's word takes an episode out. Anybody may say it, also badly."""
    event = heard(said) if said.kind == "episode.adopted" else None
    return isinstance(event, EpisodeAdopted) and event.void


@dataclass(slots=True)
class OddReplies:
    """Where on a partition replies lie that do not count, as far as this process ever read it.

    By their places, for a partition that comes back is read again, and a count must neither fall nor count them twice.
    """

    stale: set[int] = field(default_factory=set[int])
    """Of a former owner, who had lost its claim."""
    repeated: set[int] = field(default_factory=set[int])
    """Of a question that had another reply: it was asked and paid for twice."""


@dataclass(slots=True)
class EventsFold:
    """One partition of ``events``: the journals of its open episodes, as every reader adds them up.

    A reader that began at a checkpoint passes over records of episodes that it did not see admitted: they were
    closed before it. Of these it notes the closings that it meets, for no index of what lies before has them.
    """

    fence: Fence = field(default_factory=Fence)
    open: dict[str, Journal | None] = field(default_factory=dict[str, "Journal | None"])
    """What open episodes said; nothing is kept of one that was admitted and waits."""
    began: dict[str, int] = field(default_factory=dict[str, int])
    """Offset of an open episode's admission."""
    asked: dict[str, int] = field(default_factory=dict[str, int])
    """Where on ``problems`` the problem of an open episode lies, as far as its reader said so."""
    closed: Closings = field(default_factory=set[str])
    sets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Open set episodes and their members. These are kept until all of them are done with."""
    within: dict[str, str] = field(default_factory=dict[str, str])
    """The open set of each member."""
    parked: dict[str, int] = field(default_factory=dict[str, int])
    """How often an episode was parked more than adopted."""
    shelf: Container[str] = ()
    """Parked episodes that were admitted before its reader began: of these no end is known before they are back."""
    asked_from: int = 0
    """Problems before this place on ``problems`` were closed, or lay on a shelf, where the reader began."""
    upto: int = 0
    odd: OddReplies = field(default_factory=OddReplies)

    def take(self, offset: int, said: LogRecord) -> bool:
        """Take the next record; whether it counts."""
        self.upto = offset + 1
        if not self.fence.admits(offset, said):
            if said.kind == "completed":
                self.odd.stale.add(offset)
            return False
        if said.kind in (CLAIMED, "text.kept"):
            return said.kind == CLAIMED
        # What takes no claim may be anybody's: it must neither count nor hide a good word of its id.
        if said.kind == "episode.adopted" and heard(said) is None:
            return False
        journal = self.open.get(said.episode)
        if journal is None:
            return self._first(offset, said)
        # A batch that was sent again may lie twice on the log: the first copy of a record counts.
        if said.address in journal:
            first = journal[said.address]
            twice = (first.kind, first.body, first.epoch) == (said.kind, said.body, said.epoch)
            # Such a copy was paid for once; another reply to the same question was paid for too.
            if said.kind == "completed" and not twice:
                self.odd.repeated.add(offset)
            return False
        journal[said.address] = said
        if said.kind in PARKING:
            self.parked[said.episode] = self.parked.get(said.episode, 0) + PARKING[said.kind]
        return True

    def _first(self, offset: int, said: LogRecord) -> bool:
        if said.episode in self.open and takes_out(said):
            self.open[said.episode] = {said.address: said}  # all that is still needed of it
            return True
        if said.kind == "episode.closed" and said.episode not in self.open:
            # A duplicate of it would else be taken for a new problem, and be worked on once more.
            if said.episode not in self.shelf:
                self.closed.add(said.episode)
            return False
        # A set begins by being opened: its members were admitted, and it was not.
        first = "opened" if is_set(said.episode) else "admitted"
        if said.address != first or said.episode in self.open or said.episode in self.closed:
            return False
        if (
            first == "admitted"
            and self.asked_from
            and orjson.loads(said.body)["offset"] < self.asked_from
        ):
            # A copy that came late: problems are admitted in their order. That it is closed need not be known yet.
            return False
        members: tuple[str, ...] = ()
        if first == "opened":
            members = tuple(orjson.loads(said.body).get("members") or ())
            if any(member not in self.open for member in members):
                # It was over before the checkpoint, which else would hold all its members' admissions.
                for each in (*members, said.episode):
                    self.forget(each)
                return False
        self.open[said.episode] = {first: said}
        self.began[said.episode] = offset
        if first == "opened":
            self.sets[said.episode] = members
            self.within |= dict.fromkeys(members, said.episode)
        return True

    def journal(self, episode: str) -> Journal:
        """Return the kept records of an episode."""
        return self.open.get(episode) or {}

    def lighten(self, episode: str) -> None:
        """Let go of an admission; it is read again when the episode opens."""
        journal = self.open.get(episode)
        if journal is not None and len(journal) == 1:
            self.open[episode] = None

    def forget(self, episode: str) -> None:
        """Drop the journal of an episode that is closed and relayed; of a set with those of its members."""
        for each in (*self.sets.pop(episode, ()), episode):
            for kept in (self.open, self.began, self.asked, self.parked, self.within):
                kept.pop(each, None)
            self.closed.add(each)

    def needed(self) -> int:
        """The lowest offset that an open or unrelayed episode still needs; parked ones lie on a shelf."""
        return min((self.began[each] for each in self._needing()), default=self.upto)

    def needed_from(self) -> int | None:
        """The lowest place on ``problems`` of those episodes; None where there are none."""
        episodes = (each for each in self._needing() if each not in self.sets)
        return min((self.asked.get(each, 0) for each in episodes), default=None)

    def _needing(self) -> Iterator[str]:
        # The parked members of a set lie on no shelf: they go on together, or not at all.
        shelved = {e for e, times in self.parked.items() if times > 0 and e not in self.within}
        return (each for each in self.began if each not in shelved)
