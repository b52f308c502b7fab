"""A follower asks less often where much comes, and at once where little does, or where it is behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streams.runtime.kafka.append import Appender
from streams.runtime.kafka.follow import FEW, MUCH, PAUSE_S, Follower
from streams.runtime.kafka.place import KafkaAddress
from tests.memory_kafka.broker import Broker
from tests.memory_kafka.fixture import in_memory


def test_a_follower_waits_for_company_where_much_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    sleep = asyncio.sleep

    async def recorded(delay: float, result: Any = None) -> Any:
        slept.append(delay)
        return await sleep(0 if delay == PAUSE_S else delay, result)

    async def run(place: KafkaAddress, broker: Broker) -> None:
        appender = Appender(place)
        await appender.start()
        lane, taken = appender.lane(place.topic("events"), 0), list[Any]()

        def take(topic: str, partition: int, record: Any) -> None:
            taken.append(record)

        follower = Follower(place, take)
        follower.add([(place.topic("events"), 0)])
        await follower.start()
        monkeypatch.setattr("streams.runtime.kafka.follow.asyncio.sleep", recorded)
        for much in (1, FEW, FEW + 1, 40, MUCH):
            slept.clear()
            taken.clear()
            for _ in range(much):
                lane.add(b"k", b"stated", [])
            await lane.commit()
            await follower.until(lambda: len(taken) == much)  # noqa: B023 - it is over before the next
            await sleep(0.01)
            assert (PAUSE_S in slept) == (FEW < much < MUCH), (much, slept)
        await follower.stop()
        await appender.stop()

    with in_memory(1) as here:
        asyncio.run(run(*here))
