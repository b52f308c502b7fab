"""Laws of windows: which episodes learn together hangs on no order in which they finish.

A history is played as a worker plays it: episodes open when ``version_for`` lets them, finish when the
drawn order says, their labels arrive at any time after, and a batch that is due is closed and then, some
time later, has its memory version.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events.base import Event
from schemas.events.codec import decode, encode
from schemas.events.learning import (
    BatchClosed,
    Graded,
    MemoryVersioned,
    Reflected,
    TickPassed,
)
from schemas.outcome import Outcome
from state.folds.windows import ScopeWindow
from tests.laws.series import graded, opened, reflected, voided

ORDERS = st.lists(st.integers(0, 1 << 10), min_size=1, max_size=20)
CHECKED = "game24"


@dataclass(frozen=True)
class Place:
    """An episode to be, and where in which series it stands."""

    episode: str
    series: str | None
    position: int | None
    labelled: bool
    domain: str = "d"

    def reflected(self, version: int) -> Reflected:
        return reflected(self.series, self.position, self.labelled, self.domain, version)


@dataclass(frozen=True)
class Plan:
    """Series in the order in which they open: id, size, window; with places that are void."""

    series: tuple[tuple[str, int, int], ...]
    voids: frozenset[tuple[str, int]]
    labelled: frozenset[int]
    domain: str

    @property
    def places(self) -> list[Place]:
        return [
            Place(f"p/{name}/{at}", name, at, at in self.labelled, self.domain)
            for name, size, _ in self.series
            for at in range(size)
            if (name, at) not in self.voids
        ]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    sizes = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=3))
    series = tuple((f"s{n}", size, window) for n, (size, window) in enumerate(sizes))
    every = [(name, at) for name, size, _ in series for at in range(size)]
    voids = (
        draw(st.frozensets(st.sampled_from(every), max_size=4))
        if every
        else frozenset[tuple[str, int]]()
    )
    labelled = draw(st.frozensets(st.integers(0, 9)))
    return Plan(series, voids, labelled, draw(st.sampled_from(["d", CHECKED])))


@dataclass
class Stage:
    """A worker's view of one scope, and the log that it writes."""

    window: ScopeWindow
    log: list[tuple[str, Event]] = field(default_factory=list[tuple[str, Event]])
    batches: list[tuple[str | None, tuple[str, ...]]] = field(
        default_factory=list[tuple[str | None, tuple[str, ...]]]
    )
    pinned: dict[str, int] = field(default_factory=dict[str, int])

    def say(self, episode: str, event: Event) -> None:
        self.log.append((episode, event))
        self.window.feed(episode, event)

    def close_if_due(self) -> bool:
        due = self.window.due()
        if due is None:
            return False
        assert due.batch == len(self.batches) + 1
        self.batches.append((due.series, due.members))
        unknown: Outcome = "unknown"
        event = BatchClosed(
            scope="s",
            batch=due.batch,
            series=due.series,
            members=due.members,
            outcomes=(unknown,) * len(due.members),
            previous=self.window.versioned,
            policy="p",
            policy_version="1",
            settings="x",
            seed=1,
        )
        self.say(f"b/s/{due.batch}", event)
        assert self.window.due() is None, "one batch is open at a time"
        return True

    def version(self) -> bool:
        if self.window.versioned == self.window.closed:
            return False
        number = self.window.closed
        event = MemoryVersioned(scope="s", number=number, live_from=1, state="x")
        self.say(f"b/s/{number}", event)
        return True


def new_stage(stream_window: int = 3) -> Stage:
    return Stage(ScopeWindow(stream_window, frozenset({CHECKED})))


def play(plan: Plan, order: list[int], early: bool, extra: tuple[Place, ...] = ()) -> Stage:
    """A whole history: everything that can happen next happens in the drawn order."""
    stage, chance = new_stage(), cycle(order)
    commands: list[tuple[str, Event]] = []
    for name, size, window in plan.series:
        void = [
            (f"n/{name}", voided(name, at)) for series, at in sorted(plan.voids) if series == name
        ]
        here: list[tuple[str, Event]] = [(f"n/{name}", opened(name, size, window))]
        commands += [*void, *here] if early else [*here, *void]
    for episode, event in commands:
        stage.say(episode, event)
    waiting, flying = [*plan.places, *extra], list[Place]()
    owed: list[tuple[str, Graded]] = []
    while True:
        ready = [p for p in waiting if stage.window.version_for(p.series, p.position) is not None]
        for place in ready:
            waiting.remove(place)
            flying.append(place)
            stage.pinned[place.episode] = (
                stage.window.version_for(place.series, place.position) or 0
            )
        doings = [f"finish {n}" for n in range(len(flying))]
        doings += [f"grade {n}" for n in range(len(owed))]
        if stage.window.due() is not None:
            doings.append("close")
        if stage.window.versioned < stage.window.closed:
            doings.append("version")
        if not doings:
            assert not waiting, f"{waiting} wait for ever"
            return stage
        doing, _, number = doings[next(chance) % len(doings)].partition(" ")
        match doing:
            case "finish":
                place = flying.pop(int(number))
                stage.say(place.episode, place.reflected(stage.pinned[place.episode]))
                owed += [(place.episode, graded("feedback"))] if place.labelled else []
                owed += [(place.episode, graded("checker"))] if place.domain == CHECKED else []
            case "grade":
                stage.say(*owed.pop(int(number)))
            case "close":
                assert stage.close_if_due()
            case _:
                assert stage.version()


def expected(plan: Plan) -> list[tuple[str | None, tuple[str, ...]]]:
    """The batches as a paper would say them: by position, series after series."""
    found: list[tuple[str | None, tuple[str, ...]]] = []
    for name, size, window in plan.series:
        for start in range(0, size, window):
            here = range(start, min(start + window, size))
            members = (f"p/{name}/{at}" for at in here if (name, at) not in plan.voids)
            found.append((name, tuple(members)))
    return found


@given(plans(), ORDERS, st.booleans())
@settings(max_examples=150)
def test_any_completion_order_gives_the_same_batches(
    plan: Plan, order: list[int], early: bool
) -> None:
    assert play(plan, order, early).batches == expected(plan)


@given(plans(), ORDERS)
@settings(max_examples=150)
def test_no_episode_of_a_batch_opens_before_the_version_that_it_may_use(
    plan: Plan, order: list[int]
) -> None:
    stage = play(plan, order, early=False)
    for number, (_, members) in enumerate(stage.batches):
        assert {stage.pinned[member] for member in members} <= {number}


@given(plans(), ORDERS, st.booleans())
@settings(max_examples=60)
def test_a_fresh_fold_of_any_prefix_of_the_log_is_where_the_live_one_was(
    plan: Plan, order: list[int], early: bool
) -> None:
    stage = play(plan, order, early)
    live = new_stage().window
    for end, (episode, event) in enumerate(stage.log, 1):
        live.feed(episode, event)
        fresh = new_stage().window
        for name, said in stage.log[:end]:
            fresh.feed(name, decode(said.kind, encode(said)))
        assert fresh == live
        assert fresh.due() == live.due()
    assert live == stage.window


@given(plans(), ORDERS, st.data())
@settings(max_examples=100)
def test_what_is_said_twice_counts_once(plan: Plan, order: list[int], data: st.DataObject) -> None:
    """Redelivery: any record but a closing may come again, at once or later."""
    stage = play(plan, order, early=False)
    window = new_stage().window
    again = data.draw(st.lists(st.integers(0, len(stage.log) - 1), max_size=6))
    for at, (episode, event) in enumerate(stage.log):
        window.feed(episode, event)
        for other in again:
            name, said = stage.log[other]
            if other <= at and not isinstance(said, BatchClosed):
                window.feed(name, said)
    assert window.closed == stage.window.closed
    assert window.due() == stage.window.due() is None
    assert [*window.stream] == [*stage.window.stream]
    assert [*window.late] == [*stage.window.late]


@st.composite
def latecomers(draw: st.DrawFn) -> tuple[Plan, tuple[Place, ...]]:
    """A plan, and members that come with no place left: new lines, void places, places taken."""
    plan = draw(plans())
    names = [name for name, _, _ in plan.series]
    taken = [(p.series, p.position) for p in plan.places]
    beyond = [(name, None) for name in names] + [(name, size) for name, size, _ in plan.series]
    able = [*beyond, *sorted(plan.voids), *taken]
    drawn = draw(st.lists(st.sampled_from(able), max_size=4))
    late = (Place(f"p/late/{n}", series, at, False) for n, (series, at) in enumerate(drawn))
    return plan, tuple(late)


@given(latecomers(), ORDERS, st.booleans())
@settings(max_examples=200)
def test_late_members_are_never_lost_and_never_learned_from_twice(
    late: tuple[Plan, tuple[Place, ...]], order: list[int], early: bool
) -> None:
    plan, extra = late
    stage = play(plan, order, early, extra)
    window = stage.window
    assert not any(window.awaited.values())
    tick = TickPassed(scope="s", batch=window.closed + 1)
    while window.late or window.stream:
        stage.say("n/s/-", tick)
        assert stage.close_if_due()
        stage.version()
        tick = TickPassed(scope="s", batch=window.closed + 1)
    seen = Counter(member for _, members in stage.batches for member in members)
    every = [place.episode for place in (*plan.places, *extra)]
    assert seen == Counter(every)
    in_series = [batch for batch in stage.batches if batch[0] is not None]
    assert [name for name, _ in in_series] == [name for name, _ in expected(plan)]
    if not any(
        (p.series, p.position) in [(x.series, x.position) for x in plan.places] for p in extra
    ):
        mine = [
            tuple(m for m in members if not m.startswith("p/late/")) for _, members in in_series
        ]
        assert mine == [members for _, members in expected(plan)], "late members move nobody"


def test_a_series_that_reads_no_memory_waits_for_no_batch_and_is_learned_in_order() -> None:
    """Its members open at once, another series' before it or not; its batches close one by one."""
    stage = new_stage()
    stage.say("n/a", opened("a", 2, 1))
    stage.say("n/b", opened("b", 3, 1, ahead=True))
    assert [stage.window.version_for("a", at) for at in range(2)] == [0, None]
    assert [stage.window.version_for("b", at) for at in range(3)] == [0, 0, 0]
    for name, at in (("b", 2), ("b", 0), ("a", 0), ("b", 1), ("a", 1)):
        stage.say(f"p/{name}{at}", reflected(name, at, labelled=False))
    while stage.close_if_due():
        stage.version()
    assert [members for _, members in stage.batches] == [
        ("p/a0",), ("p/a1",), ("p/b0",), ("p/b1",), ("p/b2",),
    ]  # fmt: skip


# -- streams ----------------------------------------------------------------------------------------

ARRIVALS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=25)


@given(ARRIVALS, st.integers(1, 5), ORDERS)
@settings(max_examples=150)
def test_a_stream_is_cut_by_arrival_in_windows_of_m_and_a_tick_closes_the_rest(
    arrivals: list[tuple[bool, bool]], m: int, order: list[int]
) -> None:
    """Each arrival: whether it is labelled, and whether everything that is due is closed at once."""
    stage, chance = new_stage(m), cycle(order)
    owed: list[str] = []
    for number, (labelled, prompt) in enumerate(arrivals):
        episode = f"p/{number}"
        assert stage.window.version_for(None, None) == stage.window.versioned
        stage.say(episode, reflected(None, None, labelled))
        owed += [episode] if labelled else []
        if owed and next(chance) % 2:
            stage.say(owed.pop(next(chance) % len(owed)), graded("feedback"))
        while prompt and stage.close_if_due():
            stage.version()
    for episode in owed:
        stage.say(episode, graded("feedback"))
    while stage.close_if_due():
        stage.version()
    assert all(len(members) == m for _, members in stage.batches)
    rest = len(arrivals) - m * len(stage.batches)
    assert 0 <= rest < m
    stage.say("n/s/-", TickPassed(scope="s", batch=stage.window.closed + 1))
    assert stage.close_if_due() == (rest > 0)
    assert stage.version() == (rest > 0)
    members = [member for _, batch in stage.batches for member in batch]
    assert Counter(members) == Counter(f"p/{n}" for n in range(len(arrivals)))
    if not any(labelled for labelled, _ in arrivals):
        assert members == [f"p/{n}" for n in range(len(arrivals))]
    stage.say("n/s/-", TickPassed(scope="s", batch=max(1, stage.window.closed)))
    assert not stage.close_if_due(), "a tick that has passed closes nothing more"


@given(plans(), ORDERS, st.integers(0, 5))
@settings(max_examples=80)
def test_a_stream_waits_for_the_series_and_never_holds_them_up(
    plan: Plan, order: list[int], arrivals: int
) -> None:
    extra = tuple(Place(f"p/stream/{n}", None, None, False) for n in range(arrivals))
    stage = play(plan, order, early=False, extra=extra)
    in_series = [batch for batch in stage.batches if batch[0] is not None]
    assert in_series == expected(plan)
    assert stage.batches[: len(in_series)] == in_series
    streamed = [member for name, members in stage.batches if name is None for member in members]
    assert Counter([*streamed, *stage.window.stream]) == Counter(p.episode for p in extra)


def test_a_late_member_joins_the_batch_that_is_open() -> None:
    stage = new_stage()
    stage.say("n/s", opened("s", 2, 1))
    stage.say("p/0", reflected("s", 0, labelled=False))
    assert stage.close_if_due()
    stage.version()
    stage.say("p/late", reflected("s", None, labelled=True))
    stage.say("p/1", reflected("s", 1, labelled=False))
    assert not stage.close_if_due(), "its label is waited for like any other"
    stage.say("p/late", graded("feedback"))
    assert stage.close_if_due()
    assert stage.batches == [("s", ("p/0",)), ("s", ("p/1", "p/late"))]
