"""A foreign producer with transactions puts problems and feedback, and a worker works on them as on any others."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import Cluster, ended, missing

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(200),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
COUNT = 20


def test_a_worker_takes_what_a_transaction_put_and_is_idle_behind_its_end(
    node: tuple[str, Path], tmp_path: Path
) -> None:
    async def put(cluster: Cluster) -> None:
        place = KafkaAddress.of(cluster.url)
        await topics.create(place, 2)
        producer = aio.producer(place, transactional_id="foreign")
        await producer.start()
        async with producer.transaction():
            for n in range(COUNT):
                said = {
                    "id": f"q{n}",
                    "problem": f"What is {n} + 1?",
                    "policy": "cot",
                    "domain": "d",
                }
                value = json.dumps(said).encode()
                await producer.send_and_wait(cluster.topic("problems"), value, partition=n % 2)
            judged = {"domain": "d", "problem_id": "q0", "reference": 1, "by": "me"}
            value = json.dumps(judged).encode()
            await producer.send_and_wait(cluster.topic("feedback"), value, partition=0)
        await producer.stop()

    with closing(Cluster(node[0], "foreign", tmp_path)) as cluster:
        asyncio.run(put(cluster))
        work = ("--backbone", "rehearsal:seed=7,latency_ms=0", "--until-idle")
        for _ in range(2):
            assert ended(cluster.worker(*work), limit_s=60) == [0]
        assert cluster.stats()["answers"] == COUNT
