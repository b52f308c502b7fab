"""aiokafka's clients, imported when first needed. It has no types: what comes from it is ``Any``."""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import sha256
from importlib import import_module
from typing import Any, TypeVar

from streams.runtime.kafka import deadlines, lenient, parting
from streams.runtime.kafka.place import KafkaAddress

RETRY_S = 0.5
REPLACED_S = 12.0
"""So long a cluster may need to see that one of its brokers is gone."""
LIMITS = {"request_timeout_ms": deadlines.ANSWER_MS}
T = TypeVar("T")


def module(name: str = "") -> Any:
    """aiokafka, or one of its modules."""
    return import_module(f"aiokafka{name}")


def producer(place: KafkaAddress, **options: Any) -> Any:
    """A producer that is not started yet."""
    deadlines.install()
    parting.install()
    return module().AIOKafkaProducer(**place.connection(), **LIMITS, **options)


def consumer(place: KafkaAddress, **options: Any) -> Any:
    """A consumer without a group, that is not started yet."""
    options = {"enable_auto_commit": False, "auto_offset_reset": "earliest", **LIMITS, **options}
    deadlines.install()
    parting.install()
    lenient.install()
    return module().AIOKafkaConsumer(**place.connection(), **options)


def admin(place: KafkaAddress) -> Any:
    """An administrator's client that is not started yet."""
    deadlines.install()
    parting.install()
    return module(".admin").AIOKafkaAdminClient(**place.connection(), **LIMITS)


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do something with a broker that may be away for a while: again, until it is there.

    No attempt is cut short: a client that was stopped as it connected would leave its connection open.
    """
    while True:
        attempt = asyncio.ensure_future(work())
        try:
            return await asyncio.shield(attempt)
        except kafka_error():
            await asyncio.sleep(RETRY_S)
        except asyncio.CancelledError:
            await asyncio.gather(attempt, return_exceptions=True)
            raise


async def soon(work: Callable[[], Awaitable[T]]) -> T:
    """Ask a cluster that answers: one of its brokers may just have gone, and is asked by chance until others know."""
    end = time.monotonic() + REPLACED_S
    while True:
        try:
            return await work()
        except kafka_error() as error:
            if time.monotonic() > end or not getattr(error, "retriable", False):
                raise
        await asyncio.sleep(RETRY_S)


async def configs(
    admin: Any, names: Iterable[str], wanted: str | None = None
) -> dict[str, dict[str, str]]:
    """Settings of topics by name, or one of them; those that we may not ask for are left out."""
    resources = module(".admin.config_resource")
    kind = resources.ConfigResourceType.TOPIC
    keys = None if wanted is None else {wanted: None}
    asked = [resources.ConfigResource(kind, name, keys) for name in names]
    return {
        name: {entry[0]: str(entry[1]) for entry in entries}
        for response in (await admin.describe_configs(asked) if asked else ())
        for code, _, _, name, entries in response.resources
        if code == 0 and entries
    }


def take_back(producer: Any, topic: str, partition: int, records: int) -> None:
    """Number the next records of an idempotent producer as if these had not been sent: they were refused.

    aiokafka counts them, the broker does not, and would take what follows for out of order.
    """
    numbers = getattr(producer, "_txn_manager", None)
    if numbers is not None:
        numbers.increment_sequence_number(spot(topic, partition), -records)


async def record_at(consumer: Any, tp: Any, offset: int) -> Any:
    """The record at an offset of a partition, which has to lie before its end; nothing if it is gone."""
    return (await records_at(consumer, {tp: offset})).get(tp)


async def records_at(consumer: Any, places: Mapping[Any, int]) -> dict[Any, Any]:
    """The record at an offset of each partition, which has to lie before its end; those that are gone are left out."""
    # All at once: a client that is given other partitions one by one waits for its last question each time.
    consumer.assign(list(places))
    for tp, offset in places.items():
        consumer.seek(tp, offset)
    found = dict[Any, Any]()
    for tp, offset in places.items():
        # What a transaction leaves behind takes an offset, and no record is ever handed out for it.
        while tp not in found and await consumer.position(tp) <= offset:
            taken = await consumer.getmany(tp, timeout_ms=500, max_records=1)
            for record in taken.get(tp, ()):
                found[tp] = record
    # A compacted topic gives the next one that is left.
    return {tp: record for tp, record in found.items() if record.offset == places[tp]}


def mark_of(record: Any) -> str:
    """What tells a record from any other at its offset."""
    return sha256(b"%d " % record.timestamp + (record.value or b"")).hexdigest()[:16]


def spot(topic: str, partition: int) -> Any:
    """A partition as aiokafka names it."""
    return module().TopicPartition(topic, partition)


def kafka_error() -> type[Exception]:
    """Return the base class of aiokafka's errors."""
    found: type[Exception] = module(".errors").KafkaError
    return found
