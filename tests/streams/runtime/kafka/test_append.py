"""How a worker's appends stand, for whoever watches it."""

from __future__ import annotations

import asyncio
import time

from streams.runtime.kafka.append import Appender
from streams.runtime.kafka.place import KafkaAddress
from tests.memory_kafka.broker import Broker
from tests.memory_kafka.fixture import in_memory


def test_what_waits_is_told_with_its_age() -> None:
    async def run(place: KafkaAddress, broker: Broker) -> None:
        appender = Appender(place)
        await appender.start()
        lanes = [appender.lane(place.topic("events"), each) for each in range(2)]
        assert appender.standing.waiting == 0
        assert appender.standing.since_s is None
        assert appender.standing.appended_s is None

        broker.freeze()
        before_s = time.monotonic()
        lanes[0].add(b"k", b"first", [])
        after_s = time.monotonic()
        first = lanes[0].commit()
        await asyncio.sleep(0.05)  # it is on its way
        lanes[0].add(b"k", b"second", [])
        lanes[1].add(b"k", b"third", [])
        standing = appender.standing
        assert standing.waiting == 3
        assert standing.since_s is not None
        assert before_s <= standing.since_s <= after_s
        assert standing.appended_s is None

        broker.thaw()
        await first
        standing = appender.standing
        assert standing.waiting == 2
        assert standing.since_s is not None
        assert standing.since_s > after_s
        assert standing.appended_s is not None
        assert standing.appended_s > after_s
        await appender.stop()
        assert (appender.standing.waiting, appender.standing.since_s) == (0, None)

    with in_memory(2) as here:
        asyncio.run(run(*here))
