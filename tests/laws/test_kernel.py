"""Laws of the kernel: a record is never contradicted, whenever a run crashes and whatever the order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from handlers.limits import Ledger
from handlers.policies.base import Conclusion, Policy, Task
from schemas.asking import Diverged, Exhausted, ReplayError, Steps
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import Completed, Forked, LimitReached, ProblemAdmitted
from schemas.events.reasoning import Voted
from schemas.identity import address_order, text_digest
from schemas.memory import Memory
from schemas.problem import Limits, Problem
from schemas.settings import PolicySettings
from state.journal import Crashed, MemoryRecorder
from streams.drive import Run, drive, replayed
from streams.episodes import Work, conclude, opening
from streams.runtime.embedded.log import SqliteLog, Writer
from tests.laws.programs import Break, Defect, Fan, Look, Program, Say, policy, programs
from tests.laws.worlds import EPISODE, MEMORY, Ended, Paced, finished, live, replay

PROGRAMS = programs(least=2)
ORDERS = st.lists(st.integers(0, 1 << 12), min_size=1, max_size=12)
CALLS = st.none() | st.integers(1, 8)


def limits(calls: int | None) -> Limits:
    return Limits(calls=calls)


def outcome(ended: Ended) -> tuple[str | None, str]:
    """What a run came to; an error as its type and text."""
    return ended.result, repr(ended.error)


def answered(journal: dict[str, Event]) -> set[str]:
    return {
        at
        for at, said in journal.items()
        if isinstance(said, AnswerEvent) and said.kind != "forked"
    }


# -- any order of completion ------------------------------------------------------------------------


@given(PROGRAMS, ORDERS, ORDERS, CALLS)
@settings(max_examples=120)
def test_any_completion_order_gives_the_same_journal(
    program: Program, one: list[int], other: list[int], calls: int | None
) -> None:
    first, record = finished(program, Paced(one), limits(calls))
    second, again = finished(program, Paced(other), limits(calls))
    assert outcome(first) == outcome(second)
    assert record.journal(EPISODE) == again.journal(EPISODE)
    assert record.repeated == again.repeated == 0
    assert first.ledger == second.ledger


@given(PROGRAMS, ORDERS, CALLS)
@settings(max_examples=120)
def test_a_replay_without_an_event_loop_equals_the_live_run(
    program: Program, order: list[int], calls: int | None
) -> None:
    ran, record = finished(program, Paced(order, chancy=True), limits(calls))
    again = replay(program, record.journal(EPISODE), limits(calls))
    assert outcome(again) == outcome(ran)
    assert again.journal == record.journal(EPISODE)
    assert again.ledger == ran.ledger


# -- a crash after any record -----------------------------------------------------------------------


@given(PROGRAMS, ORDERS, ORDERS, CALLS)
@settings(max_examples=40)
def test_a_crash_after_any_record_resumes_to_the_same_journal(
    program: Program, before: list[int], after: list[int], calls: int | None
) -> None:
    whole, record = finished(program, Paced(), limits(calls))
    for stop in range(len(record.records)):
        log = MemoryRecorder(stop_after=stop)
        fallen = live(program, log, {}, Paced(before), limits(calls))
        assert isinstance(fallen.error, Crashed)
        left = log.journal(EPISODE)
        assert len(left) == stop
        log.stop_after = None
        world = Paced(after)
        resumed = live(program, log, left, world, limits(calls))
        assert outcome(resumed) == outcome(whole)
        assert log.journal(EPISODE) == record.journal(EPISODE)
        assert not world.asked.keys() & answered(left), "a recorded answer was asked for again"
        assert max(world.asked.values(), default=1) == 1
        assert resumed.ledger == whole.ledger


@given(PROGRAMS, ORDERS, st.lists(st.integers(0, 12), min_size=1, max_size=4), CALLS)
@settings(max_examples=100)
def test_a_chancy_world_never_contradicts_the_record_however_often_it_crashes(
    program: Program, order: list[int], stops: list[int], calls: int | None
) -> None:
    log = MemoryRecorder()
    world = Paced(order, chancy=True)
    for more in stops:
        kept = dict(log.records)
        log.stop_after = len(log.records) + more
        world.asked.clear()
        live(program, log, log.journal(EPISODE), world, limits(calls))
        assert kept.items() <= log.records.items()
        assert not world.asked.keys() & answered({at: e for (_, at), (_, e) in kept.items()})
    log.stop_after = None
    ended = live(program, log, log.journal(EPISODE), world, limits(calls))
    assert not isinstance(ended.error, ReplayError)
    again = replay(program, log.journal(EPISODE), limits(calls))
    assert outcome(again) == outcome(ended)
    assert log.repeated == 0


class Dying(Writer):
    """A writer whose process dies at its n-th append; what was not yet committed is lost."""

    left = 1 << 30

    def state(self, topic: str, episode: str, address: str, event: Event) -> None:
        if self.left == 0:
            self.rows.clear()
            raise Crashed
        self.left -= 1
        super().state(topic, episode, address, event)

    def flush(self) -> None:
        if self.left == 0:
            self.rows.clear()
        super().flush()


def sqlite_writer(log: SqliteLog, left: int = 1 << 30) -> Dying:
    claimed = log.claim("law")
    writer = Dying(log, claimed.partition, claimed.epoch)
    writer.left = left
    return writer


def journal_of(log: SqliteLog) -> dict[str, Event]:
    return log.journal(EPISODE)


@given(PROGRAMS, ORDERS, st.lists(st.integers(1, 25), min_size=1, max_size=5), CALLS)
@settings(max_examples=60)
def test_a_crash_of_the_sqlite_log_loses_facts_at_most_and_they_are_restated(
    program: Program, order: list[int], lives: list[int], calls: int | None
) -> None:
    whole, record = finished(program, Paced(), limits(calls))
    log = SqliteLog(":memory:", create=True)
    try:
        for left in lives:
            kept = journal_of(log)
            world = Paced(order)
            live(program, sqlite_writer(log, left), kept, world, limits(calls))
            assert not world.asked.keys() & answered(kept)
            assert kept.items() <= journal_of(log).items()
        writer = sqlite_writer(log)
        ended = live(program, writer, journal_of(log), Paced(order), limits(calls))
        writer.flush()
        assert outcome(ended) == outcome(whole)
        assert journal_of(log) == record.journal(EPISODE)
        assert log.counter("repeated") == log.counter("stale") == 0
    finally:
        log.close()


@given(PROGRAMS, ORDERS)
def test_no_answer_is_acted_on_before_it_is_durable(program: Program, order: list[int]) -> None:
    """Each question is asked only when every answer before it in its lane can be read from the log."""
    log = SqliteLog(":memory:", create=True)

    class Watching(Paced):
        async def answer(
            self, run: Any, question: Any, asked: str, address: str, reserved: Any
        ) -> AnswerEvent:
            lane, _, turn = address.rpartition(".")
            prefix = f"{lane}." if lane else ""
            mine = {f"{prefix}{n}" for n in range(int(turn))}
            assert mine & answered(run.journal) <= journal_of(log).keys()
            return await super().answer(run, question, asked, address, reserved)

    try:
        ended = live(program, sqlite_writer(log), {}, Watching(order))
        assert ended.error is None
    finally:
        log.close()


# -- a changed policy, a closed world ---------------------------------------------------------------


@given(PROGRAMS, ORDERS, st.data())
@settings(max_examples=120)
def test_a_changed_question_diverges_at_its_address_and_names_the_part(
    program: Program, order: list[int], data: st.DataObject
) -> None:
    ended, record = finished(program, Paced(order))
    assume(ended.world.questions)
    journal = record.journal(EPISODE)
    at = data.draw(st.sampled_from(sorted(ended.world.questions)))
    names = [name for name, _ in ended.world.questions[at].parts()]
    part = data.draw(st.integers(0, len(names) - 1))
    said = journal[at]
    assert isinstance(said, AnswerEvent)
    digests = said.asked.split(" ")
    digests[part + 1] += "x"
    journal[at] = structs.replace(said, asked=" ".join(digests))
    error = replay(program, journal).error
    assert isinstance(error, Diverged)
    assert (error.address, error.part, error.recorded) == (at, names[part], digests[part + 1])


@given(PROGRAMS, ORDERS, st.data())
@settings(max_examples=120)
def test_a_changed_fact_or_arity_diverges_at_its_address(
    program: Program, order: list[int], data: st.DataObject
) -> None:
    journal = finished(program, Paced(order))[1].journal(EPISODE)
    stated = sorted(at for at, said in journal.items() if isinstance(said, Voted | Forked))
    assume(stated)
    at = data.draw(st.sampled_from(stated))
    said = journal[at]
    name = "votes" if isinstance(said, Voted) else "lanes"
    journal[at] = structs.replace(said, **{name: getattr(said, name) + 1})
    error = replay(program, journal).error
    assert isinstance(error, Diverged)
    assert (error.address, error.part) == (at, f"{said.kind}.{name}")


@given(PROGRAMS, ORDERS, st.data())
@settings(max_examples=120)
def test_a_closed_world_past_the_end_raises_exhausted_and_never_calls(
    program: Program, order: list[int], data: st.DataObject
) -> None:
    journal = finished(program, Paced(order))[1].journal(EPISODE)
    assume(journal)
    at = data.draw(st.sampled_from(sorted(journal)))
    del journal[at]
    error = replay(program, journal).error
    assert isinstance(error, Exhausted)
    assert error.address == at


@given(PROGRAMS, PROGRAMS, ORDERS)
@settings(max_examples=80)
def test_a_record_of_another_policy_never_passes(
    program: Program, other: Program, order: list[int]
) -> None:
    """Either the two say the same, or the replay raises; it never quietly goes its own way."""
    journal = finished(program, Paced(order))[1].journal(EPISODE)
    theirs = finished(other, Paced(order))[1].journal(EPISODE)
    again = replay(other, journal)
    if again.error is None:
        assert theirs.items() <= journal.items()
    else:
        assert isinstance(again.error, ReplayError)


# -- defects and spent allowances -------------------------------------------------------------------


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
    problem = Problem(id="x", problem="x", domain="laws", limits=limits(calls))
    admitted = ProblemAdmitted(problem=problem, scope="s", offset=1)
    opened = opening(made, text_digest("{}"), problem, MEMORY, "law")
    return Work(EPISODE, admitted, opened, made, Bare(), MEMORY, dict(journal))


async def conclude_live(work: Work, world: Paced) -> tuple[Conclusion, float]:
    task = asyncio.create_task(conclude(work, work.run(MemoryRecorder(), world)))
    while not task.done():
        await asyncio.sleep(0)
        world.release()
    return await task


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


# -- addresses --------------------------------------------------------------------------------------


@given(PROGRAMS, ORDERS)
def test_addresses_say_where_in_the_program_a_record_stands(
    program: Program, order: list[int]
) -> None:
    """Whatever stands at ``f.k.n`` lies in lane k of a fork recorded at ``f`` with more than k lanes."""
    journal = finished(program, Paced(order))[1].journal(EPISODE)
    for at in sorted(journal, key=address_order):
        parts = at.split(".")
        assert len(parts) % 2 == 1
        for depth in range(1, len(parts), 2):
            fork = journal[".".join(parts[:depth])]
            assert isinstance(fork, Forked)
            assert int(parts[depth]) < fork.lanes
