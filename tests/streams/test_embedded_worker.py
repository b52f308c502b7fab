"""The law of learning on the embedded log: one worker or twenty tasks, crashes or none, one outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.limits import Reservation
from handlers.policies.base import Conclusion, Policy, Trace
from schemas.asking import Ask
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import EpisodeClosed, EpisodeOpened
from schemas.events.learning import (
    BatchClosed,
    MemoryVersioned,
    Reflected,
)
from schemas.problem import Limits
from state.journal import Crashed
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.drive import Run
from streams.engine.learner import Learner
from streams.engine.progress import Outcome
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.fragile import Fragile
from tests.pupil import (
    PUPIL,
    SIZE,
    WINDOW,
    Numbers,
    PupilSettings,
    find,
    meant,
    opened_with,
    problems,
    publication,
)


class Asking(World):
    """A world that is never asked what is on record."""

    def __init__(self, log: SqliteLog, delays: list[int]) -> None:
        super().__init__({"*": Numbers(cycle(delays))}, HashedEmbedder(16))
        self.log, self.asked = log, Counter[tuple[str, str]]()

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        assert self.log.find(run.episode, address) is None, "a recorded answer was asked for again"
        self.asked[run.episode, address] += 1
        return await super().answer(run, question, asked, address, reserved)


def work(log: SqliteLog, delays: list[int], concurrency: int = 20, *, settle: bool = False) -> Any:
    """One life of a worker, to its end or its crash."""
    worker = Worker(
        log, Asking(log, delays), find, default_policy="pupil", max_concurrency=concurrency
    )
    try:
        return asyncio.run(worker.run(until_idle=True, settle=settle))
    except Crashed as crash:
        return crash


def new_log(left: int = -1, *, labelled: bool = True) -> Fragile:
    log = Fragile(left)
    log.publish(*publication(problems(labelled)))
    return log


def closed(log: SqliteLog, delays: list[int], concurrency: int = 20) -> tuple[str, str]:
    assert work(log, delays, concurrency) == Outcome()
    assert log.counter("repeated") == log.counter("stale") == 0
    return meant(log)


@pytest.fixture(scope="module")
def whole() -> tuple[str, str]:
    with closing(new_log()) as log:
        return closed(log, [0])


def test_three_batches_are_closed_and_learned_from() -> None:
    with closing(new_log()) as log:
        closed(log, [0])
        batches = [r.event for r in log.records(kinds=["batch.closed"])]
        versions = [r.event for r in log.records(kinds=["memory.versioned"])]
        assert [len(b.members) for b in batches if isinstance(b, BatchClosed)] == [3, 3, 2]
        assert [v.number for v in versions if isinstance(v, MemoryVersioned)] == [1, 2, 3]
        outcomes = {o for b in batches if isinstance(b, BatchClosed) for o in b.outcomes}
        assert outcomes == {"right", "wrong", "unknown"}


def test_what_is_said_between_claim_and_start_is_heard_once(
    whole: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Counter[tuple[str, str]]()
    feed = Learner.feed

    def counted(self: Learner, episode: str, address: str, event: Event) -> bool:
        heard[episode, address] += 1
        return feed(self, episode, address, event)

    monkeypatch.setattr(Learner, "feed", counted)
    with closing(Fragile()) as log:
        worker = Worker(log, Asking(log, [0]), find, default_policy="pupil")
        log.publish(*publication(problems()))
        assert asyncio.run(worker.run(until_idle=True)) == Outcome()
        assert set(heard.values()) == {1}
        assert meant(log) == whole


DELAYS = st.lists(st.integers(0, 7), min_size=1, max_size=9)


@given(DELAYS, st.integers(1, 20))
@settings(max_examples=25)
def test_any_completion_order_and_concurrency_means_the_same(
    whole: tuple[str, str], delays: list[int], concurrency: int
) -> None:
    with closing(new_log()) as log:
        assert closed(log, delays, concurrency) == whole


def test_a_crash_after_any_record_means_the_same(whole: tuple[str, str]) -> None:
    with closing(new_log()) as log:
        closed(log, [0])
        records = log.end()
    for left in range(records):
        with closing(new_log(left)) as log:
            crash = work(log, [left % 5, 0, left % 3])
            log.left = -1
            assert isinstance(crash, Crashed) or left >= records - 3
            assert closed(log, [1, 0]) == whole, left


@given(st.lists(st.integers(1, 40), min_size=2, max_size=12), DELAYS)
@settings(max_examples=15)
def test_many_crashes_mean_the_same(
    whole: tuple[str, str], lives: list[int], delays: list[int]
) -> None:
    with closing(new_log()) as log:
        for left in lives:
            log.left = left
            work(log, delays)
        log.left = -1
        assert closed(log, delays) == whole


@pytest.mark.parametrize("left", range(0, 60, 7))
def test_the_record_of_a_crashed_worker_verifies(left: int) -> None:
    """Open episodes too: verification finds nothing to object to at any moment."""
    with closing(new_log(left)) as log:
        work(log, [2, 0, 3])
        meant(log)


@given(DELAYS, st.integers(1, 20))
@settings(max_examples=10)
def test_no_episode_opens_before_its_version(delays: list[int], concurrency: int) -> None:
    with closing(new_log()) as log:
        closed(log, delays, concurrency)
        assert opened_with(log) == {at: at // WINDOW for at in range(SIZE)}


def test_a_series_that_is_produced_while_a_worker_looks_is_seen_before_its_problems(
    whole: tuple[str, str],
) -> None:
    """``produce`` commits between the worker's two reads: the problems must not run without order."""
    with closing(Fragile()) as log:
        log.meanwhile = [publication(problems())]
        work(log, [0])
        work(log, [0])
        assert opened_with(log) == {at: at // WINDOW for at in range(SIZE)}
        assert meant(log) == whole


def test_positions_that_never_arrive_are_voided_when_told_to_settle() -> None:
    with closing(Fragile()) as log:
        missing = [problem for problem in problems() if problem.position not in (1, 5)]
        log.publish(*publication(missing))
        held = work(log, [0])
        assert isinstance(held, Outcome)
        assert held.held
        assert work(log, [0], settle=True) == Outcome()
        meant(log)
        batches = [r.event for r in log.records(kinds=["batch.closed"])]
        assert [len(b.members) for b in batches if isinstance(b, BatchClosed)] == [2, 2, 2]


def test_two_problems_in_one_place_are_both_learned_from() -> None:
    with closing(Fragile()) as log:
        given = problems(labelled=False)
        twin = given[4].model_copy(update={"id": "twin"})
        log.publish(*publication([*given, twin]))
        work(log, [0], settle=True)
        meant(log)
        batches = [r.event for r in log.records(kinds=["batch.closed"])]
        members = [m for b in batches if isinstance(b, BatchClosed) for m in b.members]
        reflected = [r.episode for r in log.records("learning") if isinstance(r.event, Reflected)]
        assert sorted(members) == sorted(reflected)
        assert len(members) == SIZE + 1


def test_of_a_problem_that_comes_twice_at_once_the_first_counts() -> None:
    """Under keys of others, as ids of their own; what the log holds is what is worked on."""
    with closing(Fragile()) as log:
        one = problems(labelled=False)[0].model_copy(update={"series": None, "position": None})
        for name, calls in (("a", 1), ("b", 9)):
            body = one.model_copy(update={"limits": Limits(calls=calls)}).model_dump_json().encode()
            log.publish([("problems", name, {}, body)])
        work(log, [0])
        opened = [r.event for r in log.records(kinds=["episode.opened"])]
        assert [e.limits.calls for e in opened if isinstance(e, EpisodeOpened)] == [1]


def test_a_defect_in_a_reflection_is_the_episodes_and_not_the_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One policy's own bug must not stop a queue; nor may it come back at each restart."""

    def broken(trace: Trace, conclusion: Conclusion, given: PupilSettings) -> dict[str, Any]:
        raise ZeroDivisionError("reflect")

    monkeypatch.setattr("tests.pupil.PUPIL", _with(reflect=broken))
    with closing(new_log()) as log:
        work(log, [0])
        closed = [each.event for each in log.records("events", kinds=["episode.closed"])]
        ends = [(each.status, each.ended_by) for each in closed if isinstance(each, EpisodeClosed)]
        assert len(ends) == SIZE
        assert {status for status, _ in ends} == {"failed"}
        assert all(why.startswith("error: reflect: ZeroDivisionError") for _, why in ends)


def _with(**changed: Any) -> Policy[Any]:
    from dataclasses import replace

    return replace(PUPIL, **changed)
