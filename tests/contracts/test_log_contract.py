"""What every log keeps, whoever writes it: one suite for records, texts and messages; then SQLite's own.

Kafka is a broker in memory here; on a real one the suite runs in ``tests/live/test_kafka_contract.py``.
"""

from __future__ import annotations

import asyncio
import io
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from schemas.events.base import Event
from schemas.events.codec import decode, encode
from schemas.events.learning import PositionVoided
from schemas.events.reasoning import Voted
from state.journal import Fenced, MemoryRecorder
from streams.cli.logs import cat
from streams.replay.digest import log_digest
from streams.runtime.embedded.imported import BadLine, import_jsonl
from streams.runtime.embedded.log import NoLog, NotALog, SqliteLog, Writer
from streams.runtime.embedded.tables import SCHEMA_VERSION
from tests.contracts.kafka_case import kafka_log
from tests.contracts.log_suite import (
    ADDRESSES,
    NAMES,
    SENT,
    STATED,
    TEXTS,
    Case,
    Kept,
    a_message_is_sent_once_by_its_key,
    a_text_is_kept_once_under_its_digest,
    the_first_record_of_an_address_wins,
)
from tests.laws.events import EVENTS
from tests.memory_kafka.fixture import in_memory


@contextmanager
def memory_case() -> Generator[Kept]:
    log = MemoryRecorder()
    yield Kept(log, log.journal, log.texts.get, lambda topic, key: log.messages.get((topic, key)))


@contextmanager
def sqlite_case() -> Generator[Kept]:
    log = SqliteLog(":memory:", create=True)

    def message(topic: str, key: str) -> bytes | None:
        return next((value for _, name, _, value in log.messages(topic) if name == key), None)

    with closing(log):
        yield Kept(log.claim("contract"), log.journal, log.text, message)


@contextmanager
def kafka_case() -> Generator[Kept]:
    with in_memory(1) as (place, _), kafka_log(place) as kept:
        yield kept


EVERY = pytest.mark.parametrize("case", [memory_case, sqlite_case, kafka_case])


def voted(votes: int) -> Voted:
    return Voted(answer="x", votes=votes, of=max(1, votes))


@EVERY
@given(STATED)
@settings(max_examples=40)
def test_the_first_record_of_an_address_wins_in_one_commit_and_across(
    case: Case, stated: list[tuple[str, str, Event, bool]]
) -> None:
    the_first_record_of_an_address_wins(case, stated)


@EVERY
@given(SENT)
@settings(max_examples=25)
def test_a_message_is_sent_once_by_its_key(case: Case, sent: list[tuple[str, bytes]]) -> None:
    a_message_is_sent_once_by_its_key(case, sent)


@EVERY
@given(TEXTS)
@settings(max_examples=25)
def test_a_text_is_kept_once_under_its_digest(case: Case, texts: list[str]) -> None:
    a_text_is_kept_once_under_its_digest(case, texts)


# -- SQLite: commits --------------------------------------------------------------------------------


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
    asyncio.run(asyncio.wait_for(_commit(writer), 1))
    assert writer.commits == 0


async def _commit(writer: Writer) -> None:
    await writer.commit()


def test_an_append_that_fails_leaves_nothing_of_its_turn(log: SqliteLog) -> None:
    """Records, messages and positions of one commit stand or fall together; all who wait are told."""
    writer = log.claim("w")

    async def run() -> None:
        writer.state("events", "p/d/a/0", "0", voted(1))
        writer.send("answers", "a", b"x")
        writer.advance("intake", "problems", object())  # type: ignore[arg-type]
        waiting = [writer.commit(), writer.commit()]
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(error, sqlite3.Error) for error in done)
        writer.state("events", "p/d/b/0", "0", voted(1))
        await writer.commit()

    asyncio.run(run())
    assert log.journal("p/d/a/0") == {}
    assert not log.has_message("answers", "a")
    assert log.position("intake", "problems") == 0
    assert log.journal("p/d/b/0") == {"0": voted(1)}
    assert not log.db.in_transaction


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


def test_a_claim_of_another_partition_disturbs_nobody(log: SqliteLog) -> None:
    worker = log.claim("worker")
    side = log.claim("solve", log.free_partition())
    assert side.partition == 1
    worker.state("events", "p/d/a/0", "0", voted(1))
    side.state("events", "p/d/b/0", "0", voted(1))
    worker.flush()
    side.flush()
    assert log.journal("p/d/a/0") == log.journal("p/d/b/0")
    assert log.free_partition() == 2


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


# -- SQLite: files ----------------------------------------------------------------------------------


def foreign(path: Path, version: int) -> bytes:
    """A file of another application."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table notes(text)")
        db.execute("insert into notes values ('mine')")
        db.execute(f"pragma user_version={version}")
        db.commit()
    return path.read_bytes()


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION, SCHEMA_VERSION + 1])
def test_the_file_of_another_application_is_refused_and_not_touched(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "notes.db"
    before = foreign(path, version)
    for create in (False, True):
        with pytest.raises(NotALog):
            SqliteLog(path, create=create)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes.db"]


def test_a_log_of_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    SqliteLog(path, create=True).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"pragma user_version={SCHEMA_VERSION + 1}")
    with pytest.raises(NotALog, match="format"):
        SqliteLog(path)


def test_a_text_file_and_a_folder_are_no_logs(tmp_path: Path) -> None:
    text = tmp_path / "m.txt"
    text.write_text("no log\n" * 200)
    for path in (text, tmp_path):
        with pytest.raises(NotALog):
            SqliteLog(path, create=True)
    assert text.read_text() == "no log\n" * 200


def test_only_who_may_makes_a_log(tmp_path: Path) -> None:
    with pytest.raises(NoLog):
        SqliteLog(tmp_path / "m.db")
    assert not list(tmp_path.iterdir())
    SqliteLog(tmp_path / "m.db", create=True).close()
    SqliteLog(tmp_path / "m.db").close()


def test_two_connections_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with closing(SqliteLog(path, create=True)) as one, closing(SqliteLog(path)) as other:
        before = other.data_version()
        one.publish([("t", "k", {"h": [1]}, b"\xff\x00")])
        assert other.data_version() != before
        assert list(other.messages("t")) == [(1, "k", {"h": [1]}, b"\xff\x00")]


# -- a log read back from what `log cat` writes -----------------------------------------------------


def written(log_path: Path, path: Path) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        cat(f"sqlite:{log_path}", topic=None, episode=None)
    path.write_text(out.getvalue(), encoding="utf-8")


@given(STATED, st.lists(st.binary(max_size=5), max_size=3))
@settings(max_examples=25)
def test_what_log_cat_writes_is_read_back_as_the_same_log(
    stated: list[tuple[str, str, Event, bool]], sent: list[bytes]
) -> None:
    with TemporaryDirectory() as folder:
        path, lines = Path(folder, "m.db"), Path(folder, "m.jsonl")
        with closing(SqliteLog(path, create=True)) as log:
            log.db.execute("pragma synchronous=off")
            writer = log.claim("w")
            for episode, address, event, _ in stated:
                writer.state("events", episode, address, event)
            for number, value in enumerate(sent):
                writer.send("answers", str(number), value, {"n": number})
            writer.flush()
            written(path, lines)
            with closing(import_jsonl(str(lines))) as again:
                assert log_digest(again) == log_digest(log)
                assert [_bytes(r) for r in again.records()] == [_bytes(r) for r in log.records()]
                assert list(again.messages("answers")) == list(log.messages("answers"))


def _bytes(record: Any) -> tuple[Any, ...]:
    return (record.offset, record.episode, record.address, record.at_ms, encode(record.event))


def test_a_line_that_is_none_of_a_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"no": "log"}\n')
    with pytest.raises(BadLine, match=r"m\.jsonl:1"):
        import_jsonl(str(path))


# -- the digest of what a log means -----------------------------------------------------------------


@given(st.lists(st.tuples(NAMES, ADDRESSES, EVENTS["completed"] | EVENTS["voted"]), max_size=8))
@settings(max_examples=25)
def test_the_digest_hangs_on_no_order_time_claim_or_latency(
    stated: list[tuple[str, str, Event]],
) -> None:
    unique = list({(episode, at): (episode, at, event) for episode, at, event in stated}.values())
    digests: set[str] = set()
    for rows, claims in ((unique, 1), (unique[::-1], 3)):
        with closing(SqliteLog(":memory:", create=True)) as log:
            writer = [log.claim("w") for _ in range(claims)][-1]
            for episode, address, event in rows:
                late = {"seconds": claims * 1.5, "attempts": claims, "cached_tokens": claims}
                said = structs.replace(event, **late) if event.kind == "completed" else event
                writer.state("events", episode, address, said)
                writer.flush()
            digests.add(log_digest(log))
    assert len(digests) == 1


@given(EVENTS["completed"], EVENTS["completed"])
def test_the_digest_hangs_on_every_text(one: Any, other: Any) -> None:
    digests: list[str] = []
    for event in (one, other):
        with closing(SqliteLog(":memory:", create=True)) as log:
            writer = log.claim("w")
            writer.state("events", "p/d/a/0", "0", event)
            writer.flush()
            digests.append(log_digest(log))
    assert (one.text, one.asked) == (other.text, other.asked) or digests[0] != digests[1]
