"""Topics, partitions, offsets and groups in one process, with the clients that ``aio`` gives out."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

from aiokafka import TopicPartition  # type: ignore[import-untyped]
from aiokafka.errors import for_code  # type: ignore[import-untyped]

BATCH = 1_000
Headers = list[tuple[str, bytes]]


TOO_LARGE, MISSING_RIGHT = 10, 29
BATCH_OVERHEAD, RECORD_OVERHEAD = 61, 21
"""Bytes of a batch and of a record beside its key, value and headers, at most."""


class Died(Exception):
    """The process that appends is no more: nothing of what it says reaches the broker."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as aiokafka hands it out."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int
    is_record: bool = True
    """Else it is the end of a transaction, which no client is handed."""


@dataclass
class Broker:
    """What a cluster keeps. ``left`` is how many more records a mortal producer may append."""

    logs: dict[tuple[str, int], list[Entry]] = field(
        default_factory=dict[tuple[str, int], list[Entry]]
    )
    committed: dict[tuple[str, Any], int] = field(default_factory=dict[tuple[str, Any], int])
    groups: dict[str, Any] = field(default_factory=dict[str, Any])
    waiting: set[asyncio.Future[None]] = field(default_factory=set[asyncio.Future[None]])
    left: int | None = None
    takes: int | None = None
    """The most bytes of one append, if that is limited."""
    tells: bool = True
    """Whether it says so to whoever asks."""
    forbidden: set[str] = field(default_factory=set[str])
    """Topics that nobody may append to."""
    frozen: asyncio.Future[None] | None = None
    brokers: int = 1
    """How many there are, and how many of them hold each partition that is made."""
    away: int = 0
    """How many of them are not in sync."""
    copies: dict[str, int] = field(default_factory=dict[str, int])
    settings: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """What topics were made with."""
    begins: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """First offsets that are still there, where older records expired."""
    read: Counter[str] = field(default_factory=Counter[str])
    """Records that were handed out without a group, by topic."""
    unaware: int = 0
    """How often it is asked before it tells of topics."""

    by_name: ClassVar[dict[str, Broker]] = {}

    def make(self, topic: str, partitions: int) -> None:
        for partition in range(partitions):
            self.logs.setdefault((topic, partition), [])

    def partitions(self, topic: str) -> list[int]:
        return sorted(partition for name, partition in self.logs if name == topic)

    def append(
        self, topic: str, partition: int, rows: Iterable[tuple[Any, Any, Headers, int]]
    ) -> int:
        """Append rows; the offset of the first."""
        rows = list(rows)
        if topic in self.forbidden:
            raise for_code(MISSING_RIGHT)(topic)
        if self.takes is not None and size_of(rows) > self.takes:
            raise for_code(TOO_LARGE)
        log = self.logs[topic, partition]
        base = len(log)
        for key, value, headers, at in rows:
            if self.left is not None:
                if self.left <= 0:
                    raise Died
                self.left -= 1
            log.append(Entry(topic, partition, len(log), key, value, list(headers), at))
        self.tell()
        return base

    def end_transaction(self, topic: str, partition: int) -> None:
        log = self.logs[topic, partition]
        log.append(Entry(topic, partition, len(log), None, None, [], 0, is_record=False))
        self.tell()

    def freeze(self) -> None:
        """Let appends wait until ``thaw``."""
        self.frozen = asyncio.get_running_loop().create_future()

    def thaw(self) -> None:
        if self.frozen is not None:
            self.frozen.set_result(None)
            self.frozen = None

    def tell(self) -> None:
        waiting, self.waiting = self.waiting, set()
        for each in waiting:
            if not (each.done() or each.get_loop().is_closed()):
                each.get_loop().call_soon(_done, each)

    async def wait(self, seconds: float) -> None:
        """Until something is appended anywhere, or so long."""
        future = asyncio.get_running_loop().create_future()
        self.waiting.add(future)
        try:
            await asyncio.wait([future], timeout=seconds)
        finally:
            self.waiting.discard(future)

    def after(self, at: Any, position: int, most: int) -> list[Entry]:
        return self.logs[at.topic, at.partition][position : position + most]


def records_of(found: dict[Any, list[Entry]]) -> dict[Any, list[Entry]]:
    records = {tp: [each for each in entries if each.is_record] for tp, entries in found.items()}
    return {tp: entries for tp, entries in records.items() if entries}


def size_of(rows: Iterable[tuple[Any, Any, Headers, int]]) -> int:
    """The bytes of a batch that no compression made smaller."""
    each = (
        len(key or b"") + len(value or b"") + sum(len(n) + len(v or b"") + 10 for n, v in headers)
        for key, value, headers, _ in rows
    )
    return BATCH_OVERHEAD + sum(RECORD_OVERHEAD + size for size in each)


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Batch:
    """Rows of one append."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any, Headers, int]] = []

    def append(self, *, key: Any, value: Any, timestamp: int, headers: Headers) -> object | None:
        if len(self.rows) >= BATCH:
            return None
        self.rows.append((key, value, headers, timestamp))
        return self

    def size(self) -> int:
        return size_of(self.rows)


class Producer:
    """The append side."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def create_batch(self) -> Batch:
        return Batch()

    async def send_batch(self, batch: Batch, topic: str, *, partition: int) -> Awaitable[Any]:
        told = asyncio.get_running_loop().create_future()
        await asyncio.sleep(0)
        if self.broker.frozen is not None:
            await asyncio.shield(self.broker.frozen)  # others wait for it too
        told.set_result(SimpleNamespace(offset=self.broker.append(topic, partition, batch.rows)))
        return told


class Consumer:
    """The reading side, without a group."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.positions: dict[Any, int] = {}

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def assign(self, tps: list[Any]) -> None:
        self.positions = {tp: self.positions.get(tp, 0) for tp in tps}

    def seek(self, tp: Any, position: int) -> None:
        self.positions[tp] = position

    async def seek_to_beginning(self, *tps: Any) -> None:
        for tp in tps:
            self.positions[tp] = 0

    async def position(self, tp: Any) -> int:
        return self.positions[tp]

    async def beginning_offsets(self, tps: list[Any]) -> dict[Any, int]:
        return {tp: self.broker.begins.get((tp.topic, tp.partition), 0) for tp in tps}

    async def end_offsets(self, tps: list[Any]) -> dict[Any, int]:
        return {tp: len(self.broker.logs[tp.topic, tp.partition]) for tp in tps}

    async def getmany(
        self, *tps: Any, timeout_ms: int = 0, max_records: int = 10_000
    ) -> dict[Any, list[Entry]]:
        found = self._ready(tps or tuple(self.positions), max_records)
        if not found and timeout_ms:
            await self.broker.wait(timeout_ms / 1000)
            found = self._ready(tps or tuple(self.positions), max_records)
        return found

    def _ready(self, tps: tuple[Any, ...], most: int) -> dict[Any, list[Entry]]:
        found = {tp: self.broker.after(tp, self.positions[tp], most) for tp in tps}
        found = {tp: entries for tp, entries in found.items() if entries}
        for tp, entries in found.items():
            self.positions[tp] = entries[-1].offset + 1
            self.broker.read[tp.topic] += len(entries)
        return records_of(found)


class Admin:
    """The administrator's client."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def list_topics(self) -> list[str]:
        return sorted({topic for topic, _ in self.broker.logs})

    async def describe_cluster(self) -> dict[str, Any]:
        brokers = [*range(1, self.broker.brokers + 1)]
        return {"brokers": brokers, "cluster_id": f"memory-{id(self.broker)}"}

    async def create_topics(self, topics: list[Any]) -> Any:
        for each in topics:
            self.broker.make(each.name, each.num_partitions)
            self.broker.copies[each.name] = each.replication_factor
            self.broker.settings[each.name] = dict(each.topic_configs or {})
        return SimpleNamespace(topic_errors=[(each.name, 0, None) for each in topics])

    async def describe_topics(self, topics: list[str] | None = None) -> list[dict[str, Any]]:
        if topics is None and self.broker.unaware:
            self.broker.unaware -= 1
            return []
        names = await self.list_topics() if topics is None else topics
        return [{"topic": name, "partitions": self._described(name)} for name in names]

    def _described(self, topic: str) -> list[dict[str, Any]]:
        replicas = [*range(1, self.broker.copies.get(topic, 1) + 1)]
        in_sync = replicas[: max(1, len(replicas) - self.broker.away)]
        return [
            {"partition": partition, "replicas": replicas, "isr": in_sync}
            for partition in self.broker.partitions(topic)
        ]

    async def describe_configs(self, resources: list[Any]) -> list[Any]:
        hidden = self.broker.forbidden
        told = [
            (MISSING_RIGHT if each.name in hidden else 0, "", 2, each.name, self._configs(each))
            for each in resources
        ]
        return [SimpleNamespace(resources=told)]

    def _configs(self, resource: Any) -> list[tuple[str, str]]:
        known = {"min.insync.replicas": "1"} | self.broker.settings.get(resource.name, {})
        if self.broker.takes is not None and self.broker.tells:
            known["max.message.bytes"] = str(self.broker.takes)
        return [(name, known[name]) for name in resource.configs or known if name in known]

    async def list_consumer_group_offsets(self, group: str) -> dict[Any, Any]:
        found: dict[Any, Any] = defaultdict(lambda: None)
        for (name, tp), offset in self.broker.committed.items():
            if name == group:
                found[TopicPartition(tp.topic, tp.partition)] = SimpleNamespace(offset=offset)
        return found
