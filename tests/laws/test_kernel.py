"""Laws of the kernel: a record is never contradicted, whenever a run crashes and whatever the order."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from schemas.asking import Diverged, Exhausted, ReplayError
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import Forked
from schemas.events.reasoning import Voted
from schemas.identity import address_order
from schemas.problem import Limits
from state.journal import Crashed, MemoryRecorder
from streams.runtime.embedded.log import SqliteLog
from tests.fragile import Dying
from tests.laws.programs import (
    CALLS,
    ORDERS,
    PROGRAMS,
    Program,
)
from tests.laws.worlds import EPISODE, Ended, Paced, finished, live, replay


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
    first, record = finished(program, Paced(one), Limits(calls=calls))
    second, again = finished(program, Paced(other), Limits(calls=calls))
    assert outcome(first) == outcome(second)
    assert record.journal(EPISODE) == again.journal(EPISODE)
    assert record.repeated == again.repeated == 0
    assert first.ledger == second.ledger


@given(PROGRAMS, ORDERS, CALLS)
@settings(max_examples=120)
def test_a_replay_without_an_event_loop_equals_the_live_run(
    program: Program, order: list[int], calls: int | None
) -> None:
    ran, record = finished(program, Paced(order, chancy=True), Limits(calls=calls))
    again = replay(program, record.journal(EPISODE), Limits(calls=calls))
    assert outcome(again) == outcome(ran)
    assert again.journal == record.journal(EPISODE)
    assert again.ledger == ran.ledger


# -- a crash after any record -----------------------------------------------------------------------


@given(PROGRAMS, ORDERS, ORDERS, CALLS)
@settings(max_examples=40)
def test_a_crash_after_any_record_resumes_to_the_same_journal(
    program: Program, before: list[int], after: list[int], calls: int | None
) -> None:
    whole, record = finished(program, Paced(), Limits(calls=calls))
    for stop in range(len(record.records)):
        log = MemoryRecorder(stop_after=stop)
        fallen = live(program, log, {}, Paced(before), Limits(calls=calls))
        assert isinstance(fallen.error, Crashed)
        left = log.journal(EPISODE)
        assert len(left) == stop
        log.stop_after = None
        world = Paced(after)
        resumed = live(program, log, left, world, Limits(calls=calls))
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
        live(program, log, log.journal(EPISODE), world, Limits(calls=calls))
        assert kept.items() <= log.records.items()
        assert not world.asked.keys() & answered({at: e for (_, at), (_, e) in kept.items()})
    log.stop_after = None
    ended = live(program, log, log.journal(EPISODE), world, Limits(calls=calls))
    assert not isinstance(ended.error, ReplayError)
    again = replay(program, log.journal(EPISODE), Limits(calls=calls))
    assert outcome(again) == outcome(ended)
    assert log.repeated == 0


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
    whole, record = finished(program, Paced(), Limits(calls=calls))
    log = SqliteLog(":memory:", create=True)
    try:
        for left in lives:
            kept = journal_of(log)
            world = Paced(order)
            live(program, sqlite_writer(log, left), kept, world, Limits(calls=calls))
            assert not world.asked.keys() & answered(kept)
            assert kept.items() <= journal_of(log).items()
        writer = sqlite_writer(log)
        ended = live(program, writer, journal_of(log), Paced(order), Limits(calls=calls))
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
    assert (error.now, error.question) == (digests[part + 1][:-1], ended.world.questions[at])


@given(PROGRAMS, ORDERS, st.data())
@settings(max_examples=120)
def test_another_kind_of_question_diverges_as_a_whole(
    program: Program, order: list[int], data: st.DataObject
) -> None:
    """Another word before the same parts, a part more or one less: no part of it is what changed."""
    ended, record = finished(program, Paced(order))
    assume(ended.world.questions)
    journal = record.journal(EPISODE)
    at = data.draw(st.sampled_from(sorted(ended.world.questions)))
    said = journal[at]
    assert isinstance(said, AnswerEvent)
    word, *parts = said.asked.split(" ")
    others = ([f"{word}d", *parts], [word, *parts, "-"], [word, *parts[:-1]])
    asked = " ".join(data.draw(st.sampled_from(others)))
    journal[at] = structs.replace(said, asked=asked)
    error = replay(program, journal).error
    assert isinstance(error, Diverged)
    assert (error.address, error.part) == (at, "question")
    assert (error.recorded, error.now) == (asked, said.asked)


@given(PROGRAMS, ORDERS, st.data())
@settings(max_examples=120)
def test_a_fact_where_an_answer_should_stand_diverges_by_its_kind(
    program: Program, order: list[int], data: st.DataObject
) -> None:
    ended, record = finished(program, Paced(order))
    assume(ended.world.questions)
    journal = record.journal(EPISODE)
    at = data.draw(st.sampled_from(sorted(ended.world.questions)))
    journal[at] = Voted(answer="x", votes=1, of=1)
    error = replay(program, journal).error
    assert isinstance(error, Diverged)
    assert (error.address, error.part, error.recorded) == (at, "kind of record", "voted")
    assert error.now == type(ended.world.questions[at]).__name__


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
