"""Answers are graded anew while versions are made anew for a problem that was forgotten: at any moment of that."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import closing, suppress
from pathlib import Path

import pytest

from handlers.answers.grade import Grade
from schemas.outcome import Outcome
from schemas.problem import Limits
from streams.engine.policies import find
from streams.engine.regraded import learned_with
from streams.replay.lineage import command
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import ClosedAgain, SqliteLog
from streams.runtime.embedded.records import learned
from streams.runtime.embedded.regrading import Regrading
from streams.runtime.embedded.worker import Worker
from streams.runtime.embedded.writer import Writer
from tests.crash.series import Counted, produced

FORGOTTEN = "n902"
TURNED: dict[Outcome, Outcome] = {"right": "wrong", "wrong": "right"}
PLACES = 40


def work(log: SqliteLog) -> None:
    asyncio.run(Worker(log, Counted(), find).run(until_idle=True, settle=True))


def killed_at(log: SqliteLog, place: int) -> bool:
    """Have a worker make versions anew until it is killed; whether it was."""
    flush, seen = Writer.flush, 0

    def flushed(writer: Writer) -> None:
        nonlocal seen
        seen += any(row[3].startswith("b/") for row in writer.rows)
        flush(writer)
        if seen == place:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Writer, "flush", flushed)
        work(log)
    return seen >= place


def regraded(log: SqliteLog) -> None:
    """Every answer is graded as the opposite of what it was."""
    done = Regrading(log, find)
    for put in done.answers():
        was = done.learner.grades.outcome(put.episode)
        done.grade(put, Grade(outcome=TURNED[was], grader="mine@1+0", detail=""))

    async def both() -> None:
        await done.write("regrade:1")
        await done.close_again("regrade:1")

    asyncio.run(both())


def test_what_was_learned_follows_or_it_is_refused(tmp_path: Path) -> None:
    base, refused, place = tmp_path / "base.db", 0, 0
    produced(base, "game24:901-906", values={"max_rounds": 2, "batch_size": 3})
    with closing(SqliteLog(base)) as log:
        work(log)
        (name,) = learned(log, find).scopes
        log.publish(commands=[command(name, "game24", FORGOTTEN, Limits(), None, None)])
    for place in range(1, PLACES):
        with closing(SqliteLog(Path(shutil.copy(base, tmp_path / f"{place}.db")))) as log:
            if not killed_at(log, place):
                break
            try:
                regraded(log)
            except ClosedAgain:
                refused += 1
                work(log)
                regraded(log)
            work(log)
            learner = learned(log, find)
            found = learned_with(learner.scopes[name])
            was = {member: outcome for member, (_, outcome) in found.items()}
            assert was == {member: learner.grades.outcome(member) for member in was}, place
            assert not learner.scopes[name].memory.forgetting.owed
            assert not Verifier(log, find).run().diverged
    assert refused > 1
    assert place > refused + 1
