"""aiokafka's clients, imported when first needed. It has no types: what comes from it is ``Any``."""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from importlib import import_module
from typing import Any

from streams.runtime.kafka.place import Place


def module(name: str = "") -> Any:
    """aiokafka, or one of its modules."""
    return import_module(f"aiokafka{name}")


def producer(place: Place, **options: Any) -> Any:
    """A producer that is not started yet."""
    return module().AIOKafkaProducer(**place.connection(), **options)


def consumer(place: Place, **options: Any) -> Any:
    """A consumer without a group, that is not started yet."""
    options = {"enable_auto_commit": False, "auto_offset_reset": "earliest", **options}
    return module().AIOKafkaConsumer(**place.connection(), **options)


def admin(place: Place) -> Any:
    """An administrator's client that is not started yet."""
    return module(".admin").AIOKafkaAdminClient(**place.connection())


def spot(topic: str, partition: int) -> Any:
    """A partition as aiokafka names it."""
    return module().TopicPartition(topic, partition)


def kafka_error() -> type[Exception]:
    """What all of aiokafka's errors are."""
    found: type[Exception] = module(".errors").KafkaError
    return found
