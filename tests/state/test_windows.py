"""A scope's window at its edges: which version each place opens with, what a forgotten problem leaves, who is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from schemas.events.base import Event
from schemas.events.learning import BatchClosed, MemoryVersioned, ProblemForgotten, TickPassed
from schemas.outcome import Outcome
from state.folds.windows import Due, Head, ScopeWindow, Series, Windows
from tests.laws.series import graded, opened, reflected, voided

GONE = ProblemForgotten(scope="s", domain="d", problem_id="gone")


def closed(batch: int, *members: str, series: str | None = None, **more: Any) -> BatchClosed:
    unknown: Outcome = "unknown"
    event = BatchClosed(
        scope="s", batch=batch, series=series, members=members, outcomes=(unknown,) * len(members),
        previous=batch - 1, policy="p", policy_version="1", settings="x", seed=1,
    )  # fmt: skip
    return structs.replace(event, **more)


def versioned(number: int) -> MemoryVersioned:
    return MemoryVersioned(scope="s", number=number, live_from=1, state="x")


def window(*said: Any, stream: int = 2) -> ScopeWindow:
    """A window that has heard this: events of the scope, and (episode, event) of members."""
    made = ScopeWindow(stream, frozenset({"game24"}))
    for each in said:
        episode, event = ("n/s", each) if isinstance(each, Event) else each
        made.feed(episode, event)
    return made


def arrived(name: str, series: str | None = None, position: int | None = None, **more: Any) -> Any:
    """A member that ended."""
    return name, reflected(series, position, more.pop("labelled", False), **more)


@given(
    st.lists(st.integers(0, 5), max_size=8),
    st.lists(st.integers(0, 5), max_size=8),
    st.integers(0, 5),
)
def test_a_void_heard_behind_those_that_arrived_is_as_if_it_were_heard_before_them(
    earlier: list[int], later: list[int], place: int
) -> None:
    first = [
        opened("a", 5, 2),
        *(arrived(f"p/e{at}", "a", each) for at, each in enumerate(earlier)),
    ]
    then = [arrived(f"p/l{at}", "a", each) for at, each in enumerate(later)]
    heard_late = window(*first, *then)
    heard_late.void_before(voided("a", place), [name for name, _ in then])
    heard_late.feed("n/s/a", voided("a", place))
    heard_first = window(*first, voided("a", place), *then)
    assert heard_late.series == heard_first.series
    assert [*heard_late.late] == [*heard_first.late]


# ── Series ───────────────────────────────────────────────────────────────────────────────────


def test_the_last_batch_of_a_series_may_be_short() -> None:
    series = Series("a", 5, 2)
    assert series.batches == 3
    assert [list(series.positions(at)) for at in range(3)] == [[0, 1], [2, 3], [4]]
    series.done, series.filled, series.voids = 1, {2: "x"}, {4}
    assert (series.done_positions, series.missing(), series.finished) == (2, [3], False)
    series.done = 3
    assert series.finished
    assert Series("none", 0, 3).finished


def test_an_episode_pins_the_version_before_its_batch_and_waits_until_it_is_there() -> None:
    first = [arrived("p/0", "a", 0), arrived("p/1", "a", 1)]
    made = window(opened("a", 4, 2), opened("b", 1, 1), *first)
    assert [made.version_for("a", at) for at in range(5)] == [0, 0, None, None, 0]
    assert made.version_for("b", 0) is None, "a series before it is not finished"
    assert made.version_for("b", 1) == made.version_for("b", None) == made.version_for(None, 3) == 0
    assert made.due() == Due(1, "a", ("p/0", "p/1"))
    made.feed("n/s", closed(1, "p/0", "p/1", series="a"))
    assert made.due() is None, "its version is waited for"
    assert [made.version_for("a", at) for at in range(4)] == [0, 0, None, None]
    made.feed("n/s", versioned(1))
    assert [made.version_for("a", at) for at in range(4)] == [1, 1, 1, 1]
    made.feed("n/s", voided("a", 3))
    made.feed(*arrived("p/2", "a", 2))
    assert made.due() == Due(2, "a", ("p/2",))
    for said in (closed(2, "p/2", series="a"), versioned(2)):
        made.feed("n/s", said)
    assert made.version_for("a", 0) == made.version_for("b", 0) == 2
    made.owed = True
    assert made.version_for("a", 0) is made.version_for(None, None) is None


def test_a_void_place_pins_the_newest_version_at_once() -> None:
    made = window(opened("a", 4, 1), voided("a", 3))
    assert [made.version_for("a", at) for at in range(4)] == [0, None, None, 0]


def test_what_was_refused_before_its_series_was_opened_is_void_from_its_beginning() -> None:
    made = window(voided("a", 1), voided("a", 0), voided("b", 0), opened("a", 2, 2))
    assert made.series["a"].voids == {0, 1}
    assert made.due() == Due(1, "a", ())
    assert made.early == {"b": {0}}
    again = window(arrived("p/0"), opened("a", 2, 2), arrived("p/a0", "a", 0), voided("a", 0))
    assert again.series["a"].missing() == [1], "a place that is filled stays filled"
    again.feed("n/s", opened("a", 9, 9))
    assert again.series["a"].size == 2, "a series is opened once"


def test_a_series_without_barriers_is_a_stream_s() -> None:
    free = structs.replace(opened("a", 4, 2), timing="stream")
    made = window(free, arrived("p/1", "a", 1), arrived("p/0", "a", 0))
    assert made.is_announced("a")
    assert not made.is_announced("b")
    assert not made.is_announced(None)
    assert window(opened("a", 1, 1)).is_announced("a")
    assert made.due() == Due(1, None, ("p/1", "p/0"))


@pytest.mark.parametrize(
    "late", [("a", None), ("a", 0), ("a", 1), ("a", 3), ("a", 4), ("a", 2)], ids=str
)
def test_whoever_has_no_place_in_an_open_batch_learns_with_the_next_one(late: Any) -> None:
    """No position, one that is over, one beyond the last, one that is void, and one that is taken."""
    made = window(
        opened("a", 4, 1), arrived("p/0", "a", 0), closed(1, "p/0", series="a"), versioned(1),
        voided("a", 3), arrived("p/2", "a", 2), voided("a", 1), arrived("p/late", *late),
    )  # fmt: skip
    assert list(made.late) == ["p/late"]
    assert made.series["a"].filled == {0: "p/0", 2: "p/2"}
    assert made.due() == Due(2, "a", ("p/late",))


def test_a_batch_waits_for_its_labels_and_its_checker_alone() -> None:
    def waits(labelled: bool, domain: str, *by: str) -> bool:
        member = arrived("p/0", "a", 0, labelled=labelled, domain=domain)
        return (
            window(opened("a", 1, 1), member, *(("p/0", graded(each)) for each in by)).due() is None
        )

    assert not waits(False, "d")
    assert waits(True, "d")
    assert not waits(True, "d", "feedback")
    assert waits(False, "game24", "feedback")
    assert not waits(False, "game24", "checker")
    assert waits(True, "game24", "checker")
    assert not waits(True, "game24", "checker", "feedback")
    early = window(
        opened("a", 1, 1), ("p/0", graded("feedback")), arrived("p/0", "a", 0, labelled=True)
    )
    assert early.due() is None, "a grade of whoever has not ended is none of its own"


# ── Streams ──────────────────────────────────────────────────────────────────────────────────


def test_a_stream_s_window_closes_when_it_is_full_or_time_passed() -> None:
    made = window(arrived("p/1"), stream=2)
    assert made.due() is None
    made.feed("n/s", TickPassed(scope="s", batch=1))
    assert made.due() == Due(1, None, ("p/1",))
    made.feed(*arrived("p/2"))
    made.feed(*arrived("p/3"))
    assert made.due() == Due(1, None, ("p/1", "p/2")), "no more than fit"
    made.feed("n/s", closed(1, "p/1", "p/2"))
    made.feed("n/s", versioned(1))
    made.feed("n/s", TickPassed(scope="s", batch=1))
    assert (list(made.stream), made.due()) == (["p/3"], None), "that tick has passed"
    made.feed(*arrived("p/4", labelled=True))
    assert made.due() is None, "its label is not known"
    made.feed(*arrived("p/5"))
    assert made.due() == Due(2, None, ("p/3", "p/5"))
    empty = window(TickPassed(scope="s", batch=3), TickPassed(scope="s", batch=2))
    assert (empty.ticked, empty.due()) == (3, None), "of nothing no batch is made"


def test_the_late_ones_of_a_series_come_before_a_stream_s() -> None:
    made = window(
        opened("a", 1, 1), arrived("p/1"), arrived("p/0", "a", 0), closed(1, "p/0", series="a"),
        versioned(1), arrived("p/late", "a", None), stream=2,
    )  # fmt: skip
    assert made.due() == Due(2, None, ("p/late", "p/1"))


# ── Forgetting ───────────────────────────────────────────────────────────────────────────────


def test_a_forgotten_problem_leaves_every_batch_that_is_open() -> None:
    made = window(
        opened("a", 3, 1),
        arrived("p/d/gone/0", "a", 0), closed(1, "p/d/gone/0", series="a"), versioned(1),
        arrived("p/d/gone/1", "a", 1), arrived("p/d/gone2/1", "a", 2),
        arrived("p/d/gone/9", "a", None), arrived("p/d/kept/9", "a", None),
        arrived("p/d/gone/2"), arrived("p/d/kept/2"), GONE,
    )  # fmt: skip
    series = made.series["a"]
    assert (series.filled, series.voids) == ({0: "p/d/gone/0", 2: "p/d/gone2/1"}, {1})
    assert (list(made.late), list(made.stream)) == (["p/d/kept/9"], ["p/d/kept/2"])
    assert made.due() == Due(2, "a", ("p/d/kept/9",))


def test_an_episode_of_a_forgotten_problem_that_ends_later_leaves_its_place_empty() -> None:
    made = window(opened("a", 3, 3), GONE, arrived("p/d/x/0", "a", 0))
    made.feed(*arrived("p/d/gone/0", "a", 0))
    made.feed(*arrived("p/d/gone/1", "a", 1, labelled=True))
    made.feed(*arrived("p/d/gone/2"))
    assert made.series["a"].voids == {1}, "a place that is taken stays taken"
    assert (list(made.stream), list(made.late), made.series["a"].missing()) == ([], [], [2])
    made.feed(*arrived("p/d/gone/3", "a", None))
    made.feed(*arrived("p/d/gone/4", "a", 2))
    assert made.due() == Due(1, "a", ("p/d/x/0",)), "and nobody waits for its label"
    made.feed(*arrived("p/d/gone/2"))
    other = structs.replace(GONE, problem_id="y")
    made.feed("n/s", other)
    assert made.forgotten == ("p/d/gone/", "p/d/y/")


def test_versions_that_are_owed_are_closed_again_before_anything_new() -> None:
    made = window(arrived("p/1"), arrived("p/2"), closed(1, "p/0"), versioned(1), stream=2)
    made.owed = True
    assert made.due() is None, "nobody said yet how it is to be closed"
    made.again = again = closed(1, "p/0", revision=1)
    assert made.due() == Due(1, None, ("p/0",), again)
    made.feed("n/s", again)
    assert made.closed == 1, "a revision counts no batch"
    assert made.due() is None, "it is over"
    made.owed = False
    assert made.due() == Due(2, None, ("p/1", "p/2"))


# ── What is kept ─────────────────────────────────────────────────────────────────────────────


def test_what_does_not_concern_windows_changes_nothing() -> None:
    made = window(opened("a", 1, 1), ("p/0", graded("feedback")))
    assert made == window(opened("a", 1, 1))
    made.feed("p/0", structs.replace(opened("b", 1, 1)))
    assert set(made.series) == {"a", "b"}


def test_of_a_closed_batch_s_members_nothing_is_kept() -> None:
    every = Windows(frozenset())
    for episode, event in (
        ("n/s", opened("a", 4, 2)), arrived("p/0", "a", 0), arrived("p/1", "a", 1),
        arrived("p/2", "a", 2), arrived("p/3"), ("n/s", closed(1, "p/0", "p/1", series="a")),
    ):  # fmt: skip
        every.feed("s", episode, event)
    made = every.open["s"]
    assert made.series["a"].filled == {2: "p/2"}
    assert set(made.awaited) == {"p/2", "p/3"}
    twice = window(arrived("p/0"), closed(1, "p/0"), versioned(1), arrived("p/0"), arrived("p/1"))
    assert list(twice.stream) == ["p/1"], "whoever learned does not learn again"


def test_a_scope_is_first_seen_by_a_series_or_by_an_episode_that_ended() -> None:
    every = Windows(frozenset({"d"}))
    every.feed("s", "n/s", versioned(0))
    every.feed("s", "p/0", graded("checker"))
    assert (every.heads, every.open) == ({}, {})
    every.feed("s", *arrived("p/0", domain="d"), late=True)
    every.feed("t", "n/t", opened("a", 1, 1))
    assert every.heads["s"] == Head("p", "1", "paper", {}, odd=True)
    assert every.heads["t"] == Head("p", "1", "paper", {})
    assert every.open["s"].due() is None, "its checker has not said"
    every.feed("s", "p/0", graded("checker"), late=True)
    assert every.open["s"].due() == Due(1, None, ("p/0",)), (
        "whatever a batch's size is, it is asked later"
    )
    for number in (1, 0):
        every.feed("t", "n/t", versioned(number))
        assert every.heads["t"].warmed is (number == 0)
    named = structs.replace(
        reflected(None, None, labelled=False), policy="a@b@2", learning={"x": 1}
    )
    assert Head.of(named) == Head("a@b", "2", "paper", {"x": 1})
    settings = structs.replace(opened("a", 1, 1), settings={"y": 2}, policy_version="7")
    assert Head.of(settings) == Head("p", "7", "paper", {"y": 2})
