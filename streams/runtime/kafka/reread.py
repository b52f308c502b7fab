"""Reading again what was let go of: a waiting problem's text, and the record of a parked episode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from streams.runtime.kafka import aio
from streams.runtime.kafka.envelope import LogRecord, NotOurs, read
from streams.runtime.kafka.fence import CLAIMED, EventsFold, Fence
from streams.runtime.kafka.owned import Owned, Shelved
from streams.runtime.kafka.place import KafkaAddress

FETCH_BYTES = 256 << 10
"""Most looks want one record. A usual fetch would bring thousands along."""


class Rereader:
    """One consumer for all of a worker's second looks, one at a time."""

    def __init__(self, place: KafkaAddress, partitions: int) -> None:
        self.place, self.partitions = place, partitions
        self.consumer: Any = None
        self.alone = asyncio.Lock()

    async def text(self, owned: Owned, episode: str) -> None:
        """Bring back the admission of an episode that waited without it."""
        offset = owned.fold.began[episode]
        async with self.alone:
            # Another look may have brought it back while we waited for our turn.
            if owned.fold.open.get(episode, {}) is None:
                async for _, said in self._records(owned.index, offset, offset + 1):
                    owned.fold.open[episode] = {"admitted": said}

    async def journal(
        self, owned: Owned, episode: str, shelved: Shelved
    ) -> list[tuple[int, LogRecord]]:
        """Bring back the record of a parked episode whose admission lies before the checkpoint; its replies."""
        replies = list[tuple[int, LogRecord]]()
        fold, at = EventsFold(Fence(shelved.claim, [shelved.claim])), shelved.offset
        # Earlier builds lost the claim of one that was parked once more. It is met on the way from the beginning.
        if shelved.claim < 0:
            fold, at = EventsFold(), 0
        async with self.alone:
            # A person may say more of it while we read, which our partition's fold passes over.
            while at < (end := owned.fold.upto):
                async for offset, said in self._records(owned.index, at, end):
                    if said.kind == CLAIMED or said.episode == episode:
                        counts = fold.take(offset, said)
                        if counts and said.kind == "completed":
                            replies.append((offset, said))
                at = end
        if episode in fold.open and owned.shelf.pop(episode, None) is not None:
            owned.fold.open[episode] = fold.open[episode]
            owned.fold.began[episode] = shelved.offset
            owned.fold.asked[episode] = owned.admitted(episode).offset
            owned.fold.parked[episode] = fold.parked.get(episode, 0)
            # The next checkpoint begins at its admission: whoever took another claim for the one in force there
            # would count no record behind it, and claim in vain.
            owned.fold.fence.before(fold.fence.claims)
        return replies

    async def first(self, partition: int) -> str | None:
        """What marks the first record of a partition of `events` that holds some; None where that is gone.

        Of a partition that is not there it is empty.
        """
        if partition >= self.partitions:
            return ""
        tp = aio.spot(self.place.topic("events"), partition)
        async with self.alone:
            record = await aio.record_at(await self._reader(), tp, 0)
        return None if record is None else aio.mark_of(record)

    async def is_empty(self, topic: str, partition: int, offset: int, end: int) -> bool:
        """Whether no record lies between two offsets: the end of a transaction takes one, and is none."""
        async with self.alone:
            async for _ in self._found(aio.spot(topic, partition), offset, end):
                return False
        return True

    async def _records(
        self, partition: int, offset: int, end: int
    ) -> AsyncIterator[tuple[int, LogRecord]]:
        tp = aio.spot(self.place.topic("events"), partition)
        async for record in self._found(tp, offset, end):
            try:
                yield record.offset, read(record.headers, record.value)
            except NotOurs:
                continue

    async def _reader(self) -> Any:
        if self.consumer is None:  # most workers never need one
            made = aio.consumer(
                self.place, fetch_max_wait_ms=50, max_partition_fetch_bytes=FETCH_BYTES
            )
            try:
                await aio.patiently(made.start)
            except BaseException:
                await made.stop()
                raise
            self.consumer = made
        return self.consumer

    async def _found(self, tp: Any, offset: int, end: int) -> AsyncIterator[Any]:
        consumer = await self._reader()
        consumer.assign([tp])
        consumer.seek(tp, offset)
        while offset < end:
            found = await consumer.getmany(tp, timeout_ms=500)
            for record in found.get(tp, ()):
                if record.offset >= end:
                    return
                yield record
            offset = max(offset, await consumer.position(tp))

    async def stop(self) -> None:
        """Disconnect."""
        if self.consumer is not None:
            await self.consumer.stop()
