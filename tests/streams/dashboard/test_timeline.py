"""Calls in time: what ran at the same time stands under each other, and long pauses are drawn short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.interfaces.dashboard.timeline import (
    LONG_S,
    STRIP,
    TICKS,
    Timeline,
    lane_of,
    stepped,
    timeline,
)
from streams.views.rows import Row


def row(at: str, seconds: float | None = 1.0, *, called: bool = True) -> Row:
    return Row(at, "reasoner", "24", seconds=seconds, called=called)


def drawn(found: list[tuple[str, float, float]]) -> Timeline:
    """The timeline of calls: each with where it is, when it ended and how long it took, in seconds."""
    made = timeline(
        [row(at, took) for at, _, took in found],
        {at: round(1000 * ended) for at, ended, _ in found},
    )
    assert made is not None
    return made


def test_lanes_that_ran_at_the_same_time_stand_under_each_other() -> None:
    """They were drawn one after another, as if each had waited for the one before."""
    made = drawn([("0", 101, 1), ("1.0.0", 103, 2), ("1.1.0", 103, 2), ("2", 105, 2)])
    assert list(made.lanes) == ["", "1", "2"]
    (one,), (other,) = made.lanes["1"], made.lanes["2"]
    assert (one.begin, one.width) == (other.begin, other.width) == pytest.approx((200, 400))
    assert [bar.begin for bar in made.lanes[""]] == pytest.approx([0, 600])
    assert made.ticks == pytest.approx([0, 1.25, 2.5, 3.75, 5])


@pytest.mark.parametrize(
    ("at", "lane"), [("3", ""), ("3.0.1", "1"), ("3.1.4.0.2", "2.1"), ("7.1", "2")]
)
def test_a_lane_is_named_from_the_outermost_fork_on(at: str, lane: str) -> None:
    assert lane_of(at) == lane


def test_a_long_pause_is_drawn_short_and_said() -> None:
    """As after a crash, or while a person was waited for."""
    made = drawn([("0", 10, 10), ("1", 7220, 10)])
    ((begin, width, took),) = made.pauses
    assert took == pytest.approx(7200)
    assert (begin, begin + width) == pytest.approx((10 / 21 * STRIP, 11 / 21 * STRIP))
    assert made.ticks[-1] == pytest.approx(7220)
    assert not drawn([("0", 10, 10), ("1", 24, 10)]).pauses


CALLS = st.lists(
    st.tuples(st.integers(0, 10**7), st.integers(0, 60_000)), min_size=1, max_size=20
).filter(lambda calls: any(took for _, took in calls))


@given(CALLS)
def test_every_call_stands_on_the_strip_in_its_order(calls: list[tuple[int, int]]) -> None:
    made = drawn([(str(at), end / 1000, took / 1000) for at, (end, took) in enumerate(calls)])
    bars = {int(bar.row.at): bar for each in made.lanes.values() for bar in each}
    assert len(bars) == len(calls)
    for at, bar in bars.items():
        assert -1e-6 <= bar.begin <= bar.begin + bar.width <= STRIP + 1e-6
        for other, (end, _) in enumerate(calls):
            if end < calls[at][0]:
                there = bars[other].begin + bars[other].width
                assert there <= bar.begin + bar.width + 1e-6
    assert len(made.ticks) == TICKS + 1
    assert list(made.ticks) == sorted(made.ticks)
    assert made.ticks[0] == pytest.approx(0, abs=1e-6)
    whole = max(end for end, _ in calls) - min(end - took for end, took in calls)
    assert made.ticks[-1] == pytest.approx(whole / 1000, abs=1e-3)
    assert all(took > LONG_S for _, _, took in made.pauses)


def test_nothing_is_drawn_where_no_time_is_known() -> None:
    assert timeline([row("0", None), row("1", called=False)], {"0": 1, "1": 2}) is None
    assert timeline([row("0")], {}) is None
    assert timeline([row("0", 0.0)], {"0": 5}) is None
    steps = stepped([row("0"), row("1", called=False)], None)
    assert [(step.calls, step.bar) for step in steps] == [(1, None), (1, None)]
