"""What others state while a batch is about to be closed is heard before: the log reads as it was learned."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import BatchClosed, KnowledgeRevised, LessonDistilled
from streams.engine.policies import find
from streams.interfaces.cli.doctor.adopting import voided
from streams.producing.produce import Plan, Producer
from streams.producing.sources import SourceLine, lines_of
from streams.producing.traces import taking
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from streams.runtime.embedded.writer import Writer
from tests.crash.series import Counted, produced

VALUES: dict[str, Any] = {"max_rounds": 2, "batch_size": 3}
SPOKEN = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]


def retire(log: SqliteLog) -> None:
    (scope, *_) = [
        each.event.scope
        for each in log.records("events", kinds=("problem.admitted",))
        if isinstance(each.event, ProblemAdmitted)
    ]
    lessons = [each.event for each in log.records("learning", kinds=("lesson.distilled",))]
    item = next((each.id for each in lessons if isinstance(each, LessonDistilled)), "L1")
    word = KnowledgeRevised(scope=scope, item=item, name=item, change="retired", by="ann")
    log.publish(commands=[(f"n/{scope}/-", "revised.1", word)])


def announce(log: SqliteLog) -> None:
    plan = Plan(source="game24:951-952", find=find, policy="mc2", values=VALUES)
    Producer(log, plan).run(lines_of("game24:951-952", None))


def take_in(log: SqliteLog) -> None:
    line = json.dumps({"id": "t", "messages": SPOKEN, "label": "right"}).encode()
    plan = taking.Plan(source="t", find=find, policy="mc2", domain="game24", values=VALUES)
    taking.Taker(log, plan).run([SourceLine(1, line)])


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("said", [retire, announce, take_in])
def test_what_comes_just_before_a_batch_is_closed_is_heard_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Callable[[SqliteLog], None], batch: int
) -> None:
    path = tmp_path / "a.db"
    produced(path, "game24:901-906", values=VALUES, timing="streaming")
    alone, looks = Writer.alone, 0

    @contextmanager
    def meanwhile(writer: Writer) -> Generator[bool]:
        nonlocal looks
        looks += 1
        if looks == batch:
            with closing(SqliteLog(path)) as other:
                said(other)
        with alone(writer) as is_alone:
            yield is_alone

    monkeypatch.setattr(Writer, "alone", meanwhile)
    with closing(SqliteLog(path)) as log:
        outcome = asyncio.run(Worker(log, Counted(), find).run(until_idle=True, settle=True))
        assert (outcome.held, outcome.parked) == ([], [])
        assert looks > batch
        assert Verifier(log, find).run().diverged == []


def is_always_busy(error: BaseException) -> bool:
    return True


@pytest.mark.parametrize("heard_first", [False, True], ids=["at once", "heard while it waits"])
def test_a_word_that_takes_an_episode_out_while_its_end_waits_for_the_log_stands_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard_first: bool
) -> None:
    path = tmp_path / "a.db"
    produced(path, "game24:901-906", values=VALUES)
    flush, said = Writer.flush, list[str]()

    def behind(writer: Writer) -> None:
        ends = [row[3] for row in writer.rows if row[4] == "reflected"]
        if ends and not said and not writer.log.db.in_transaction:
            said.append(ends[-1])
            with closing(SqliteLog(path)) as other:
                other.publish(commands=voided(other, ends[-1], "cancelled"))
            if heard_first:
                raise sqlite3.OperationalError("database is locked")
        flush(writer)

    monkeypatch.setattr(Writer, "flush", behind)
    monkeypatch.setattr("streams.runtime.embedded.writer.is_busy", is_always_busy)
    with closing(SqliteLog(path)) as log:
        outcome = asyncio.run(Worker(log, Counted(), find).run(until_idle=True, settle=True))
        assert (outcome.held, outcome.parked, len(said)) == ([], [], 1)
        first = next(iter(log.records("learning", kinds=("batch.closed",)))).event
        assert isinstance(first, BatchClosed)
        assert first.members[-1] == said[0], "it is late, and has no place of its own"
        assert Verifier(log, find).run().diverged == []


def test_while_another_process_holds_the_log_no_batch_is_closed(tmp_path: Path) -> None:
    with closing(SqliteLog(tmp_path / "a.db", create=True)) as log:
        writer = log.claim("worker")
        log.db.execute("pragma busy_timeout=10")
        with (
            closing(SqliteLog(tmp_path / "a.db")) as other,
            other.transaction(),
            writer.alone() as alone,
        ):
            assert not alone
