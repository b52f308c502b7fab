"""Laws of a group: whoever joins and leaves while problems are worked on, the log means the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine.progress import Outcome
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.worker import KafkaWorker
from tests.contracts.runtimes import PARTITIONS, SESSION_MS, Life, in_one_process
from tests.memory_kafka.fixture import GLANCES, in_memory
from tests.memory_kafka.unsure import FATES, Fate, unsure_of
from tests.pupil import SIZE, Numbers, find, meant, problems, publication

Act: TypeAlias = Literal["joins", "drains", "again", "waits"]
"""A worker joins, or the one that is there longest ends; every problem is put again; nothing happens for a while."""
ACTS: tuple[Act, ...] = "joins", "drains", "again", "waits"
MOST, BEAT_S, WHILE_S = 3, 0.05, 0.1
"""Workers at a time; how often the broker in memory, which has no heartbeats, is taken to have granted them one; and
how long nothing happens.
"""


class Workers:
    """The workers of one group, in one loop."""

    def __init__(self, place: KafkaAddress) -> None:
        self.place, self.names = place, count()
        self.running: list[tuple[KafkaWorker, asyncio.Task[Outcome]]] = []

    def joins(self, *, until_idle: bool = False) -> None:
        """One more."""
        model = Numbers(cycle((0, 2, 1)))
        worker = KafkaWorker(
            self.place,
            PARTITIONS,
            World({"*": model}, HashedEmbedder(16)),
            find,
            name=f"w{next(self.names)}",
            default_policy="pupil",
            session_ms=SESSION_MS,
        )
        self.running.append((worker, asyncio.create_task(worker.run(until_idle=until_idle))))

    async def drains(self) -> None:
        """One less, if there is one."""
        if self.running:
            worker, task = self.running.pop(0)
            worker.drain()
            await task

    async def beat(self) -> None:
        """Grant heartbeats."""
        while True:
            for worker, _ in self.running:
                worker.lease.renew(time.monotonic())
            await asyncio.sleep(BEAT_S)


async def lived(place: KafkaAddress, log: KafkaLog, acts: Sequence[Act], last: int) -> None:
    """What happens, and so many workers at a time to the end."""
    group, (asked, _) = Workers(place), publication(problems())
    beating = asyncio.create_task(group.beat())
    for number, act in enumerate(acts):
        match act:
            case "joins" if len(group.running) < MOST:
                group.joins()
            case "drains":
                await group.drains()
            case "again":
                messages = [(topic, f"{number} {k}", said, body) for topic, k, said, body in asked]
                await asyncio.to_thread(log.publish, messages)
            case _:
                await asyncio.sleep(WHILE_S)
    while group.running:
        await group.drains()
    for _ in range(last):
        group.joins(until_idle=True)
    found = await asyncio.gather(*(task for _, task in group.running))
    beating.cancel()
    assert found == [Outcome()] * last


@pytest.fixture(scope="module")
def calm() -> tuple[str, str]:
    """What the problems come to in one process."""
    with in_one_process() as runtime:
        runtime.log().publish(*publication(problems()))
        assert runtime.live(Life()) == Outcome()
        return meant(runtime.log())


@example(["joins", "waits", "joins", "drains", "joins", "again", "drains"], [], 2)
@given(
    st.lists(st.sampled_from(ACTS), min_size=1, max_size=8),
    st.just([]) | st.lists(st.sampled_from(FATES), min_size=1, max_size=6),
    st.integers(1, 2),
)
@settings(max_examples=12)
@pytest.mark.timeout(240)
def test_the_log_means_the_same_whoever_joins_and_leaves(
    calm: tuple[str, str], acts: list[Act], fates: list[Fate], last: int
) -> None:
    with (
        TemporaryDirectory() as folder,
        in_memory(PARTITIONS, glances=GLANCES) as (place, _),
        closing(KafkaLog(place, Path(folder))) as log,
        unsure_of(fates) if fates else nullcontext(),
    ):
        log.publish(*publication(problems()))
        asyncio.run(lived(place, log, acts, last))
        log.refresh()
        assert meant(log) == calm
        assert len({key for _, key, _, _ in log.messages("answers")}) == SIZE
        assert log.counter("repeated") == 0
