"""An episode in time, as it was recorded: a row a lane, so that what ran at the same time stands under each other.

A call ends where its reply was recorded, and began as many seconds before as it took. Long pauses, as after a
crash or while a person was waited for, are drawn short, and said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.episodes import recorded_ms
from streams.views.rows import Row, grouped
from streams.views.sheet import EpisodeView

STRIP: Final = 1000
"""Width of the strip of time, in units of its own."""
TICKS: Final = 4
LONG_S: Final = 5.0
"""A pause is drawn short where it is longer than this, and than all that was at work."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call in time, in seconds since the first began."""

    row: Row
    lane: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A call's place on the strip."""

    row: Row
    begin: float
    width: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """Lanes with their calls, when the ticks are, and the pauses that are drawn short."""

    lanes: Mapping[str, Sequence[Bar]]
    ticks: Sequence[float]
    """Seconds at even distances; those after a pause count it."""
    pauses: Sequence[tuple[float, float, float]]
    """Where each stands, how wide, and how many seconds it took."""

    def of(self, at: str) -> Bar | None:
        """The bar of a step."""
        found = (bar for bars in self.lanes.values() for bar in bars if bar.row.at == at)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the list of steps, with the calls up to there and its place in time."""

    row: Row
    calls: int
    bar: Bar | None
    first_of_round: bool


def times(log: SqliteLog, sheet: EpisodeView) -> dict[str, int]:
    """When each address was recorded, Unix milliseconds; a fork's past is its parent's."""
    # The parent comes first, so that what a fork recorded itself stands for
    # what it shares an address with.
    opened = sheet.opened
    before = [each for each in (opened.parent, opened.within) if each] if opened is not None else []
    found: dict[str, int] = {}
    for episode in (*before, sheet.episode):
        found |= recorded_ms(log, episode)
    return found


def lane_of(at: str) -> str:
    """The lane of a step, outermost first: 2.1.4.0.3 is in lane 2.1, whatever forked; none in the main one."""
    return ".".join(str(int(part) + 1) for part in at.split(".")[1::2])


def timeline(found: Sequence[Row], at_ms: Mapping[str, int]) -> Timeline | None:
    """The calls in time; nothing where no time is known or none took any."""
    known = [row for row in found if row.called and row.seconds is not None and row.at in at_ms]
    spans = [
        (row, at_ms[row.at] / 1000 - (row.seconds or 0.0), at_ms[row.at] / 1000) for row in known
    ]
    # The simulator answers at once: a strip on which nothing has a width
    # would be all there is to see.
    if not spans or not any(row.seconds for row in known):
        return None
    # Nobody records when a call began. Its reply was recorded at a known
    # moment, and its seconds are known.
    first = min(begin for _, begin, _ in spans)
    calls = [Call(row, lane_of(row.at), begin - first, end - first) for row, begin, end in spans]
    scale = Scale.of(calls)
    lanes: dict[str, list[Bar]] = {}
    # By number and not by letter, or lane 10 would stand before lane 2.
    for call in sorted(
        calls, key=lambda each: [int(part) for part in each.lane.split(".") if part]
    ):
        begin, end = scale.at(call.begin_s), scale.at(call.end_s)
        lanes.setdefault(call.lane, []).append(Bar(call.row, begin, end - begin))
    pauses = [
        (scale.at(begin), scale.at(end) - scale.at(begin), end - begin) for begin, end in scale.cut
    ]
    return Timeline(lanes, [scale.back(STRIP * n / TICKS) for n in range(TICKS + 1)], pauses)


@dataclass(frozen=True, slots=True)
class Scale:
    """Seconds on the strip; each pause of ``cut`` is as long as ``short_s``."""

    whole_s: float
    cut: Sequence[tuple[float, float]]
    short_s: float

    @classmethod
    def of(cls, calls: Iterable[Call]) -> Scale:
        """The scale on which these calls fill the strip."""
        # Only where no lane was at work is there a pause, so spans of all lanes are joined first.
        busy: list[tuple[float, float]] = []
        for begin, end in sorted((call.begin_s, call.end_s) for call in calls):
            if busy and begin <= busy[-1][1]:
                busy[-1] = (busy[-1][0], max(busy[-1][1], end))
            else:
                busy.append((begin, end))
        worked_s = sum(end - begin for begin, end in busy)
        gaps = [(end, begin) for (_, end), (begin, _) in pairwise(busy)]
        # A pause counts as long by what the episode worked, or a few calls of an
        # hour would have no pause.
        cut = [gap for gap in gaps if gap[1] - gap[0] > max(LONG_S, worked_s)]
        short_s = worked_s / 20
        whole_s = busy[-1][1] - sum(end - begin - short_s for begin, end in cut)
        return cls(whole_s or 1.0, cut, short_s)

    def at(self, second: float) -> float:
        """Where a second stands."""
        less = sum(
            min(second, end) - begin - self.short_s * (min(second, end) - begin) / (end - begin)
            for begin, end in self.cut
            if second > begin
        )
        return STRIP * (second - less) / self.whole_s

    def back(self, place: float) -> float:
        """Which second stands there."""
        # A place within a pause is as far on in its real seconds, so that ticks
        # there count the pause.
        second = place * self.whole_s / STRIP
        for begin, end in self.cut:
            if second <= begin:
                break
            inside = min((second - begin) / self.short_s, 1.0) if self.short_s else 1.0
            second += inside * (end - begin - self.short_s)
        return second


def stepped(found: Sequence[Row], lanes: Timeline | None) -> list[Step]:
    """The rows with the running sum of calls."""
    bars = (
        {} if lanes is None else {bar.row.at: bar for each in lanes.lanes.values() for bar in each}
    )
    steps: list[Step] = []
    calls, last = 0, None
    tries = grouped(found)
    for row in found:
        calls += row.called
        first = tries and row.round is not None and row.round != last
        last = row.round if row.round is not None else last
        steps.append(Step(row, calls, bars.get(row.at), first))
    return steps
