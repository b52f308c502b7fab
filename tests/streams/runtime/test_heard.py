"""What others state while a batch is about to be closed is heard before: the log reads as it was learned."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import ProblemAdmitted
from schemas.events.learning import KnowledgeRevised, LessonDistilled
from streams.engine.policies import find
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
