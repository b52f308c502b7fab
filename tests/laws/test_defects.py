"""Laws of how episodes end: a defect or a spent allowance is an outcome, alike over its record."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from handlers.limits import Ledger
from handlers.policies.base import Conclusion, Policy, Task, Together
from schemas.asking import Exhausted, ReplayError, Steps
from schemas.events.base import Event
from schemas.events.episode import Completed, LimitReached, ProblemAdmitted
from schemas.events.learning import BatchClosed
from schemas.events.reasoning import Voted
from schemas.identity import text_digest
from schemas.memory import Memory
from schemas.problem import Limits, Problem
from schemas.settings import PolicySettings
from state.journal import MemoryRecorder
from streams.core.drive import Run, drive, replayed
from streams.engine.episode import Work, conclude, opening
from streams.engine.learning import learn
from streams.engine.sets import SetWork, conclude_set
from tests.laws.programs import (
    CALLS,
    ORDERS,
    PROGRAMS,
    Break,
    Defect,
    Fan,
    Look,
    Program,
    Say,
    policy,
    programs,
)
from tests.laws.worlds import EPISODE, MEMORY, Paced, finished, live

T = TypeVar("T")


@given(st.integers(0, 3), st.integers(0, 3))
def test_a_defect_in_one_lane_stops_its_siblings(lane: int, late: int) -> None:
    """The lane with the defect is answered first; its siblings are never answered at all."""

    class Favouring(Paced):
        def release(self) -> None:
            for at, future in self.waiting.items():
                if at.startswith(f"0.{lane}."):
                    future.set_result(None)

    lanes: list[Program] = [(Say("thinker"),) * 9 for _ in range(4)]
    lanes[lane] = ((Say("thinker"),) * late) + (Break("x"),)
    ended, record = finished((Fan(tuple(lanes)), Say("thinker")), Favouring())
    assert isinstance(ended.error, Defect)
    siblings = [f"0.{other}.0" for other in range(4) if other != lane]
    asked = ended.world.asked.keys() & set(siblings)
    assert asked == set(ended.world.cancelled)
    assert ended.world.asked.keys() - asked == {f"0.{lane}.{n}" for n in range(late)}
    assert not ended.world.waiting
    assert len(record.records) == 1 + late


@given(st.integers(0, 3), ORDERS)
def test_a_spent_allowance_in_one_lane_leaves_its_siblings_alone(
    lane: int, order: list[int]
) -> None:
    lanes: tuple[Program, ...] = ((Say("thinker"),) * 3,) * 4
    allow = tuple(1 if n == lane else 3 for n in range(4))
    ended, record = finished((Fan(lanes, allow), Say("thinker")), Paced(order))
    assert ended.error is None
    journal = record.journal(EPISODE)
    spent = [at for at, said in journal.items() if isinstance(said, LimitReached)]
    assert spent == [f"0.{lane}.1"]
    assert sum(isinstance(said, Completed) for said in journal.values()) == 3 * 3 + 1 + 1


class Bare(PolicySettings):
    """No settings."""


def work_on(program: Program, journal: dict[str, Event], calls: int | None = None) -> Work:
    """An episode of the policy that a program stands for."""

    def solve(task: Task, given: Bare) -> Steps[Conclusion]:
        answer = yield from policy(program)
        return Conclusion(answer=answer, ended_by="end")

    made = Policy(name="law", version="1", about="a program", settings=Bare, solve=solve)
    problem = Problem(id="x", problem="x", domain="laws", limits=Limits(calls=calls))
    admitted = ProblemAdmitted(problem=problem, scope="s", offset=1)
    opened = opening(made, text_digest("{}"), problem, MEMORY, "law")
    return Work(EPISODE, admitted, opened, made, Bare(), MEMORY, dict(journal))


async def released(working: Coroutine[Any, Any, T], world: Paced) -> T:
    """What some work comes to whose questions a world answers as it is released."""
    task = asyncio.create_task(working)
    while not task.done():
        await asyncio.sleep(0)
        world.release()
    return await task


async def conclude_live(work: Work, world: Paced) -> tuple[Conclusion, float]:
    return await released(conclude(work, work.run(MemoryRecorder(), world)), world)


def same_over_its_record(program: Program, order: list[int], calls: int | None) -> Conclusion:
    """The conclusion, if replaying the record comes to the same one with every record met."""
    work = work_on(program, {}, calls)
    ended = asyncio.run(conclude_live(work, Paced(order, chancy=True)))
    again = work_on(program, work.journal, calls)
    run = again.run(None, None)
    assert replayed(conclude(again, run)) == ended
    assert run.visited == work.journal.keys()
    return ended[0]


@given(programs(defects=True), ORDERS, CALLS)
@settings(max_examples=200)
def test_an_episode_ends_again_in_the_same_way_over_its_record(
    program: Program, order: list[int], calls: int | None
) -> None:
    """Also one that failed: whatever was in flight in other lanes when the defect struck."""
    same_over_its_record(program, order, calls)


@given(ORDERS)
def test_of_several_defects_the_record_says_which_ended_it(order: list[int]) -> None:
    first: Program = (Say("thinker"), Break("first"))
    second: Program = (Say("thinker"), Break("second"))
    ended = same_over_its_record((Fan((first, second)),), order, None)
    assert ended.ended_by.startswith("error: Defect: ")


TWO_DEFECTS: Program = (Fan(((Say("thinker"), Break("first")), (Say("thinker"), Break("second")))),)


@given(ORDERS)
def test_of_several_defects_the_record_says_which_ended_a_set(order: list[int]) -> None:
    """All members end by the same one, which is the one that a replay comes to."""

    def on_all(tasks: Sequence[Any], given: Bare) -> Steps[tuple[Conclusion, ...]]:
        yield from policy(TWO_DEFECTS)
        return ()

    together: Together[Bare] = Together(solve=on_all, part=lambda trace, _: trace, size=lambda _: 2)

    def of(journal: dict[str, Event]) -> SetWork:
        one = work_on((), {})
        member = replace(one, policy=replace(one.policy, together=together))
        return SetWork("s/laws/x/0", (member, member), member.opened, dict(journal))

    work, world = of({}), Paced(order, chancy=True)
    ended = asyncio.run(released(conclude_set(work, work.run(MemoryRecorder(), world)), world))
    again = of(work.journal)
    assert replayed(conclude_set(again, again.run(None, None))) == ended
    assert {each.ended_by.partition(" (")[0] for each in ended} <= {
        "error: Defect: first",
        "error: Defect: second",
    }


@given(ORDERS)
def test_of_several_defects_the_record_says_which_ended_learning(order: list[int]) -> None:
    class Broken:
        def steps(self, scope: object, closed: BatchClosed) -> Steps[None]:
            yield from policy(TWO_DEFECTS)

    scope: Any = SimpleNamespace(
        id="laws", profile="service", memory=SimpleNamespace(versions={0: MEMORY}, changing=None)
    )
    broken: Any = Broken()
    closed = BatchClosed(
        scope="laws", batch=1, series="x", members=(), outcomes=(), previous=0, policy="law",
        policy_version="1", settings="", limits=Limits(), rule="law@1", seed=7,
    )  # fmt: skip
    journal: dict[str, Event] = {}
    world = Paced(order, chancy=True)
    working = learn(scope, closed, broken, MemoryRecorder(), world, journal)
    ended = asyncio.run(released(working, world))
    again = replayed(learn(scope, closed, broken, None, None, dict(journal)))
    assert (ended.ended_by, ended.status) == (again.ended_by, "failed")


@given(PROGRAMS, ORDERS, ORDERS, st.integers(0, 30))
@settings(max_examples=80)
def test_an_episode_that_is_still_open_replays_every_record_up_to_its_end(
    program: Program, order: list[int], other: list[int], stop: int
) -> None:
    _, record = finished(program, Paced(order))
    assume(stop < len(record.records))
    log = MemoryRecorder(stop_after=stop)
    live(program, log, {}, Paced(other))
    run = Run(EPISODE, log.journal(EPISODE), 7, MEMORY)
    with pytest.raises(Exhausted):
        replayed(drive(policy(program), run, Ledger()))
    assert run.visited == log.journal(EPISODE).keys()


@given(st.sampled_from([KeyError("x"), IndexError("x"), LookupError("x"), ValueError("x")]))
def test_a_defect_of_any_type_is_an_outcome(defect: Exception) -> None:
    def solve(task: Task, given: Bare) -> Steps[Conclusion]:
        yield Voted(answer="x", votes=1, of=1)
        raise defect

    work = work_on((), {})
    work = replace(work, policy=replace(work.policy, solve=solve))
    ended, _ = asyncio.run(conclude(work, work.run(MemoryRecorder(), Paced())))
    assert ended.ended_by.startswith(f"error: {type(defect).__name__}")


def test_a_memory_item_that_is_gone_is_no_outcome() -> None:
    """The episode names what its version does not hold: it waits for a person, and is not failed."""
    work = work_on((Look(2),), {})
    asyncio.run(conclude_live(work, Paced()))
    again = replace(work, memory=Memory("laws", 1), journal=dict(work.journal))
    with pytest.raises((ReplayError, LookupError)):
        replayed(conclude(again, again.run(None, None)))
