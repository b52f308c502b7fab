"""A place on a broker in memory, for as long as a test uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from itertools import count
from types import ModuleType
from typing import Any, TypeAlias

import pytest

from streams.runtime.kafka import aio, group, idle, ownership, topics, worker
from streams.runtime.kafka.place import KafkaAddress
from tests.memory_kafka.broker import Admin, Broker, Consumer, Producer

NUMBERS = count(1)
Glance: TypeAlias = tuple[ModuleType, str, float]
GLANCES: tuple[Glance, ...] = (
    (worker, "POLL_S", 0.01),
    (idle, "LOOK_S", 0.02),
    (ownership, "CHECKPOINT_S", 0.02),
)
"""Shorter waits of a worker between its looks: a broker of this process is asked at no cost."""


@contextmanager
def in_memory(
    partitions: int = 4, *, glances: Iterable[Glance] = ()
) -> Generator[tuple[KafkaAddress, Broker]]:
    """Clients and Faust see a broker of this process."""
    name, broker = f"memory{next(NUMBERS)}", Broker()
    Broker.by_name[name] = broker
    with pytest.MonkeyPatch.context() as patch:
        for port, client in (("producer", Producer), ("consumer", Consumer), ("admin", Admin)):
            patch.setattr(aio, port, made_by(client))
        patch.setattr(group, "DRIVER", "tests.memory_kafka.transport:Transport")
        for module, figure, seconds in glances:
            patch.setattr(module, figure, seconds)
        place = KafkaAddress.of(f"kafka://{name}:1/t")
        asyncio.run(topics.create(place, partitions))
        yield place, broker
    del Broker.by_name[name]


def made_by(client: Callable[[Broker], Any]) -> Callable[..., Any]:
    """Clients of the broker that a place names, whatever they are told."""

    def make(place: KafkaAddress, **_: Any) -> Any:
        return client(broker_of(place))

    return make


def broker_of(place: KafkaAddress) -> Broker:
    return Broker.by_name[place.servers.partition(":")[0]]
