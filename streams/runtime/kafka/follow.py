"""Reading partitions from an offset on, for ever: every record in order, once, to one taker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from streams.runtime.kafka import aio
from streams.runtime.kafka.place import KafkaAddress

Spot = tuple[str, int]
Take = Callable[[str, int, Any], None]
Passed = Callable[[str, int, int], None]
AT_ONCE = 2_000
WAIT_MS = 200
FEW, MUCH, PAUSE_S = 4, 500, 0.01
"""After more records at once than few, and less than where it is behind, it waits so long."""


def unheard(*_: object) -> None:
    """Takes the place of a listener where nobody listens."""


class Follower:
    """One consumer without a group. ``take(topic, partition, record)`` is called in order.

    ``passed(topic, partition, offset)`` is told of offsets below this one that hold no record, as the end of a
    foreign producer's transaction: who waits for the end of a partition would wait for them for ever.
    """

    def __init__(self, place: KafkaAddress, take: Take, passed: Passed = unheard) -> None:
        self.place, self.take, self.passed = place, take, passed
        self.looked_s = 0.0
        self.positions: dict[Spot, int] = {}
        self.consumer: Any = None
        self.moved = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.after: list[Callable[[], None]] = []
        """Called after each batch of records."""

    async def start(self) -> None:
        """Connect and begin to read."""
        self.consumer = aio.consumer(
            self.place,
            fetch_max_wait_ms=WAIT_MS,
            max_partition_fetch_bytes=4 << 20,
            metadata_max_age_ms=60_000,
        )
        await self.consumer.start()
        self._assign()
        self.task = asyncio.create_task(self._loop())

    async def stop(self) -> None:
        """Stop reading."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        if self.consumer is not None:
            await self.consumer.stop()

    def add(self, places: Iterable[Spot], start: int = 0) -> None:
        """Read these partitions too, from an offset on."""
        for place in places:
            self.positions[place] = start
        self._assign()

    def drop(self, place: Spot) -> None:
        """Read this partition no more."""
        if self.positions.pop(place, None) is not None:
            self._assign()
            self._tell()

    def _assign(self) -> None:
        if self.consumer is None:
            return
        found = {aio.spot(*place): position for place, position in self.positions.items()}
        self.consumer.assign(list(found))
        for tp, position in found.items():
            self.consumer.seek(tp, position)

    async def ends(self, places: Iterable[Spot]) -> dict[Spot, int]:
        """The present ends of partitions."""
        wanted = {aio.spot(*place): place for place in places}
        found = await self.consumer.end_offsets(list(wanted))
        return {wanted[tp]: end for tp, end in found.items()}

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for records until something holds."""
        while not holds():
            if self.task is not None and self.task.done():
                self.task.result()
                return
            await self.moved.wait()

    async def caught_up(self) -> None:
        """Wait until everything that is there now has been read."""
        ends = await self.ends(self.positions)
        await self.until(lambda: all(self.positions.get(p, end) >= end for p, end in ends.items()))

    async def _loop(self) -> None:
        try:
            while True:
                if not self.positions:
                    await asyncio.sleep(0.02)
                    continue
                found = await self.consumer.getmany(timeout_ms=WAIT_MS, max_records=AT_ONCE)
                for tp, records in found.items():
                    self._hand_on((tp.topic, tp.partition), records)
                if await self.pass_over() or found:
                    for each in self.after:
                        each()
                    self._tell()
                # Where much comes, a moment's wait brings more of it at one asking. It also gives way, which
                # getmany does not where something is there already.
                many = FEW < sum(map(len, found.values())) < MUCH
                await asyncio.sleep(PAUSE_S if many else 0)
        finally:
            # Whoever waits for records has to see that none will come any more.
            self._tell()

    def _hand_on(self, place: Spot, records: list[Any]) -> None:
        for record in records:
            # Taking a record may drop its partition, or begin it anew elsewhere: so we look each time.
            position = self.positions.get(place)
            if position is None:
                return
            if record.offset >= position:
                # Moved before it is taken, so that whoever looks at positions in between counts it as read.
                self.positions[place] = record.offset + 1
                self.take(*place, record)

    async def pass_over(self) -> bool:
        """Go on behind offsets of which no record was handed out, now and then; whether there were any."""
        if time.monotonic() < self.looked_s + WAIT_MS / 1000:
            return False
        self.looked_s, before = time.monotonic(), dict(self.positions)
        for place in before:
            with suppress(aio.kafka_error()):  # it was dropped while we asked
                position = await self.consumer.position(aio.spot(*place))
                if place in self.positions and position > self.positions[place]:
                    self.positions[place] = position
                    self.passed(*place, position)
        return self.positions != before

    def _tell(self) -> None:
        moved, self.moved = self.moved, asyncio.Event()
        moved.set()
