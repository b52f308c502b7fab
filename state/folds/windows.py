"""Windows decide which finished episodes of a scope learn together. They are a pure fold over its `learning` records.

A barrier series collects its members by position, whatever order they finish in; a stream collects them by
arrival. The series of a scope run one after another in the order in which they were opened, and a stream's
window closes after them. One batch is open at a time: the next one waits for the memory version of the one
before. ``due`` tells when a batch is complete, ``version_for`` which version an episode may open with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, ClassVar

from schemas.events.base import Event
from schemas.events.learning import (
    BatchClosed,
    Graded,
    MemoryVersioned,
    PositionVoided,
    ProblemForgotten,
    Reflected,
    SeriesOpened,
    TickPassed,
)
from schemas.identity import episode_id

# What an episode of a closed batch still waits for: nothing. All of them share this set, which
# must never be added to.
SETTLED: set[str] = set()


@dataclass(frozen=True, slots=True)
class Due:
    """A batch that is complete: its number, its series if any, and its members in order."""

    batch: int
    series: str | None
    members: tuple[str, ...]
    again: BatchClosed | None = None
    """How the batch is closed once more, if a problem was forgotten."""


@dataclass(slots=True)
class Series:
    """A barrier series: which positions are filled, which are void, how many batches are closed."""

    id: str
    size: int
    window: int
    filled: dict[int, str] = field(default_factory=dict[int, str])
    voids: set[int] = field(default_factory=set[int])
    done: int = 0
    ahead: bool = False
    """Whether its members open before the batches in front of them are learned: they read no memory."""

    @property
    def batches(self) -> int:
        """How many batches the series has; the last may be short. Source: MC² eq. (18)."""
        return -(-self.size // self.window)

    @property
    def finished(self) -> bool:
        """Whether every batch is closed."""
        return self.done >= self.batches

    def positions(self, batch: int) -> range:
        """The positions of its batch, counted from 0."""
        return range(batch * self.window, min((batch + 1) * self.window, self.size))

    @property
    def done_positions(self) -> int:
        """How many positions stand in closed batches."""
        return self.done * self.window

    def missing(self) -> list[int]:
        """Positions of the open batch that are neither filled nor void."""
        return [
            p for p in self.positions(self.done) if p not in self.filled and p not in self.voids
        ]


@dataclass(slots=True)
class ScopeWindow:
    """The open window of one scope. ``checked`` are the domains with an own checker."""

    stream_window: int
    checked: frozenset[str] = frozenset()
    series: dict[str, Series] = field(default_factory=dict[str, Series])
    stream: dict[str, None] = field(default_factory=dict[str, None])
    late: dict[str, None] = field(default_factory=dict[str, None])
    awaited: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    early: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    unordered: set[str] = field(default_factory=set[str])
    """Series that were announced without barriers: their members are a stream's."""
    closed: int = 0
    versioned: int = 0
    ticked: int = 0
    forgotten: tuple[str, ...] = ()
    """Prefixes of the names of episodes whose problems were forgotten."""
    owed: bool = False
    """Whether versions have to be closed again; until then nothing opens and no batch closes."""
    again: BatchClosed | None = None
    """How the next of them is to be closed."""

    def feed(self, episode: str, event: Event) -> None:
        """Take one record of the scope. Records that do not concern windows change nothing."""
        if type(event) not in self.TAKES:
            return
        match event:
            case SeriesOpened():
                self._open(event)
            case PositionVoided():
                self._void(event)
            case Reflected():
                self._arrive(episode, event)
            case Graded() if episode in self.awaited:
                self.awaited[episode].discard(event.by)
            case TickPassed():
                self.ticked = max(self.ticked, event.batch)
            case BatchClosed():
                self._close(event)
            case MemoryVersioned():
                self.versioned = max(self.versioned, event.number)
            case ProblemForgotten():
                self._forget(event)
            case _:
                pass

    def is_announced(self, series: str | None) -> bool:
        """Whether a series was opened."""
        return series in self.series or series in self.unordered

    def _open(self, event: SeriesOpened) -> None:
        if event.timing != "barrier":
            self.unordered.add(event.series)
        elif event.series not in self.series:
            # Places may be refused before the series is opened, by another partition's writer.
            voids = self.early.pop(event.series, set())
            ahead = bool(event.ahead)
            self.series[event.series] = Series(
                event.series, event.size, event.window, voids=voids, ahead=ahead
            )

    def _void(self, event: PositionVoided) -> None:
        series = self.series.get(event.series)
        if series is None:
            self.early.setdefault(event.series, set()).add(event.position)
        # Whoever came first has the place: it is filled, or it is void, and never both.
        elif event.position not in series.filled:
            series.voids.add(event.position)

    def void_before(self, event: PositionVoided, arrived: Sequence[str]) -> None:
        """Take a void that stands before the episodes that ``arrived`` last, in this order, but was heard behind them.

        The one at its place is late then, as it is for whoever reads the log.
        """
        series = self.series.get(event.series)
        if series is None or series.filled.get(event.position) not in arrived:
            return
        series.voids.add(event.position)
        late = {*self.late, series.filled.pop(event.position)}
        before = [each for each in self.late if each not in arrived]
        self.late = dict.fromkeys([*before, *(each for each in arrived if each in late)])

    def _arrive(self, episode: str, event: Reflected) -> None:
        if episode in self.awaited:
            return
        series, position = self.series.get(event.series or ""), event.position
        if episode.startswith(self.forgotten):
            # An episode of a forgotten problem ended: its place stays empty, and waits for nobody.
            self.awaited[episode] = set()
            if series is not None and position is not None and position not in series.filled:
                series.voids.add(position)
            return
        # A batch waits, without a clock, for the grades of its checker and of its labelled
        # members.
        wanted = {"feedback"} if event.labelled else set[str]()
        self.awaited[episode] = wanted | ({"checker"} if event.domain in self.checked else set())
        if series is None:
            self.stream[episode] = None
        # Whoever has no place in an open batch is late: it learns with the next one, and is not
        # lost.
        elif (
            position is None
            or not series.done_positions <= position < series.size
            or position in series.voids
            or series.filled.setdefault(position, episode) != episode
        ):
            self.late[episode] = None

    def _forget(self, event: ProblemForgotten) -> None:
        """Leave a problem's episodes out of every batch that is not closed."""
        prefix = episode_id(event.domain, event.problem_id, "")
        self.forgotten = (*self.forgotten, prefix)
        for waiting in (self.stream, self.late):
            for name in [name for name in waiting if name.startswith(prefix)]:
                del waiting[name]
        for series in self.series.values():
            for position, name in list(series.filled.items()):
                # Closed batches are closed again by revisions, with places as they were.
                if position >= series.done_positions and name.startswith(prefix):
                    del series.filled[position]
                    series.voids.add(position)

    def _close(self, event: BatchClosed) -> None:
        # A revision teaches nothing new, and counts no batch.
        if event.revision is not None:
            self.again = None
            return
        self.closed = max(self.closed, event.batch)
        if event.series is not None:
            self.series[event.series].done += 1
        for member in event.members:
            self.awaited[member] = SETTLED
            self.late.pop(member, None)
            self.stream.pop(member, None)

    def let_go(self, members: Iterable[str]) -> None:
        """Keep nothing of the members of a closed batch: their records come once."""
        for member in members:
            self.awaited.pop(member, None)

    def let_places_go(self) -> None:
        """Keep no places that are over."""
        for series in self.series.values():
            for place in [each for each in series.filled if each < series.done_positions]:
                del series.filled[place]

    @property
    def current(self) -> Series | None:
        """The first series that is not finished."""
        return next((series for series in self.series.values() if not series.finished), None)

    def version_for(self, series: str | None, position: int | None) -> int | None:
        """The memory version that an episode at this place pins, or ``None`` while it must wait.

        A stream's episodes, late members, and those of a series that reads no memory only wait while
        something is being forgotten: they pin the latest.
        """
        # An episode must not read a memory in which something stands that is being forgotten.
        if self.owed:
            return None
        known = self.series.get(series or "")
        if known is None or position is None or position >= known.size or position in known.voids:
            return self.versioned
        # A series that reads no memory need not wait for one; its members run at once.
        if known.ahead:
            return self.versioned
        if known is not self.current:
            return self.versioned if known.finished else None
        # Members of the open batch wait for the version that the batch before comes to, and all
        # pin the same: in a barrier series nobody may see what a neighbour taught.
        ahead = position // known.window - known.done
        settled = self.versioned == self.closed
        return self.versioned if ahead < 0 or (ahead == 0 and settled) else None

    def due(self) -> Due | None:
        """The batch that can be closed now, if there is one."""
        # One batch at a time: the next one waits for the version of the one before.
        if self.versioned != self.closed:
            return None
        if self.owed:
            again = self.again
            return None if again is None else Due(again.batch, None, again.members, again)
        series = self.current
        if series is not None:
            # By position: the whole batch is there, or its places are void, and all grades are
            # known.
            if series.missing():
                return None
            here = [series.filled[p] for p in series.positions(series.done) if p in series.filled]
            members = (*here, *self.late)
            if any(self.awaited[episode] for episode in members):
                return None
            return Due(self.closed + 1, series.id, members)
        # By arrival, the late ones first; a tick on record closes a window that is not full.
        graded = (e for e in chain(self.late, self.stream) if not self.awaited[e])
        waiting = tuple(islice(graded, self.stream_window))
        full = len(waiting) == self.stream_window
        if full or (waiting and self.ticked > self.closed):
            return Due(self.closed + 1, None, waiting)
        return None

    TAKES: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            *(SeriesOpened, PositionVoided, Reflected, Graded, TickPassed),
            *(BatchClosed, MemoryVersioned, ProblemForgotten),
        }
    )
    """Types of records that concern windows; whoever learns reads no others for them."""


@dataclass(slots=True)
class Head:
    """What a scope was first seen by: whose it is, under which learning settings."""

    policy: str
    version: str
    profile: str
    values: dict[str, Any]
    warmed: bool = False
    """Whether its version 0 was stated."""
    odd: bool = False
    """Whether something was said of it before: whoever learns did not hear that."""

    @classmethod
    def of(cls, event: SeriesOpened | Reflected) -> Head:
        """As a record names it."""
        if isinstance(event, SeriesOpened):
            return cls(event.policy, event.policy_version, event.profile, event.settings)
        name, _, version = event.policy.rpartition("@")
        return cls(name, version, event.profile, event.learning)


@dataclass(slots=True)
class Windows:
    """The open windows of every scope, with no policy at hand: how large its batches are is asked of it later.

    Nothing is kept of an episode whose batch is closed: its record comes once.
    """

    checked: frozenset[str]
    heads: dict[str, Head] = field(default_factory=dict[str, Head])
    open: dict[str, ScopeWindow] = field(default_factory=dict[str, ScopeWindow])

    def feed(self, scope: str, episode: str, event: Event, *, late: bool = False) -> None:
        """Take one record of a scope. ``late``: whether the scope has heard something already."""
        window = self.open.get(scope)
        if window is None:
            # A scope is first seen by a series or by an episode that ended; anything before says
            # nothing of whose it is.
            if not isinstance(event, (SeriesOpened, Reflected)):
                return
            head = self.heads[scope] = Head.of(event)
            head.odd = late
            window = self.open[scope] = ScopeWindow(1, self.checked)
        window.feed(episode, event)
        if isinstance(event, BatchClosed):
            # Members of a closed batch are let go of, or else a stream that runs for years would
            # keep them all.
            window.let_go(event.members)
            window.let_places_go()
        elif isinstance(event, MemoryVersioned) and event.number == 0:
            self.heads[scope].warmed = True
