"""Batches on their way: sent again until a broker acknowledges them, under a patience of our own.

A *session* is one idempotent producer's life. Within it the brokers themselves see to it that a batch is on the log
once, however often it was sent. Where that order is in doubt (a batch had no leader for too long, a broker lost count,
an acknowledgement says no place) a new session begins, and the batch is sent anew: then it may be on the log twice,
and an old copy may come after records that were added later. No reader minds: every record has a structural id of
which the first counts, a claim counts only after the one that it names, and a lane sends nothing more before a broker
has acknowledged what came before, so that first copies are in order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

from streams.runtime.kafka import aio
from streams.runtime.kafka.envelope import Headers
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.refusals import RefusedByBroker, refusal_of

BATCH_BYTES = 900_000
OnRefused: TypeAlias = "Callable[[RefusedByBroker], Row | None]"
"""What goes in the stead of a record that a broker refuses for its own sake, if anything does."""
Row: TypeAlias = "tuple[bytes, bytes | None, Headers, OnRefused | None]"
PATIENCE_S: Final = 300.0
"""How long whoever has something else to do waits for a broker that is away."""
GRACE_S: Final = 3.0
"""How long a producer may take to say farewell."""
PASSING: Final = frozenset(
    {
        *("OutOfOrderSequenceNumber", "UnknownProducerId", "InvalidProducerEpoch"),
        *("ProducerFenced", "ProducerClosed", "KafkaTimeoutError"),
    }
)
"""Errors that the client does not try again, and that a new session mends."""


class Unplaced(Exception):
    """A broker acknowledged a batch and does not know any more where it lies."""


class Unrecorded(Exception):
    """A batch was given up, because no broker took it in time."""


def passes(error: Exception) -> bool:
    """Whether what failed may succeed when it is tried again, in a new session."""
    if isinstance(error, (Unplaced, TimeoutError)):
        return True
    return bool(getattr(error, "retriable", False)) or type(error).__name__ in PASSING


class Filled:
    """A batch of as many rows, from one on, as it holds. It is made anew, and the same, as often as it is sent."""

    def __init__(self, rows: list[Row], first: int, end: int, at: int) -> None:
        self.rows, self.first, self.end, self.at = rows, first, end, at
        self.records = self.size = 0
        """What it holds, and its bytes, once it was made."""

    def made(self, producer: Any) -> Any:
        """The batch."""
        batch, upto = producer.create_batch(), self.first
        while upto < self.end:
            key, value, headers, _ = self.rows[upto]
            if batch.append(key=key, value=value, timestamp=self.at, headers=headers) is None:
                break
            upto += 1
        if upto == self.first:
            raise ValueError(f"a record of {len(self.rows[upto][1] or b''):,} bytes is too large")
        self.records, self.size = upto - self.first, batch.size()
        return batch


class Session:
    """One producer's life, and who sends with it just now."""

    def __init__(self, producer: Any) -> None:
        self.producer = producer
        self.users = 0
        self.doubted = False

    async def end(self, grace_s: float = GRACE_S) -> None:
        """Disconnect; where brokers do not take what is left, without it."""
        try:
            await asyncio.wait_for(self.producer.stop(), grace_s)
        except Exception:
            client = getattr(self.producer, "client", None)
            if client is not None:
                with suppress(Exception):
                    await asyncio.wait_for(client.close(), grace_s)


class Sessions:
    """The session that is in use, and those before it whose last batches are still under way."""

    def __init__(self, place: KafkaAddress, patience_s: float | None) -> None:
        self.place, self.patience_s = place, patience_s
        self.now: Session | None = None
        self.past: list[Session] = []
        self.ending: set[asyncio.Task[None]] = set()
        self.alone = asyncio.Lock()

    async def begin(self) -> Session:
        """Connect. Raises what a broker that is away makes the client raise."""
        producer = aio.producer(
            self.place,
            acks="all",
            enable_idempotence=True,
            linger_ms=0,
            compression_type="zstd",
            max_batch_size=BATCH_BYTES,
            metadata_max_age_ms=60_000,
        )
        session = Session(producer)
        try:
            await producer.start()
        except BaseException:
            await session.end()
            raise
        return session

    async def start(self) -> None:
        """Begin the first session."""
        self.now = await self.begin()

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """End all of them."""
        sessions = [*self.past, *([] if self.now is None else [self.now])]
        self.past, self.now = [], None
        await asyncio.gather(*self.ending, *(each.end(grace_s) for each in sessions))

    async def send(self, filled: Filled, topic: str, partition: int) -> int:
        """Append one batch; the offset of its first record.

        Raises what does not pass, ``RefusedByBroker`` above all, and ``Unrecorded`` when patience is over.
        """
        began = time.monotonic()
        while True:
            left_s = None if self.patience_s is None else began + self.patience_s - time.monotonic()
            try:
                return await asyncio.wait_for(self._once(filled, topic, partition), left_s)
            except Exception as error:
                if not passes(error):
                    raise
                if left_s is not None and time.monotonic() > began + (self.patience_s or 0):
                    waited = f"no broker acknowledged an append for {self.patience_s:.0f} s"
                    raise Unrecorded(f"{topic}: {waited}") from error
            await asyncio.sleep(aio.RETRY_S)

    async def _once(self, filled: Filled, topic: str, partition: int) -> int:
        # Lanes of many partitions come here at once. One new session serves all of them where order is in doubt.
        async with self.alone:
            if self.now is None or self.now.doubted:
                fresh = await self.begin()
                self.past += [] if self.now is None else [self.now]
                self.now = fresh
        session = self.now
        for unused in [each for each in self.past if not each.users]:
            self.past.remove(unused)
            # Beside us: a session whose broker is away takes its whole grace to end, and nobody needs to wait for that.
            task = asyncio.create_task(unused.end())
            self.ending.add(task)  # the loop itself holds tasks weakly
            task.add_done_callback(self.ending.discard)
        session.users += 1
        try:
            batch = filled.made(session.producer)
            told = await (await session.producer.send_batch(batch, topic, partition=partition))
            # A broker that got a batch twice may have forgotten where the first copy lies.
            if told.offset < 0:
                raise Unplaced(f"{topic}: appended, and nobody knows where")
            return int(told.offset)
        except Exception as error:
            size, records = filled.size, filled.records
            refused = refusal_of(error, topic, partition, size=size, records=records)
            if refused is not None:
                # A refusal leaves no doubt of the order, so the session may go on once its numbers fit again.
                aio.take_back(session.producer, topic, partition, records)
                raise refused from error
            session.doubted |= passes(error)
            raise
        finally:
            session.users -= 1
