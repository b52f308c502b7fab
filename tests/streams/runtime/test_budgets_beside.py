"""A tenant has one budget, whoever spends it on a log in one file: a worker that runs, and solves beside it."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

from schemas.budget import Budget
from schemas.events.episode import Completed
from schemas.problem import Problem
from state.folds.budgets import DAY_MS
from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.answering.budgets import Budgets, OutOfBudget
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.engine.policies import find
from streams.runtime.embedded.intake import episode_of
from streams.runtime.embedded.log import SqliteLog, now_ms
from streams.runtime.embedded.solving import solve_on
from streams.runtime.embedded.worker import Worker


class Slow(Rehearsal):
    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0.02)
        return await super().complete(request)


def world_of(calls: int) -> World:
    made = World({"*": Slow()}, HashedEmbedder())
    made.budgets = Budgets({"ann": Budget(calls=calls)}, now_ms)
    return made


def problem(number: int, policy: str = "cot") -> Problem:
    return Problem(
        id=f"ann.{number}",
        problem=f"{number} 6 8 13",
        domain="game24",
        policy=policy,
        tenant="ann",
        memory="ann",
    )


def calls(log: SqliteLog) -> int:
    return sum(isinstance(each.event, Completed) for each in log.records("events"))


def test_a_worker_hears_of_what_solves_spend(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    async def run() -> Counter[str]:
        with closing(SqliteLog(path, create=True)) as log, closing(SqliteLog(path)) as other:
            worker = Worker(log, world_of(4), find)
            running = asyncio.create_task(worker.run())
            await asyncio.sleep(0.2)
            for number in range(3):
                await solve_on(other, find("cot"), problem(number), world_of(4))
            for number in range(3, 6):
                body = problem(number).model_dump_json().encode()
                other.publish([("problems", episode_of(problem(number), "cot"), {}, body)])
            for _ in range(500):
                if len(worker.schedule.unpaid) == 2:
                    break
                await asyncio.sleep(0.01)
            worker.drain()
            await running
            return Counter(calls=calls(other), waiting=len(worker.schedule.unpaid))

    assert asyncio.run(run()) == {"calls": 4, "waiting": 2}


def test_solves_hear_of_each_other_while_they_work(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    async def one(number: int) -> None:
        with closing(SqliteLog(path)) as log, suppress(OutOfBudget):
            policy = find("self_refine")
            await solve_on(log, policy, problem(number, "self_refine"), world_of(4))

    async def run() -> None:
        await asyncio.gather(*map(one, range(3)))

    with closing(SqliteLog(path, create=True)) as log:
        asyncio.run(run())
        # What is in flight when the last call is spent is not known to the others yet: one call each at most.
        assert calls(log) <= 4 + 2


def test_a_clock_that_was_a_day_ahead_at_the_start_gives_nobody_a_second_budget(
    tmp_path: Path,
) -> None:
    """It is set right while the worker runs: of the day that it is then the worker had read nothing."""
    path, looks = tmp_path / "a.db", list[int]()

    def ahead() -> int:
        looks.append(now_ms())
        return looks[-1] + (DAY_MS if len(looks) == 1 else 0)

    async def run() -> None:
        with closing(SqliteLog(path, create=True)) as log:
            for number in range(4):
                await solve_on(log, find("cot"), problem(number), world_of(4))
            body = problem(5).model_dump_json().encode()
            log.publish([("problems", episode_of(problem(5), "cot"), {}, body)])
        with closing(SqliteLog(path)) as log:
            world = world_of(4)
            world.budgets = Budgets({"ann": Budget(calls=4)}, ahead)
            ended = await Worker(log, world, find).run(until_idle=True)
            assert (calls(log), len(ended.unpaid)) == (4, 1)

    asyncio.run(run())
    assert len(looks) > 1
