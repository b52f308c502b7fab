"""The scheduler that both runtimes share: slots are for episodes that can go on, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from schemas.budget import Budget
from schemas.events.episode import Completed
from schemas.events.learning import MemoryVersioned, SeriesOpened, Timing
from state.folds.budgets import DAY_MS
from streams.answering.budgets import Budgets
from streams.answering.world import Draining
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.engine.schedule import PendingEpisode, Schedule

ANNOUNCED, SILENT = "d/mc2/announced", "d/mc2/silent"


def opened(
    scope: str, timing: Timing = "barrier", *, size: int = 4, window: int = 2
) -> SeriesOpened:
    return SeriesOpened(
        scope=scope,
        series="s",
        size=size,
        window=window,
        timing=timing,
        policy="mc2",
        policy_version="1",
        profile="service",
        settings={},
        seed=0,
        walk=1,
    )


def learner(*events: SeriesOpened) -> Learner:
    made = Learner(find)
    for scope in (ANNOUNCED, SILENT):
        made.scope(scope, "mc2", "service", {})
    for event in events:
        made.feed(f"n/{event.scope}/s", "series", event)
    return made


def schedule(known: Learner, slots: int = 2) -> Schedule:
    return Schedule(known, slots, lambda error: pytest.fail(repr(error)))


async def nothing() -> None:
    """Work that is done at once."""


async def for_ever() -> None:
    await asyncio.Event().wait()


def begin(given: Schedule, work: Coroutine[Any, Any, None]) -> str | None:
    found = given.next()
    if found is None:
        work.close()
        return None
    given.start(found[0], work, found[1].partition)
    return found[0]


def test_a_problem_that_waits_for_a_version_holds_no_slot() -> None:
    async def run() -> None:
        given = schedule(learner(opened(ANNOUNCED)), slots=1)
        for position in (2, 3, 0):
            given.enqueue(f"e{position}", PendingEpisode(ANNOUNCED, "s", position))
        assert begin(given, nothing()) == "e0"
        await given.finished()
        assert given.next() is None
        assert [episode for episode, _ in given.waiting()] == ["e2", "e3"]
        assert given.blocked_now == 2
        given.leave("e2")  # it moved to another worker, and may come back
        assert given.blocked_now == 1
        given.enqueue("e2", PendingEpisode(ANNOUNCED, "s", 2))
        assert given.blocked_now == 2

    asyncio.run(run())


def test_what_was_learned_lets_the_next_batch_open() -> None:
    known = learner(opened(ANNOUNCED))
    given = schedule(known)
    given.enqueue("e2", PendingEpisode(ANNOUNCED, "s", 2))
    window = known.scopes[ANNOUNCED].window
    window.series["s"].done = window.closed = 1
    given.release(ANNOUNCED)
    assert given.next() is None
    window.feed("b/x", MemoryVersioned(scope=ANNOUNCED, number=1, live_from=1, state=""))
    given.release(ANNOUNCED)
    assert given.next() == ("e2", PendingEpisode(ANNOUNCED, "s", 2))


def test_a_set_that_may_open_is_not_told_as_waiting_before_it_has_a_slot() -> None:
    """Somebody looks between a version and the slots that it fills: nobody is idle then."""
    known = learner(opened(ANNOUNCED))
    given = schedule(known)
    for position in (2, 3):
        given.enqueue(f"e{position}", PendingEpisode(ANNOUNCED, "s", position, set_size=2))
    assert [episode for episode, _ in given.waiting()] == ["e2", "e3"]
    window = known.scopes[ANNOUNCED].window
    window.series["s"].done = window.closed = 1
    window.feed("b/x", MemoryVersioned(scope=ANNOUNCED, number=1, live_from=1, state=""))
    given.release(ANNOUNCED)
    assert (given.busy, list(given.waiting())) == (True, [])
    found = given.next()
    assert found is not None
    assert given.sets.members(found[0]) == ["e2", "e3"]


def test_a_place_of_a_series_waits_until_the_series_is_announced() -> None:
    known = learner()
    given = schedule(known)
    given.enqueue("e", PendingEpisode(SILENT, "s", 0))
    given.enqueue("stream", PendingEpisode(SILENT, None, None))
    assert given.next() == ("stream", PendingEpisode(SILENT, None, None))
    assert given.next() is None
    known.feed(f"n/{SILENT}/s", "series", opened(SILENT))
    given.release(SILENT)
    assert given.next() == ("e", PendingEpisode(SILENT, "s", 0))


def test_a_series_without_barriers_never_waits() -> None:
    given = schedule(learner(opened(ANNOUNCED, "streaming")))
    given.enqueue("e", PendingEpisode(ANNOUNCED, "s", 3))
    assert given.next() == ("e", PendingEpisode(ANNOUNCED, "s", 3))


def test_no_more_run_than_there_are_slots() -> None:
    async def run() -> None:
        given = schedule(learner(), slots=2)
        for number in range(3):
            given.enqueue(f"e{number}", PendingEpisode(SILENT, None, None, partition=number))
        assert [begin(given, for_ever()) for _ in range(3)] == ["e0", "e1", None]
        given.cancel(1)
        await asyncio.wait([given.tasks["e1"].task])
        await asyncio.sleep(0)
        assert begin(given, for_ever()) == "e2"
        assert list(given.tasks) == ["e0", "e2"]
        given.cancel(0)
        given.cancel(2)
        await given.finished()

    asyncio.run(run())


def test_a_cancelled_episode_may_come_back_before_its_task_has_ended() -> None:
    async def stubborn(ending: asyncio.Event) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await ending.wait()

    async def run() -> None:
        given, ending = schedule(learner()), asyncio.Event()
        given.enqueue("e", PendingEpisode(SILENT, None, None))
        begin(given, stubborn(ending))
        await asyncio.sleep(0)
        given.cancel(0)
        given.enqueue("e", PendingEpisode(SILENT, None, None))
        assert given.next() is None
        ending.set()
        await given.finished()
        assert given.next() == ("e", PendingEpisode(SILENT, None, None))

    asyncio.run(run())


def test_a_defect_is_told_and_a_drained_task_is_none() -> None:
    async def fails(error: Exception) -> None:
        raise error

    async def run() -> None:
        told: list[BaseException] = []
        given = Schedule(learner(), 9, told.append)
        given.start("drained", fails(Draining()))
        given.start("grouped", fails(ExceptionGroup("lanes", [ValueError("x")])))
        await given.finished()
        await asyncio.sleep(0)
        assert [str(error) for error in told] == ["x"]

    asyncio.run(run())


@pytest.mark.parametrize("moves", [False, True])
def test_an_episode_on_two_partitions_has_its_turn_on_each(moves: bool) -> None:
    """As two workers may have admitted it; also where the first partition moves away meanwhile."""

    async def run() -> None:
        given = schedule(learner(), slots=1)
        for partition in (0, 1, 1):
            given.enqueue("e", PendingEpisode(ANNOUNCED, None, None, partition))
        given.start("other", nothing(), 5)
        await given.finished()
        assert given.next() == ("e", PendingEpisode(ANNOUNCED, None, None, 0))
        if moves:
            given.cancel(0)
        else:
            given.leave("e")
        assert given.next() == ("e", PendingEpisode(ANNOUNCED, None, None, 1))
        given.leave("e")
        assert given.next() is None

    asyncio.run(run())


def test_whose_budget_is_spent_has_its_turn_when_a_day_begins() -> None:
    """It holds no slot meanwhile, and the turn of others passes it."""
    at_ms, spent = [DAY_MS], Completed(asked="Complete x", text="", finish="stop", model="m")
    given = schedule(learner())
    given.budgets = Budgets({"ann": Budget(calls=1)}, lambda: at_ms[0])
    given.budgets.fold.feed("ann", at_ms[0], spent)
    for name, tenant in (("a", "ann"), ("b", "bob"), ("c", None)):
        given.enqueue(name, PendingEpisode(SILENT, None, None, tenant=tenant))
    assert [found[0] for found in iter(given.next, None)] == ["b", "c"]
    assert given.owing() == {"a": "ann has spent its budget of 1970-01-02 UTC (1 call)"}
    assert [name for name, _ in given.waiting()] == ["a"]
    assert not given.busy
    at_ms[0] += DAY_MS - 1
    assert given.next() is None
    at_ms[0] += 1
    assert given.next() == ("a", given.seats["a"])
    given.unpay("a")
    given.take_out("a")
    assert given.owing() == {}
