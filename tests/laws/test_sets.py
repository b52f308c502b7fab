"""Laws of sets: which problems of a series are worked on together, and what a partition remembers of them.

Source: deploy/decisions/0011 (a member of a set is answered with the others or not at all).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events.learning import PositionVoided, SeriesOpened
from state.folds.windows import Series
from streams.engine.learner import Learner
from streams.engine.pending import PendingEpisode, Sets
from streams.engine.policies import find
from streams.engine.schedule import Schedule
from streams.runtime.kafka.envelope import LogRecord
from streams.runtime.kafka.fence import CLAIMED, EventsFold, Fence
from streams.runtime.kafka.outgoing import partition_key

# ── Grouping ─────────────────────────────────────────────────────────────────────────────────

SCOPE, SERIES = "d/mgv_acquisition/main/0", "x"


@dataclass(frozen=True)
class Arrivals:
    """A series, and the order in which its members come; the voids never do."""

    size: int
    window: int
    set_size: int
    voids: frozenset[int]
    order: tuple[int, ...]

    def seat(self, position: int) -> PendingEpisode:
        return PendingEpisode(SCOPE, SERIES, position, set_size=self.set_size)

    def learner(self) -> Learner:
        made = Learner(find)
        made.scope(SCOPE, "mgv_acquisition", "service", {})
        opened = SeriesOpened(
            scope=SCOPE, series=SERIES, size=self.size, window=self.window, timing="barrier",
            policy="mgv_acquisition", policy_version="1", profile="service", settings={}, seed=0, walk=1,
        )  # fmt: skip
        made.feed(f"n/{SCOPE}/{SERIES}", "series", opened)
        for place in self.voids:
            void = PositionVoided(scope=SCOPE, series=SERIES, position=place, reason="never came")
            made.feed(f"n/{SCOPE}/{SERIES}", f"void.{place}", void)
        return made


@st.composite
def arrivals(draw: st.DrawFn) -> Arrivals:
    size = draw(st.integers(1, 14))
    voids = draw(st.frozensets(st.integers(0, size - 1), max_size=3))
    order = draw(st.permutations([at for at in range(size) if at not in voids]))
    window, set_size = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    return Arrivals(size, window, set_size, voids, tuple(order))


def gathered(given_: Arrivals) -> dict[str, list[int]]:
    """The places of each set's members; a set is told once, and no sooner than its last member comes."""
    sets, found = Sets(given_.learner()), dict[str, list[int]]()
    for position in given_.order:
        joined = sets.take(f"e{position}", given_.seat(position))
        assert joined is not None
        again = sets.take(f"e{position}", given_.seat(position))
        assert again is None, "nobody takes a place twice"
        for name, _ in sets.complete(lambda seat: True, [joined]):
            assert name not in found
            found[name] = [int(member[1:]) for member in sets.members(name) or ()]
            assert position in found[name]
    assert sets.waiting() == []
    return found


@given(arrivals())
def test_every_place_that_is_filled_is_in_one_set_of_its_window(given_: Arrivals) -> None:
    found = gathered(given_)
    assert sorted(at for places in found.values() for at in places) == sorted(given_.order)
    for places in found.values():
        assert places == sorted(places)
        assert len({at // given_.window for at in places}) == 1
        assert places[-1] - places[0] < given_.set_size


@given(arrivals())
def test_the_order_of_arrival_decides_nothing(given_: Arrivals) -> None:
    again = replace(given_, order=given_.order[::-1])
    assert gathered(given_) == gathered(again)


@given(arrivals())
def test_sets_are_as_few_as_fit_and_numbered_in_order(given_: Arrivals) -> None:
    found = {int(name.rpartition("/")[2]): places for name, places in gathered(given_).items()}
    in_order = [found[number] for number in sorted(found)]
    assert all(one[-1] < other[0] for one, other in pairwise(in_order))
    series = Series(SERIES, given_.size, given_.window)
    windows = map(series.positions, range(series.batches))
    assert len(found) <= sum(-(-len(window) // given_.set_size) for window in windows)


@given(arrivals())
def test_the_schedule_gives_each_set_its_turn_with_its_last_member_and_looks_at_no_other(
    given_: Arrivals,
) -> None:
    """Whoever looked at all that are gathered for each that comes would take hours for a long series."""
    schedule, found, looked = Schedule(given_.learner(), 99, print), list[str](), list[Any]()
    complete = schedule.sets.complete

    def counted(_: Sets, may_open: Any, among: Any = None) -> Any:
        looked.append(among)
        return complete(may_open, among)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sets, "complete", counted)
        for position in given_.order:
            schedule.enqueue(f"e{position}", given_.seat(position))
        assert all(len(each) == 1 for each in looked)
        looked.clear()
        while (turn := schedule.next()) is not None:
            found.append(turn[0])
        assert looked == [None], "once, for those whose place was filled elsewhere"
    # In the first window alone: the others wait for its version.
    wanted = gathered(given_)
    assert [
        sorted(map(int, (e[1:] for e in schedule.sets.members(name) or ()))) for name in found
    ] == [wanted[name] for name in found]
    first = {name for name, places in wanted.items() if places[0] < given_.window}
    assert {*found} == first


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.text(min_size=1))
def test_the_members_of_a_series_of_sets_lie_on_one_partition(ids: list[str], series: str) -> None:
    def keys(policy: str, **more: object) -> list[bytes]:
        said = ({"id": each, "series": series, "policy": policy, **more} for each in ids)
        return [partition_key("problems", json.dumps(each).encode()) for each in said]

    assert set(keys("mgv_acquisition", position=0)) == {series.encode()}
    alone = [each.encode() for each in ids]
    assert keys("mgv_acquisition") == keys("mc2", position=0) == alone


# ── What a partition remembers ───────────────────────────────────────────────────────────────

ACTS = ("admit", "admit", "open", "say", "say", "park", "adopt", "close", "claim", "late")
HISTORIES = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=20, max_size=60)


@dataclass
class Partition:
    """A log that its owners write, and after which record each set that is closed was let go of."""

    log: list[LogRecord] = field(default_factory=list[LogRecord])
    gone: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    epochs: list[int] = field(default_factory=list[int])
    waiting: list[str] = field(default_factory=list[str])
    sets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def claim(self) -> None:
        self.epochs.append(len(self.log))
        self.log.append(LogRecord("w/0", f"claimed.{len(self.log)}", CLAIMED, None, b"{}"))

    def state(self, episode: str, address: str, kind: str, body: object = None) -> None:
        said = LogRecord(episode, address, kind, self.epochs[-1], json.dumps(body).encode())
        self.log.append(said)

    def act(self, act: str, luck: int) -> None:
        """What an owner does next, where there is something to do it to."""
        at = str(len(self.log))
        open_ = [*self.sets, *(each for members in self.sets.values() for each in members)]
        match act:
            case "claim":
                self.claim()
            case "admit":
                self.waiting.append(f"p/{at}")
                self.state(f"p/{at}", "admitted", "problem.admitted")
            case "open" if self.waiting:
                members = tuple(self.waiting[: 1 + luck % 3])
                self.waiting = self.waiting[len(members) :]
                self.sets[f"s/{at}"] = members
                self.state(f"s/{at}", "opened", "episode.opened", {"members": members})
            case "late" if open_ and len(self.epochs) > 1:
                self.log.append(
                    LogRecord(open_[luck % len(open_)], at, "completed", self.epochs[0], b"1")
                )
            case "say" if open_:
                self.state(open_[luck % len(open_)], at, "completed")
            case "park" | "adopt" if open_:
                kind = "episode.parked" if act == "park" else "episode.adopted"
                self.state(open_[luck % len(open_)], f"{act}.{at}", kind)
            case "close" if self.sets:
                name = list(self.sets)[luck % len(self.sets)]
                for each in (name, *self.sets.pop(name)):
                    self.state(each, "closed", "episode.closed")
                self.gone.append((len(self.log), name))
            case _:
                pass

    def read(self, fold: EventsFold, end: int) -> EventsFold:
        """Read on to an offset, letting go of each set when its owner did."""
        for offset in range(fold.upto, end):
            fold.take(offset, self.log[offset])
            for at, name in self.gone:
                if at == offset + 1:
                    fold.forget(name)
        return fold


def partition(acts: Sequence[tuple[str, int]]) -> Partition:
    made = Partition()
    made.claim()
    for act, luck in acts:
        made.act(act, luck)
    return made


def kept(fold: EventsFold) -> tuple[object, ...]:
    return fold.open, fold.began, fold.sets, fold.within, fold.parked, fold.upto


def consistent(fold: EventsFold) -> None:
    """Members and their sets know of each other, and of none that is gone."""
    assert fold.within == {each: name for name, members in fold.sets.items() for each in members}
    assert set(fold.began) == set(fold.open)
    assert {*fold.sets, *fold.within} <= set(fold.open)
    assert set(fold.parked) <= set(fold.open)
    assert all(each not in fold.closed for each in fold.open)


@given(HISTORIES)
@settings(max_examples=100)
def test_a_set_and_its_members_are_kept_together_and_forgotten_together(
    acts: list[tuple[str, int]],
) -> None:
    told, fold = partition(acts), EventsFold()
    for end in range(len(told.log) + 1):
        consistent(told.read(fold, end))
    assert fold.sets == told.sets
    assert {e for e in fold.open if e not in fold.sets and e not in fold.within} == {*told.waiting}


@given(HISTORIES)
def test_nothing_that_a_set_needs_lies_before_what_is_needed(acts: list[tuple[str, int]]) -> None:
    """Whoever of it is parked: its members go on together, or not at all."""
    told, fold = partition(acts), EventsFold()
    for end in range(len(told.log) + 1):
        told.read(fold, end)
        needed = fold.needed()
        assert all(fold.began[each] >= needed for each in (*fold.sets, *fold.within))
        assert needed <= fold.upto


@given(HISTORIES, st.integers(0, 80))
@settings(max_examples=100)
def test_a_reader_that_begins_at_a_checkpoint_knows_the_same_sets(
    acts: list[tuple[str, int]], cut: int
) -> None:
    told, whole = partition(acts), EventsFold()
    end = min(cut, len(told.log))
    told.read(whole, end)
    start, past = whole.needed(), set[str]()
    past.update(e for at, name in told.gone if at <= start for e in members_of(told, name))
    claim = whole.fence.in_force(start)
    fresh = EventsFold(Fence(claim, [claim] if claim >= 0 else []), closed=past, upto=start)
    assert kept(told.read(fresh, end)) == kept(whole)
    last = len(told.log)
    assert kept(told.read(fresh, last)) == kept(told.read(whole, last))


def members_of(told: Partition, name: str) -> tuple[str, ...]:
    (body,) = (said.body for said in told.log if (said.episode, said.address) == (name, "opened"))
    return (name, *json.loads(body)["members"])


def test_a_set_stays_one_when_another_scope_announces_the_same_series_meanwhile() -> None:
    policy = find("mgv_acquisition")
    ours, theirs = (f"{domain}/{policy.name}/main/000000000000" for domain in ("math", "logic"))
    learner = Learner(find)

    def announced(scope: str) -> None:
        event = SeriesOpened(
            scope=scope,
            series="s",
            size=2,
            window=2,
            timing="barrier",
            policy=policy.name,
            policy_version=policy.version,
            profile="service",
            settings={},
            seed=0,
            walk=1,
        )
        learner.feed(f"n/{scope}/s", "series", event)

    announced(ours)
    sets = Sets(learner)
    for position in range(2):
        seat = PendingEpisode(ours, "s", position, set_size=2)
        assert sets.take(f"p/math/{position}/r", seat)
        announced(theirs)
    [(name, _)] = sets.complete(lambda _: True)
    assert sets.members(name) == ["p/math/0/r", "p/math/1/r"]
