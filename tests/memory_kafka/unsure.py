"""A broker in memory whose acknowledgements cannot be relied on: what is sent is lost, written late, or twice."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

import pytest
from aiokafka.errors import (  # type: ignore[import-untyped]
    NotLeaderForPartitionError,
    OutOfOrderSequenceNumber,
    RequestTimedOutError,
)

from streams.runtime.kafka import aio
from streams.runtime.kafka.place import KafkaAddress
from tests.memory_kafka.broker import Batch, Broker, Producer
from tests.memory_kafka.fixture import broker_of

Fate: TypeAlias = Literal[
    "written", "lost", "unheard", "unplaced", "twice", "late", "later", "last"
]
"""What becomes of a batch that is sent.

Of those after ``written`` none but ``twice`` is acknowledged with its place: ``lost`` is never written, ``unheard``
and ``unplaced`` are; ``late``, ``later`` and ``last`` are written after one, three and ten more of their partition.
"""
FATES: tuple[Fate, ...] = "written", "lost", "unheard", "unplaced", "twice", "late", "later", "last"
AFTER = {"late": 1, "later": 3, "last": 10}


@dataclass
class Unsure:
    """What becomes of each batch, for all producers of all workers, and what still comes."""

    fates: Sequence[Fate]
    due: dict[tuple[str, int], list[tuple[int, Batch]]] = field(
        default_factory=lambda: defaultdict[tuple[str, int], list[tuple[int, Batch]]](list)
    )
    sent: dict[tuple[str, int], int] = field(
        default_factory=lambda: defaultdict[tuple[str, int], int](int)
    )
    copies: int = 0
    """Batches that were written once more."""

    def __post_init__(self) -> None:
        self.next = cycle(self.fates)

    def append(self, broker: Broker, batch: Batch, topic: str, partition: int) -> int:
        """What the producer hears. Raises what a client raises."""
        fate, spot = next(self.next), (topic, partition)
        self.sent[spot] += 1
        if fate in AFTER:
            self.due[spot].append((self.sent[spot] + AFTER[fate], batch))
            raise OutOfOrderSequenceNumber
        if fate == "lost":
            raise NotLeaderForPartitionError
        offset = broker.append(topic, partition, batch.rows)
        if fate == "twice":
            self.copies += 1
            offset = broker.append(topic, partition, batch.rows)
        self._arrive(broker, spot)
        if fate == "unheard":
            self.copies += 1
            raise RequestTimedOutError
        self.copies += fate == "unplaced"
        return -1 if fate == "unplaced" else offset

    def _arrive(self, broker: Broker, spot: tuple[str, int]) -> None:
        late = [batch for at, batch in self.due[spot] if at <= self.sent[spot]]
        self.due[spot] = [each for each in self.due[spot] if each[0] > self.sent[spot]]
        for batch in late:
            self.copies += 1
            broker.append(*spot, batch.rows)


class Doubtful(Producer):
    """A producer of such a broker."""

    def __init__(self, broker: Broker, unsure: Unsure) -> None:
        super().__init__(broker)
        self.unsure = unsure

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> Any:
        told = asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        offset = self.unsure.append(self.broker, batch, topic, partition)
        told.set_result(SimpleNamespace(offset=offset))
        return told


@contextmanager
def unsure_of(fates: Sequence[Fate]) -> Generator[Unsure]:
    """Producers whose batches have these fates, in turn, for ever; one of them at least is ``written``."""
    unsure = Unsure([*fates, "written"])

    def made(place: KafkaAddress, **_: Any) -> Any:
        return Doubtful(broker_of(place), unsure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aio, "producer", made)
        patch.setattr(aio, "RETRY_S", 0)
        yield unsure
