"""No worker ends while what another learned is still on its way to whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.worker import KafkaWorker
from tests.memory_kafka.fixture import in_memory
from tests.pace import soon
from tests.pupil import Numbers, find, problems, publication


def another_owner(worker: KafkaWorker) -> None:
    """As if the owner of a partition had not read the last record that was learned, on whichever partition."""
    worker.view.checkpoints[0] = {**worker.view.checkpoints[0]}
    worker.view.checkpoints[0]["learning"] -= 1


def itself(worker: KafkaWorker) -> None:
    """As if the worker had not, which may own nothing and tells what is held by what it read."""
    at = max(range(2), key=worker.view.upto.__getitem__)
    worker.view.upto[at] -= 1


@pytest.mark.parametrize("behind", [another_owner, itself])
def test_nobody_is_idle_while_someone_has_not_read_what_was_learned(
    tmp_path: Path, behind: Callable[[KafkaWorker], None]
) -> None:
    with in_memory(2) as (place, _):
        with closing(KafkaLog(place, tmp_path)) as log:
            log.publish(*publication(problems()))
        world = World({"*": Numbers(iter(lambda: 0, 1))}, HashedEmbedder(16))
        worker = KafkaWorker(place, 2, world, find, default_policy="pupil")

        async def idle() -> bool:
            worker.idle.looked_s = 0.0
            return await worker.idle.reached(settle=False)

        async def run() -> None:
            running = asyncio.create_task(worker.run())
            async with asyncio.timeout(soon(20)):
                while not await idle():
                    worker.schedule.changed.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(worker.schedule.changed.wait(), 0.05)
            behind(worker)
            assert not await idle()
            worker.drain()
            await running

        asyncio.run(run())
