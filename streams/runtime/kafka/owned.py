"""One partition that is ours: its fold, its writers, what came in, and what the relay still owes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from schemas.events.base import Event
from schemas.events.codec import decode
from schemas.events.episode import ProblemAdmitted
from state.folds.budgets import BudgetsFold
from streams.core.closing import Closing
from streams.runtime.kafka.append import KafkaWriter
from streams.runtime.kafka.envelope import LogRecord
from streams.runtime.kafka.fence import Closings, EventsFold, Fence, OddReplies, takes_out


@dataclass(frozen=True, slots=True)
class Shelved:
    """A parked episode whose admission lies before the checkpoint: where, and under which claim."""

    scope: str
    series: str | None
    position: int | None
    offset: int
    claim: int


@dataclass(slots=True)
class Owned:
    """A partition as its owner knows it from its claim on."""

    index: int
    fold: EventsFold = field(default_factory=EventsFold)
    events: KafkaWriter | None = None
    learning: KafkaWriter | None = None
    reads_from: int = 0
    """From which offset on its owner read it."""
    live: bool = False
    learns: bool = False
    source: int = -1
    """Highest offset of `problems` that was admitted."""
    position: int = 0
    """The offset of `problems` up to which everything was admitted or refused."""
    queue: deque[Any] = field(default_factory=deque[Any])
    texts: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Digest of a problem's text by domain and id, until its admission has come back."""
    closings: dict[str, Closing] = field(default_factory=dict[str, Closing])
    owed: deque[str] = field(default_factory=deque[str])
    """Closed episodes whose answer and reflection are not on their topics yet."""
    relaying: int = 0
    unsaid: set[str] = field(default_factory=set[str])
    """Closed episodes whose answer this build cannot derive; whoever claims the partition next tries again."""
    told: dict[str, Any] = field(default_factory=dict[str, Any])
    """The checkpoint that was written last."""
    notes: int = 0
    """How many were written under this claim."""
    paused: bool = False
    shelf: dict[str, Shelved] = field(default_factory=dict[str, Shelved])
    adopted: dict[str, int] = field(default_factory=dict[str, int])
    """Episodes on the shelf that a person decided about, and where on the log that was said."""
    spent: BudgetsFold = field(default_factory=BudgetsFold)
    """What tenants spent here, as far as the partition was read."""
    spent_from: int = 0
    """The offset up to which a checkpoint told what they had spent."""
    tenants: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Whose the open episodes are whose replies were read."""

    def fence_off(self) -> None:
        """Nothing may be appended under our claims any more."""
        self.live = self.learns = False
        # Others hold these writers too: an episode that is under way hears of it at its next statement.
        for writer in (self.events, self.learning):
            if writer is not None:
                writer.fenced = True
                writer.lane.forget()

    @classmethod
    def beginning(
        cls,
        index: int,
        checkpoint: dict[str, Any] | None,
        past: Closings,
        odd: OddReplies | None = None,
    ) -> Owned:
        """The state before the partition is read: from its checkpoint, else from nothing."""
        odd = odd or OddReplies()
        # An owner claims before it writes any. Builds that took one from the shelf told of no claim all the same.
        if checkpoint is None or int(checkpoint["claim"]) < 0:
            return cls(index, EventsFold(closed=past, odd=odd))
        claim = int(checkpoint["claim"])
        fence = Fence(claim, [claim] if claim >= 0 else [])
        start = int(checkpoint["from"])
        asked_from = int(checkpoint.get("asked_from", 0))
        fold = EventsFold(fence, closed=past, asked_from=asked_from, upto=start, odd=odd)
        parked = {str(e): Shelved(*place) for e, *place in checkpoint["parked"] if len(place) == 5}
        # What is parked behind the start is met as the partition is read.
        shelf = {e: each for e, each in parked.items() if each.offset < start}
        fold.shelf = shelf
        made = cls(index, fold, source=int(checkpoint["source"]), shelf=shelf)
        made.spent.add_rows(checkpoint.get("spent", ()))
        made.spent_from = int(checkpoint["events"])
        return made

    def needed(self) -> int:
        """The lowest offset that whoever comes next must read: of what is open, or of a person's word."""
        # Until its record is at hand again, that word is all that tells an episode from others on the shelf.
        return min((self.fold.needed(), *self.adopted.values()))

    def admitted(self, episode: str) -> ProblemAdmitted:
        """The admission of an open episode."""
        event = decode_said(self.fold.journal(episode)["admitted"])
        assert isinstance(event, ProblemAdmitted)
        return event

    def tenant_of(self, episode: str) -> str | None:
        """Whose an open episode is; of a set that of its first member."""
        if episode not in self.tenants:
            one = self.members(episode)[0]
            said = self.fold.journal(one).get("admitted")
            # Most problems have no tenant, and no admission is decoded to see that.
            named = said is not None and b'"tenant":' in said.body
            self.tenants[episode] = self.admitted(one).problem.tenant if named else None
        return self.tenants[episode]

    def journal(self, episode: str) -> dict[str, Event]:
        """The record of an open episode."""
        said = self.fold.journal(episode)
        return {address: decode_said(each) for address, each in said.items()}

    def is_parked(self, episode: str) -> bool:
        """Whether an episode waits for a person."""
        return self.fold.parked.get(episode, 0) > 0

    def is_void(self, episode: str) -> bool:
        """Whether a person took an episode out."""
        return any(map(takes_out, self.fold.journal(episode).values()))

    def unit(self, episode: str) -> str:
        """Return what an episode ends with: the set that it was opened in, or itself."""
        return self.fold.within.get(episode, episode)

    def members(self, unit: str) -> tuple[str, ...]:
        """The members of a set; an episode by itself is its own."""
        return self.fold.sets.get(unit, (unit,))

    def closed(self, unit: str) -> list[str]:
        """The members that are closed."""
        return [each for each in self.members(unit) if "closed" in self.fold.journal(each)]

    def unanswered(self) -> list[str]:
        """The members of what is closed, and nobody here can say the answers of."""
        return [each for unit in self.unsaid for each in self.members(unit)]

    def is_done(self, unit: str) -> bool:
        """Whether every member is closed or void."""
        closed = self.closed(unit)
        return all(each in closed or self.is_void(each) for each in self.members(unit))

    def unfinished(self) -> list[str]:
        """Open episodes that can go on; with those that are closed in a set that is not done."""
        found = (e for e in self.fold.open if e not in self.fold.sets and not self.is_parked(e))
        return [e for e in found if not self.closed(e) or not self.is_done(self.unit(e))]

    def parked(self) -> dict[str, Shelved]:
        """Episodes that wait for a person, with their places."""
        found = dict(self.shelf)
        for episode, times in self.fold.parked.items():
            if times > 0:
                admitted, offset = self.admitted(episode), self.fold.began[episode]
                # Whoever reads from there needs the claim that was in force, or no record of it counts.
                claim, problem = self.fold.fence.in_force(offset), admitted.problem
                place = problem.series, problem.position, offset, claim
                found[episode] = Shelved(admitted.scope, *place)
        return found


def decode_said(said: LogRecord) -> Event:
    """The event of a record."""
    return decode(said.kind, said.body)
