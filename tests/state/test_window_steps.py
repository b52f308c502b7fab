"""Windows step by step: what is due, who waits, who is late, and what a closed batch leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.events.learning import (
    BatchClosed,
    MemoryVersioned,
    ProblemForgotten,
    SeriesOpened,
    TickPassed,
)
from schemas.outcome import Outcome
from state.folds.windows import Due, ScopeWindow, Series, Windows
from tests.laws.series import graded, opened, reflected, voided

UNKNOWN: Outcome = "unknown"


def closed(batch: int, *members: str, series: str | None = None, **more: Any) -> BatchClosed:
    return BatchClosed(
        scope="s", batch=batch, series=series, members=members, outcomes=(UNKNOWN,) * len(members),
        previous=batch - 1, policy="p", policy_version="1", settings="x", seed=1, **more,
    )  # fmt: skip


def versioned(number: int, **more: Any) -> MemoryVersioned:
    return MemoryVersioned(scope="s", number=number, state="0f", live_from=1, **more)


def window(*events: Any, stream: int = 2, checked: str = "") -> ScopeWindow:
    made = ScopeWindow(stream, frozenset(filter(None, [checked])))
    for event in events:
        made.feed("e", event)
    return made


def learn(made: ScopeWindow, due: Due | None) -> None:
    """Close what is due, and have its version come."""
    assert due is not None
    made.feed("b", closed(due.batch, *due.members, series=due.series))
    assert made.due() is None
    made.feed("b", versioned(due.batch))


@pytest.mark.parametrize(
    ("size", "window_of", "batches"), [(5, 2, 3), (4, 2, 2), (0, 3, 0), (1, 9, 1)]
)
def test_a_series_has_batches_of_its_window_and_the_last_may_be_short(
    size: int, window_of: int, batches: int
) -> None:
    series = Series("x", size, window_of)
    assert series.batches == batches
    assert series.finished == (batches == 0)
    assert [at for batch in range(batches) for at in series.positions(batch)] == [*range(size)]
    series.done = batches
    assert series.finished
    assert series.done_positions == batches * window_of


def test_a_barrier_batch_is_due_by_position_once_all_its_places_are_filled_or_void() -> None:
    made = window(opened("x", 3, 2))
    made.feed("p/d/1/r", reflected("x", 1, labelled=False))
    assert made.due() is None
    series = made.current
    assert series is not None
    assert series.missing() == [0]
    made.feed("p/d/0/r", reflected("x", 0, labelled=True))
    assert made.due() is None, "its label is awaited"
    made.feed("p/d/0/r", graded("checker"))
    assert made.due() is None
    made.feed("p/d/0/r", graded("feedback"))
    assert made.due() == Due(1, "x", ("p/d/0/r", "p/d/1/r"))
    learn(made, made.due())
    made.feed("n", voided("x", 2))
    assert made.due() == Due(2, "x", ())
    learn(made, made.due())
    assert made.current is None
    assert made.due() is None


def test_a_checker_of_the_domain_is_waited_for_as_well() -> None:
    made = window(opened("x", 1, 1), checked="game24")
    made.feed("p/game24/0/r", reflected("x", 0, labelled=True, domain="game24"))
    for by in ("feedback", "checker"):
        assert made.due() is None
        made.feed("p/game24/0/r", graded(by))
    assert made.due() is not None


def test_places_may_be_void_before_their_series_opens_and_a_filled_one_stays_so() -> None:
    made = window(voided("x", 0), opened("x", 2, 2), opened("x", 9, 9))
    assert made.series["x"].size == 2
    made.feed("p/d/1/r", reflected("x", 1, labelled=False))
    made.feed("n", voided("x", 1))
    assert made.due() == Due(1, "x", ("p/d/1/r",))
    assert [made.is_announced(name) for name in ("x", "y", None)] == [True, False, False]
    streaming = SeriesOpened(
        scope="s", series="y", size=2, window=1, timing="streaming", policy="p", policy_version="1",
        profile="service", settings={}, seed=0, walk=1,
    )  # fmt: skip
    made.feed("n", streaming)
    assert made.is_announced("y")
    made.feed("p/d/s/r", reflected("y", 0, labelled=False))
    assert [*made.stream] == ["p/d/s/r"]


@pytest.mark.parametrize("position", [None, -1, 0, 4, 9])
def test_whoever_has_no_place_in_an_open_batch_is_late_and_learns_with_the_next(
    position: int | None,
) -> None:
    made = window(opened("x", 4, 1))
    made.feed("p/d/0/r", reflected("x", 0, labelled=False))
    learn(made, made.due())
    made.feed("p/d/late/r", reflected("x", position, labelled=True))
    made.feed("p/d/1/r", reflected("x", 1, labelled=False))
    assert made.due() is None, "the late one's label is awaited"
    made.feed("p/d/late/r", graded("feedback"))
    assert made.due() == Due(2, "x", ("p/d/1/r", "p/d/late/r"))
    learn(made, made.due())
    assert not made.late
    made.feed("p/d/1/r", reflected("x", 2, labelled=False))
    assert made.due() is None, "an episode is a member once"


def test_two_that_come_for_one_place_are_a_member_and_a_late_one() -> None:
    made = window(opened("x", 2, 2), voided("x", 1))
    made.feed("p/d/a/r", reflected("x", 0, labelled=False))
    made.feed("p/d/b/r", reflected("x", 0, labelled=False))
    made.feed("p/d/c/r", reflected("x", 1, labelled=False))
    assert made.due() == Due(1, "x", ("p/d/a/r", "p/d/b/r", "p/d/c/r"))


def test_a_stream_learns_by_arrival_when_its_window_is_full_or_time_passed() -> None:
    made = window()
    for name in ("a", "b", "c"):
        made.feed(name, reflected(None, None, labelled=name == "a"))
    assert made.due() == Due(1, None, ("b", "c"))
    learn(made, made.due())
    assert made.due() is None
    made.feed("a", graded("feedback"))
    assert made.due() is None, "one is no full window"
    made.feed("n", TickPassed(scope="s", batch=1))
    assert made.due() is None, "a tick for a batch that is closed"
    made.feed("n", TickPassed(scope="s", batch=2))
    made.feed("n", TickPassed(scope="s", batch=1))
    assert made.due() == Due(2, None, ("a",))
    learn(made, made.due())
    made.feed("n", TickPassed(scope="s", batch=3))
    assert made.due() is None, "nobody waits"


def test_a_stream_waits_for_the_series_before_it() -> None:
    made = window(opened("x", 1, 1), stream=1)
    made.feed("free", reflected(None, None, labelled=False))
    assert made.due() is None
    made.feed("p/d/0/r", reflected("x", 0, labelled=False))
    learn(made, made.due())
    assert made.due() == Due(2, None, ("free",))


def test_who_may_open_with_which_version() -> None:
    made = window(
        opened("x", 4, 2), opened("y", 2, 1), opened("z", 2, 1, ahead=True), voided("x", 1)
    )
    asked: list[tuple[str | None, int | None]] = [
        (None, None), ("x", 0), ("x", 1), ("x", 2), ("x", 4), ("x", None), ("y", 0), ("z", 1), ("?", 0),
    ]  # fmt: skip
    assert [made.version_for(*place) for place in asked] == [0, 0, 0, None, 0, 0, None, 0, 0]
    made.feed("p/d/0/r", reflected("x", 0, labelled=False))
    due = made.due()
    assert due is not None
    made.feed("b", closed(1, *due.members, series="x"))
    assert [made.version_for("x", at) for at in (0, 2)] == [0, None], "its version is not there yet"
    made.feed("b", versioned(1))
    assert [made.version_for("x", at) for at in (0, 2)] == [1, 1]
    made.feed("n", voided("x", 2))
    made.feed("n", voided("x", 3))
    learn(made, made.due())
    assert [made.version_for(*place) for place in (("x", 3), ("y", 0), ("y", 1))] == [2, 2, None]
    made.owed = True
    assert made.version_for(None, None) is None
    assert made.version_for("z", 1) is None


def test_what_is_owed_is_closed_again_before_anything_else() -> None:
    made = window(stream=1)
    made.feed("a", reflected(None, None, labelled=False))
    learn(made, made.due())
    made.feed("b", reflected(None, None, labelled=False))
    made.owed = True
    assert made.due() is None
    made.again = closed(1, "a", revision=1)
    assert made.due() == Due(1, None, ("a",), made.again)
    made.feed("b/s/1.1", made.again)
    assert made.due() is None
    assert (made.closed, made.versioned) == (1, 1), "a revision counts no batch"
    made.owed = False
    assert made.due() == Due(2, None, ("b",))


def test_a_forgotten_problems_episodes_leave_their_places_empty() -> None:
    made = window(opened("x", 4, 1), stream=1)
    made.feed("p/d/x/r1", reflected("x", 0, labelled=False))
    learn(made, made.due())
    made.feed("p/d/x/r2", reflected("x", 1, labelled=True))
    made.feed("p/d/x/r3", reflected("x", None, labelled=True))
    made.feed("p/d/x/r4", reflected(None, None, labelled=True))
    made.feed("p/d/xy/r", reflected("x", 2, labelled=False))
    made.feed("n", ProblemForgotten(scope="s", domain="d", problem_id="x", by="ann"))
    assert (made.late, made.stream) == ({}, {})
    assert made.series["x"].filled == {0: "p/d/x/r1", 2: "p/d/xy/r"}
    assert made.series["x"].voids == {1}
    made.feed("p/d/x/r5", reflected("x", 3, labelled=True))
    made.feed("p/d/x/r6", reflected("x", 2, labelled=True))
    assert made.series["x"].voids == {1, 3}
    assert made.due() == Due(2, "x", ())


def test_nothing_is_kept_of_members_of_closed_batches() -> None:
    windows = Windows(frozenset())
    windows.feed("s", "e", TickPassed(scope="s", batch=1))
    assert not windows.open, "that says nothing of whose the scope is"
    windows.feed("s", "e", opened("x", 2, 1))
    head = windows.heads["s"]
    assert (head.policy, head.version, head.profile, head.values) == ("p", "1", "paper", {})
    assert [head.odd, head.warmed] == [False, False]
    windows.feed("s", "p/d/0/r", reflected("x", 0, labelled=False))
    windows.feed("s", "p/d/1/r", reflected("x", 1, labelled=False))
    windows.feed("s", "b", closed(1, "p/d/0/r", series="x"))
    made = windows.open["s"]
    assert made.stream_window == 1
    assert made.awaited == {"p/d/1/r": set()}
    assert made.series["x"].filled == {1: "p/d/1/r"}
    windows.feed("s", "b", versioned(1))
    assert [head.warmed] == [False]
    windows.feed("s", "b", versioned(0))
    assert head.warmed
    windows.feed("t", "p/d/2/r", reflected(None, None, labelled=False), late=True)
    other = windows.heads["t"]
    assert (other.policy, other.version, other.profile, other.odd) == ("p", "1", "paper", True)
