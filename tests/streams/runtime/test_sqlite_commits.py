"""How the SQLite log commits: in groups, whole or not at all, and under one claim a partition."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from schemas.events.base import Event
from schemas.events.codec import decode
from schemas.events.learning import PositionVoided
from schemas.events.reasoning import Voted
from state.journal import Fenced
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.queries import counts
from streams.runtime.embedded.rows import AT_ONCE, INSERT, insert
from tests.contracts.log_suite import (
    STATED,
)


def voted(votes: int) -> Voted:
    return Voted(answer="x", votes=votes, of=max(1, votes))


@pytest.fixture
def log() -> Generator[SqliteLog]:
    with closing(SqliteLog(":memory:", create=True)) as made:
        yield made


def test_one_commit_serves_every_episode_of_a_turn_of_the_loop(log: SqliteLog) -> None:
    writer = log.claim("w")

    async def episode(number: int) -> None:
        for turn in range(3):
            writer.state("events", f"p/d/{number}/0", str(turn), voted(turn))
            await writer.commit()
            assert str(turn) in log.journal(f"p/d/{number}/0")

    async def all_of_them() -> None:
        await asyncio.gather(*(episode(number) for number in range(50)))

    asyncio.run(all_of_them())
    assert writer.commits == 3
    assert log.end() == 1 + 50 * 3


def test_what_is_stated_bears_its_own_time_also_where_another_asked_for_the_commit(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who moves a position alone states nothing, and the reply behind it bore the time of a fact long before."""
    writer, now = log.claim("w"), [1_000]
    monkeypatch.setattr("streams.runtime.embedded.writer.now_ms", lambda: now[0])

    async def run() -> None:
        writer.state("events", "p/d/a/0", "0", voted(1))
        await asyncio.sleep(0)
        now[0] += 900_000
        writer.advance("learner", "feedback", 1)
        moved = writer.commit()
        writer.state("events", "p/d/b/0", "0", voted(1))
        await asyncio.gather(moved, writer.commit())

    asyncio.run(run())
    times = [record.at_ms for record in log.records(kinds=("voted",))]
    assert times == [1_000, 901_000]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 150), max_size=3 * AT_ONCE + 2))
def test_many_records_are_inserted_as_one_by_one_the_first_of_an_address_counting(
    addresses: list[int],
) -> None:
    rows = [
        ("events", 0, 1, "p/e", str(address), "text", at, '{"text":"x"}')
        for at, address in enumerate(addresses)
    ]
    with (
        closing(SqliteLog(":memory:", create=True)) as one,
        closing(SqliteLog(":memory:", create=True)) as many,
    ):
        one.db.executemany(INSERT, rows)
        insert(many.db, rows)
        everything = "select * from records order by offset"
        assert many.db.execute(everything).fetchall() == one.db.execute(everything).fetchall()
        assert many.db.total_changes == one.db.total_changes


def test_what_is_only_stated_rides_in_the_next_commit_of_anyone(log: SqliteLog) -> None:
    writer = log.claim("w")

    async def run() -> None:
        writer.state("events", "p/d/a/0", "0", voted(1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert log.journal("p/d/a/0") == {}
        writer.state("events", "p/d/b/0", "0", voted(1))
        await writer.commit()
        assert log.journal("p/d/a/0") == {"0": voted(1)}

    asyncio.run(run())
    assert writer.commits == 1


def test_a_commit_with_nothing_to_say_is_done_at_once(log: SqliteLog) -> None:
    writer = log.claim("w")
    asyncio.run(asyncio.wait_for(_commit(writer), 30))
    assert writer.commits == 0


async def _commit(writer: Writer) -> None:
    await writer.commit()


def test_an_append_that_fails_leaves_nothing_of_its_turn_and_is_not_passed(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records, messages and positions of one commit stand or fall together; all who wait are told."""
    writer, moved, full = log.claim("w"), SqliteLog.commit_position, [True]

    def move(self: SqliteLog, *where: Any) -> None:
        if full[0]:
            raise sqlite3.OperationalError("database or disk is full")
        moved(self, *where)

    def there() -> tuple[Any, ...]:
        return (
            [*log.journal("p/d/a/0")],
            log.has_message("answers", "a"),
            log.position("intake", "problems"),
        )

    async def run() -> None:
        writer.state("events", "p/d/a/0", "0", voted(1))
        writer.send("answers", "a", b"x")
        writer.advance("intake", "problems", 7)
        done = await asyncio.gather(writer.commit(), writer.commit(), return_exceptions=True)
        assert all(isinstance(error, sqlite3.Error) for error in done)
        assert there() == ([], False, 0)
        writer.state("events", "p/d/a/0", "1", voted(2))
        with pytest.raises(sqlite3.OperationalError):
            await writer.commit()
        assert there() == ([], False, 0), "what would fit does not pass what does not"
        full[0] = False
        writer.state("events", "p/d/b/0", "0", voted(1))
        await writer.commit()

    monkeypatch.setattr(SqliteLog, "commit_position", move)
    asyncio.run(run())
    assert there() == (["0", "1"], True, 7)
    assert log.journal("p/d/b/0") == {"0": voted(1)}
    assert len(list(log.messages("answers"))) == 1
    assert not log.db.in_transaction


def test_what_is_stated_after_a_writer_was_alone_waits_for_whoever_asks(
    log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that nobody waits for would fail untold, and take along what it holds."""
    writer, fails = log.claim("w"), [False]
    flush = Writer.flush

    def flushed(self: Writer) -> None:
        if fails[0]:
            raise sqlite3.OperationalError("database or disk is full")
        flush(self)

    async def stated() -> None:
        with writer.alone() as alone:
            assert alone
            writer.state("events", "p/d/1/0", "1", voted(1))
        assert "1" in log.journal("p/d/1/0")
        writer.state("events", "p/d/1/0", "2", voted(2))
        fails[0] = True
        await asyncio.sleep(0)
        fails[0] = False
        writer.state("events", "p/d/1/0", "3", voted(3))
        await writer.commit()

    monkeypatch.setattr(Writer, "flush", flushed)
    asyncio.run(stated())
    assert list(log.journal("p/d/1/0")) == ["1", "2", "3"]


def test_a_cancelled_waiter_does_not_stop_the_commit_of_others(log: SqliteLog) -> None:
    writer = log.claim("w")

    async def run() -> None:
        writer.state("events", "p/d/a/0", "0", voted(1))
        cancelled, other = writer.commit(), writer.commit()
        cancelled.cancel()
        await other

    asyncio.run(run())
    assert log.journal("p/d/a/0") == {"0": voted(1)}


def test_a_transaction_is_rolled_back_on_error(log: SqliteLog) -> None:
    def halfway() -> None:
        with log.transaction():
            log.commit_position("c", "t", 5)
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        halfway()
    assert log.position("c", "t") == 0
    log.publish([("t", "k", {}, b"v")])
    assert log.has_message("t", "k")


def test_reading_on_costs_the_same_however_many_messages_wait(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(SqliteLog(path, create=True)) as log:
        log.db.execute("drop index messages_in_order")  # as earlier builds left it
    with closing(SqliteLog(path)) as log:
        log.claim("worker")
        asked: list[str] = []
        log.db.set_trace_callback(asked.append)
        list(log.messages("problems", 7, 64))
        log.db.set_trace_callback(None)
        plan = [step for *_, step in log.db.execute(f"explain query plan {asked[0]}")]
    assert plan == ["SEARCH messages USING INDEX messages_in_order (topic=? AND rowid>?)"]


def test_counting_what_came_since_a_look_costs_the_same_however_much_lies_before(
    log: SqliteLog,
) -> None:
    def look(before: int) -> int:
        """What SQLite does, in tens of its steps, to count five messages behind so many."""
        log.publish([("problems", f"{before}/{n}", {}, b"{}") for n in range(before)])
        last = counts.messages_by_topic(log)["problems"].last
        log.publish([("answers", f"{before}/{n}", {}, b"{}") for n in range(5)])
        done: list[None] = []
        log.db.set_progress_handler(lambda: done.append(None), 10)
        found = counts.messages_by_topic(log, last)
        log.db.set_progress_handler(None, 0)
        assert {topic: new.size for topic, new in found.items()} == {"answers": 5}
        return len(done)

    few = look(100)  # first, as the log only grows
    assert look(4_000) < 2 * few


def test_publish_counts_what_is_new_and_takes_a_command_once(log: SqliteLog) -> None:
    void = PositionVoided(scope="s", series="x", position=1, reason="refused")
    other = structs.replace(void, reason="another")
    say: list[tuple[str, str, dict[str, Any], bytes]] = [
        ("problems", "a", {}, b"1"),
        ("problems", "b", {}, b"2"),
        ("problems", "a", {}, b"3"),
    ]
    assert log.publish(say, [("n/s/x", "void.1", void)]) == 2
    assert log.publish(say, [("n/s/x", "void.1", other)]) == 0
    assert [value for *_, value in log.messages("problems")] == [b"1", b"2"]
    assert [record.event for record in log.records("learning")] == [void]
    assert [record.epoch for record in log.records("learning")] == [0]


def test_a_lost_claim_is_told_to_all_who_wait_and_only_counted(log: SqliteLog) -> None:
    first, completed = log.claim("first"), next(iter(_completions()))

    async def run() -> None:
        first.state("events", "p/d/a/0", "0", completed)
        first.state("events", "p/d/a/0", "1", voted(1))
        first.send("answers", "a", b"x")
        first.advance("intake", "problems", 9)
        log.claim("second")
        waiting = [first.commit(), first.commit()]
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(error, Fenced) for error in done)

    asyncio.run(run())
    assert first.fenced
    assert log.journal("p/d/a/0") == {}
    assert not log.has_message("answers", "a")
    assert (log.position("intake", "problems"), log.counter("stale")) == (0, 1)


def _completions() -> list[Event]:
    body = b'{"kind":"completed","asked":"x","text":"","finish":"stop","model":"m"}'
    return [decode("completed", body)]


def test_what_was_answered_waits_while_another_process_holds_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Longer than the loop is held up at once; it runs on meanwhile, and is told once."""
    with closing(SqliteLog(tmp_path / "a.db", create=True)) as log:
        writer = log.claim("w")
        with closing(SqliteLog(tmp_path / "a.db")) as other:
            turns = asyncio.run(_held_up(writer, other))
        assert turns > 2
        assert list(log.journal("p/d/a/0")) == ["0", "1"]
        said = [record.getMessage() for record in caplog.records]
        assert ["another process holds the log" in said[0], "again" in said[1]] == [True, True]
        assert len(said) == 2


async def _held_up(writer: Writer, other: SqliteLog) -> int:
    """Two answers while another holds the log for some seconds; turns of the loop meanwhile."""
    turns, end = 0, time.monotonic() + 2.5
    other.db.execute("begin immediate")
    writer.state("events", "p/d/a/0", "0", next(iter(_completions())))
    waiting = [writer.commit()]
    while time.monotonic() < end:
        await asyncio.sleep(0.05)
        turns += 1
    writer.state("events", "p/d/a/0", "1", voted(1))
    waiting.append(writer.commit())
    assert not any(each.done() for each in waiting)
    other.db.execute("rollback")
    await asyncio.gather(*waiting)
    return turns


def nobody(worker: str) -> bool:
    return False


def test_a_claim_of_another_partition_disturbs_nobody(log: SqliteLog) -> None:
    worker = log.claim("worker")
    side = log.claim_beside("solve", nobody)
    assert side.partition == 1
    worker.state("events", "p/d/a/0", "0", voted(1))
    side.state("events", "p/d/b/0", "0", voted(1))
    worker.flush()
    side.flush()
    assert log.journal("p/d/a/0") == log.journal("p/d/b/0")
    assert log.claims() == {0: "worker", 1: "solve"}


def test_a_partition_goes_to_the_next_once_it_is_given_back_or_its_owner_is_over(
    log: SqliteLog,
) -> None:
    one, other = log.claim_beside("one", nobody), log.claim_beside("other", nobody)
    assert (one.partition, other.partition) == (1, 2)
    assert log.claim_beside("third", lambda worker: worker == "other").partition == 2
    log.give_back(other)  # not its own any more
    assert log.claims() == {1: "one", 2: "third"}
    log.give_back(one)
    assert log.claim_beside("fourth", nobody).partition == 1
    one.state("events", "p/d/a/0", "0", voted(1))
    with pytest.raises(Fenced):
        one.flush()


@given(STATED)
@settings(max_examples=25)
def test_records_are_read_in_the_order_in_which_they_were_accepted(
    stated: list[tuple[str, str, Event, bool]],
) -> None:
    with closing(SqliteLog(":memory:", create=True)) as log:
        writer = log.claim("w")
        for episode, address, event, flush in stated:
            writer.state("events", episode, address, event)
            if flush:
                writer.flush()
        writer.flush()
        records = list(log.records("events", after=1))
        places = [(record.episode, record.address) for record in records]
        assert places == list(dict.fromkeys((episode, at) for episode, at, _, _ in stated))
        offsets = [record.offset for record in records]
        assert offsets == sorted(offsets)
        assert {record.epoch for record in records} <= {writer.epoch}
        for at, record in enumerate(records):
            assert list(log.records("events", after=record.offset)) == records[at + 1 :]
            kinds = [r for r in records if r.event.kind == record.event.kind]
            assert list(log.records(kinds=[record.event.kind], after=1)) == kinds
