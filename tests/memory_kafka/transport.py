"""Faust's transport over the broker in memory, with groups: whoever joins or leaves, all are dealt anew."""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false
# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# mypy: disable-error-code="misc,no-any-return,import-untyped"

from __future__ import annotations

import asyncio
from typing import Any

from faust.assignor.client_assignment import ClientAssignment
from faust.transport import base
from faust.transport.consumer import Consumer as BaseConsumer
from faust.transport.consumer import Fetcher
from faust.transport.producer import Producer as BaseProducer
from faust.types import TP, ConsumerMessage

from tests.memory_kafka.broker import Broker, records_of

GENERATIONS = iter(range(1, 1 << 30))


class Group:
    """The members of a group, in the order in which they joined."""

    def __init__(self) -> None:
        self.members: dict[Any, set[str]] = {}
        self.lock = asyncio.Lock()

    async def join(self, member: Any, topics: set[str]) -> None:
        async with self.lock:
            self.members[member] = topics
            await self._deal()

    async def leave(self, member: Any) -> None:
        async with self.lock:
            if self.members.pop(member, None) is not None and self.members:
                await self._deal()

    async def _deal(self) -> None:
        """Eager, as aiokafka does it: everyone gives up all, then everyone gets its part."""
        generation = next(GENERATIONS)
        for member in self.members:
            await member.give_up()
        for index, (member, topics) in enumerate(self.members.items()):
            places = sorted((t, p) for t in topics for p in member.memory.partitions(t))
            mine = [place for place in places if place[1] % len(self.members) == index]
            await member.get({TP(*place) for place in mine}, generation)


class Consumer(BaseConsumer):
    """Reads its partitions of the broker in memory."""

    consumer_stopped_errors = ()

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        transport: Any = self.transport
        self.memory: Broker = transport.memory
        self.group_id: str = self.app.conf.id
        self.positions: dict[Any, int] = {}
        self.ours: set[Any] = set()

    async def subscribe(self, topics: Any) -> None:
        group = self.memory.groups.setdefault(self.group_id, Group())
        self.add_future(group.join(self, set(topics)))  # after this returns: the conductor waits

    async def on_stop(self) -> None:
        await super().on_stop()
        await self.memory.groups[self.group_id].leave(self)

    async def give_up(self) -> None:
        self.app.on_rebalance_start()
        await self.on_partitions_revoked(set(self.ours))

    async def get(self, tps: set[Any], generation: int) -> None:
        self.ours = tps
        for tp in tps:
            self.positions[tp] = self.memory.committed.get((self.group_id, tp), 0)
        assignor: Any = self.app.assignor
        topics: dict[str, list[int]] = {}
        for tp in tps:
            topics.setdefault(tp.topic, []).append(tp.partition)
        assignor._assignment = ClientAssignment(actives=topics, standbys={})
        assignor._active_tps = assignor._assignment.active_tps
        assignor._standby_tps = assignor._assignment.standby_tps
        assignor._topic_groups = dict.fromkeys(topics, 0)
        self.app.consumer_generation_id = generation
        await self.on_partitions_assigned(tps, generation)

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109
        tps = self.ours if active_partitions is None else active_partitions
        if not (found := self._ready(tps)):
            await self.memory.wait(timeout)
            found = self._ready(tps)
        return found

    def _ready(self, tps: Any) -> dict[Any, list[Any]]:
        found = {tp: self.memory.after(tp, self.positions.get(tp, 0), 500) for tp in tps}
        found = {tp: entries for tp, entries in found.items() if entries}
        for tp, entries in found.items():
            self.positions[tp] = entries[-1].offset + 1
        return records_of(found)

    def _to_message(self, tp: Any, entry: Any) -> Any:
        return ConsumerMessage(
            topic=tp.topic,
            partition=tp.partition,
            offset=entry.offset,
            timestamp=entry.timestamp / 1000,
            timestamp_type=0,
            headers=entry.headers,
            key=entry.key,
            value=entry.value,
            checksum=None,
            serialized_key_size=0,
            serialized_value_size=0,
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )

    async def _commit(self, offsets: Any) -> bool:
        for tp, offset in offsets.items():
            self.memory.committed[self.group_id, tp] = offset
        return True

    async def seek_to_committed(self) -> Any:
        return {tp: self.memory.committed.get((self.group_id, tp)) for tp in self.ours}

    async def _seek(self, tp: Any, offset: int) -> None:
        self.positions[tp] = offset

    async def seek_wait(self, partitions: Any) -> None:
        for tp, offset in partitions.items():
            self.positions[tp] = max(offset or 0, 0)
            self._read_offset[tp] = offset or None

    async def position(self, tp: Any) -> int:
        return self.positions.get(tp, 0)

    def assignment(self) -> set[Any]:
        return set(self.ours)

    def highwater(self, tp: Any) -> int:
        return len(self.memory.logs[tp.topic, tp.partition])

    async def highwaters(self, *tps: Any) -> dict[Any, int]:
        return {tp: self.highwater(tp) for tp in tps}

    async def earliest_offsets(self, *tps: Any) -> dict[Any, int]:
        return dict.fromkeys(tps, 0)

    def topic_partitions(self, topic: str) -> int:
        return len(self.memory.partitions(topic))

    async def create_topic(self, topic: str, partitions: int, replication: int, **_: Any) -> None:
        self.memory.make(topic, partitions)

    def key_partition(self, topic: str, key: bytes | None, partition: int | None = None) -> int:
        return partition or 0

    def _new_topicpartition(self, topic: str, partition: int) -> Any:
        return TP(topic, partition)


class Producer(BaseProducer):
    """Faust's own sends; the worker makes none."""

    async def flush(self) -> None: ...

    async def create_topic(self, topic: str, partitions: int, replication: int, **_: Any) -> None:
        """Topics are made by ``topics create`` alone."""

    async def send(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    async def send_and_wait(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    def key_partition(self, topic: str, key: bytes) -> Any:
        return TP(topic, 0)

    def supports_headers(self) -> bool:
        return True


class Transport(base.Transport):
    """The transport ``metalogue://`` in tests that need no broker."""

    Consumer, Producer, Fetcher = Consumer, Producer, Fetcher
    driver_version = "memory"
    default_port = 0

    @property
    def memory(self) -> Broker:
        return Broker.by_name[self.url[0].host or ""]
