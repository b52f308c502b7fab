"""How a worker's appends stand, for whoever watches it."""

from __future__ import annotations

import asyncio
import time

import pytest

from streams.runtime.kafka import append
from streams.runtime.kafka.append import LINGER_S, Appender
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.sending import Filled
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
        first = lanes[0].commit()
        after_s = time.monotonic()
        await asyncio.sleep(0.05)  # it is on its way
        lanes[0].add(b"k", b"second", [])
        second = lanes[0].commit()
        lanes[1].add(b"k", b"third", [])
        standing = appender.standing
        assert standing.waiting == 2, "nobody waits for the third"
        assert standing.since_s is not None
        assert before_s <= standing.since_s <= after_s
        assert standing.appended_s is None

        broker.thaw()
        await first
        assert (await second, appender.standing.waiting, appender.standing.since_s) == (1, 0, None)
        standing = appender.standing
        assert standing.appended_s is not None
        assert standing.appended_s > after_s
        await appender.stop()
        assert (appender.standing.waiting, appender.standing.since_s) == (0, None)

    with in_memory(2) as here:
        asyncio.run(run(*here))


def test_what_was_stated_under_a_lost_claim_is_never_sent() -> None:
    async def run(place: KafkaAddress, broker: Broker) -> None:
        appender = Appender(place)
        await appender.start()
        lane = appender.lane(place.topic("events"), 0)
        lane.add(b"k", b"counts nowhere", [])
        lane.forget()
        lane.add(b"k", b"counts", [])
        done = lane.commit()
        lane.forget()  # somebody waits for these
        assert await done == 0
        await appender.stop()
        assert [each.value for each in broker.logs[place.topic("events"), 0]] == [b"counts"]

    with in_memory(2) as here:
        asyncio.run(run(*here))


def test_a_batch_waits_for_those_who_waited_for_the_last_and_for_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that two workers with half the load each do not send twice the batches of one."""
    sizes: list[int] = []

    async def run(place: KafkaAddress, broker: Broker) -> None:
        appender = Appender(place)
        await appender.start()
        lane, send = appender.lane(place.topic("events"), 0), appender.sessions.send

        async def counted(filled: Filled, topic: str, partition: int) -> int:
            offset = await send(filled, topic, partition)
            sizes.append(filled.records)
            return offset

        async def step(after_s: float) -> None:
            await asyncio.sleep(after_s)
            lane.add(b"k", b"stated", [])
            await lane.commit()

        async def twice(after_s: float) -> None:
            await step(0)
            await step(after_s)

        appender.sessions.send = counted  # type: ignore[method-assign]
        late = [LINGER_S / 4 * (number > 2) for number in range(10)]
        await asyncio.gather(*map(twice, late))
        assert sizes == [10, 10]
        # Half of them are enough, and whoever was alone waits for nobody.
        monkeypatch.setattr(append, "LINGER_S", 3_600.0)
        async with asyncio.timeout(60):
            await asyncio.gather(*(step(0) for _ in range(5)))
            await asyncio.gather(*(step(0) for _ in range(3)))
            await asyncio.gather(step(0), step(0))
            await step(0)
            await step(0)
        await appender.stop()

    with in_memory(1) as here:
        asyncio.run(run(*here))
