"""From a problem on its topic to its answer on its topic, with a backbone that takes no time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from schemas.identity import canonical
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.engine.policies import find
from streams.runtime.kafka import topics
from streams.runtime.kafka.follow import Follower
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.web import is_ready
from streams.runtime.kafka.worker import KafkaWorker

ASKED, WARM = 300, 30


class Instant:
    """Answers everything at once."""

    name = "instant"
    simulated = True

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The same reply to all."""
        return ModelReply(
            text="ANSWER: 24",
            finish="stop",
            model="instant",
            prompt_tokens=1,
            completion_tokens=1,
            seconds=0.0,
        )

    async def close(self) -> None:
        """Nothing is held."""


async def latencies(place: KafkaAddress) -> tuple[float, float]:
    """Milliseconds from a problem's append to its answer's arrival: the median and the 99th percentile."""
    fresh = KafkaAddress(place.servers, f"{place.prefix}.a", place.clients)
    await topics.create(fresh, 4)
    partitions = await topics.checked(fresh)
    worker = KafkaWorker(fresh, partitions, World({"*": Instant()}, HashedEmbedder()), find)
    running = asyncio.create_task(worker.run())
    came: dict[str, asyncio.Event] = {}

    def take(topic: str, partition: int, record: Any) -> None:
        name = (record.key or b"").decode().split("/")[2]
        came.setdefault(name, asyncio.Event()).set()

    try:
        answers = Follower(fresh, take)
        answers.add((fresh.topic("answers"), p) for p in range(partitions))
        await answers.start()
        # A worker that still reads its partitions would answer late, once, and not as from then on.
        while not is_ready(worker):
            worker.schedule.changed.clear()
            await worker.schedule.changed.wait()
        took: list[float] = []
        for number in range(ASKED + WARM):
            name = f"b{number}"
            waiting = came.setdefault(name, asyncio.Event())
            begun = time.perf_counter()
            lane = worker.appender.lane(fresh.topic("problems"), number % partitions)
            # A problem as a foreign client sends it: nothing of ours has prepared it.
            said = {"id": name, "problem": "1 2 3 4", "policy": "cot", "domain": "bench"}
            lane.add(name.encode(), canonical(said), [])
            await lane.commit()
            await waiting.wait()
            took.append((time.perf_counter() - begun) * 1000)
        await answers.stop()
        # The first ones wait for connections and for code that is loaded; no later problem does.
        took = sorted(took[WARM:])
        return took[len(took) // 2], took[int(len(took) * 0.99)]
    finally:
        worker.drain()
        await running
