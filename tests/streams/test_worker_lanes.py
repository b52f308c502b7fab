"""Lanes of an episode that is stopped for now: what its siblings have in flight is still recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import Totals, World
from streams.core.backbone import ModelReply, ModelRequest, SetupBroken
from streams.engine.policies import find
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.crash.series import end_of, produced

REPLY = ModelReply(text="\\boxed{(4 + 10) + 10}", finish="stop", model="m", completion_tokens=9)
Meets = Callable[[int], None]


class Slow:
    """Replies take two turns of the loop or more; one of them meets something."""

    name, simulated = "slow", True

    def __init__(self, meets: Meets) -> None:
        self.meets, self.begun, self.answered = meets, 0, 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.begun += 1
        number = self.begun
        await asyncio.sleep(0)
        self.meets(number)
        await asyncio.sleep(0.02)
        self.answered += 1
        return REPLY

    async def close(self) -> None:
        pass


def nothing(_: int) -> None:
    pass


def refused(number: int) -> None:
    if number == 3:
        raise SetupBroken("auth", "http://there", "key refused")


def completions(log: SqliteLog) -> int:
    query = "select count(*) from records where kind = 'completed'"
    return int(log.db.execute(query).fetchone()[0])


def work(path: Path, backbone: Slow, totals: Totals | None = None) -> SqliteLog:
    log = SqliteLog(path)
    worker = Worker(log, World({"*": backbone}, HashedEmbedder(), totals=totals), find)
    with suppress(SetupBroken):
        asyncio.run(worker.run(until_idle=True, settle=True))
    return log


@pytest.mark.parametrize("case", ["refused", "a total is spent"])
def test_every_answer_that_came_is_on_record(tmp_path: Path, case: str) -> None:
    path = tmp_path / "a.db"
    produced(path, "game24:901-902", policy="self_consistency", values={})
    first = Slow(refused if case == "refused" else nothing)
    log = work(path, first, None if case == "refused" else Totals(calls=7))
    assert completions(log) == first.answered == (9 if case == "refused" else 7)
    assert len(end_of(log).answers) < 2
    log.close()

    second = Slow(nothing)
    log = work(path, second)
    assert second.answered == 10 - first.answered
    assert len(end_of(log).answers) == 2
    log.close()


def test_a_drain_waits_for_what_is_in_flight_in_every_lane(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    produced(path, "game24:901-903", policy="mc2", values={"max_rounds": 1, "batch_size": 3})
    answered = completed = 0
    for stop in range(1, 40, 3):
        log, workers = SqliteLog(path), list[Worker]()

        def meets(number: int, stop: int = stop, workers: list[Worker] = workers) -> None:
            if number == stop:
                workers[0].drain()

        backbone = Slow(meets)
        workers.append(Worker(log, World({"*": backbone}, HashedEmbedder()), find))
        asyncio.run(workers[0].run(until_idle=True, settle=True))
        answered += backbone.answered
        completed = completions(log)
        log.close()
        assert completed == answered, f"drained at call {stop}"
    assert completed > 12
