"""Refusals by a broker: told apart from its absence, and each the matter of one record."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka.errors import for_code  # type: ignore[import-untyped]

from streams.runtime.kafka import aio
from streams.runtime.kafka.append import Appender
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.refusals import RefusedByBroker, why_of
from tests.memory_kafka.broker import Broker
from tests.memory_kafka.fixture import in_memory

LIMIT = 10_000


@pytest.mark.parametrize(
    ("code", "why"),
    [
        *((10, "size"), (18, "size"), (87, "record"), (44, "record"), (29, "right"), (31, "right")),
        *((6, None), (7, None), (19, None), (56, None), (0, None)),
    ],
)
def test_a_code_is_a_refusal_or_none(code: int, why: str | None) -> None:
    assert why_of(for_code(code)()) == why


@pytest.mark.parametrize("error", [OSError(10, "no child"), ValueError("10"), TimeoutError()])
def test_what_no_broker_said_is_no_refusal(error: Exception) -> None:
    assert why_of(error) is None


def appended(broker: Broker, topic: str) -> list[bytes | None]:
    return [entry.value for entry in broker.logs[topic, 0]]


def test_of_many_records_only_what_is_too_large_is_left_out() -> None:
    async def run(place: KafkaAddress, broker: Broker) -> None:
        broker.takes = LIMIT
        appender, refused = Appender(place), list[RefusedByBroker]()
        await appender.start()
        lane = appender.lane(place.topic("events"), 0)
        values = [b"%d" % n * (LIMIT if n in (3, 7) else 100) for n in range(10)]
        for value in values:
            lane.add(b"k", value, [], refused.append)
        last = await lane.commit()
        assert appended(broker, lane.topic) == [v for v in values if len(v) < LIMIT]
        assert last == lane.last == 7
        assert [(each.why, each.records) for each in refused] == [("size", 1)] * 2
        assert all(each.size > LIMIT for each in refused)
        lane.add(b"k", b"next", [])
        assert await lane.commit() == 8
        assert appender.appended == 9
        await appender.stop()

    with in_memory(1) as here:
        asyncio.run(run(*here))


@pytest.mark.parametrize("forbidden", [False, True])
def test_a_refusal_of_which_nobody_is_told_breaks_the_lane_by_its_name(forbidden: bool) -> None:
    async def run(place: KafkaAddress, broker: Broker) -> None:
        broken = list[Exception]()
        appender = Appender(place, broken.append)
        await appender.start()
        lane = appender.lane(place.topic("events"), 0)
        broker.takes, broker.forbidden = LIMIT, {lane.topic} if forbidden else set()
        lane.add(
            b"k", b"x" * (10 if forbidden else LIMIT), [], broken.append if forbidden else None
        )
        with pytest.raises(RefusedByBroker, match="the broker refused"):
            await lane.commit()
        assert [type(each) for each in broken] == [RefusedByBroker]
        assert not isinstance(broken[0], aio.kafka_error())
        await appender.stop()

    with in_memory(1) as here:
        asyncio.run(run(*here))
