"""What aiokafka's fetcher fails on: a header's name that is no UTF-8, and being closed while brokers are away.

A broker takes such a record; a reader that fails on it fails again after every restart. ``install`` puts
itself between aiokafka's fetcher and its reader of fetched bytes: a batch is read as ever, and only where
that fails it is read again here, with each wrong byte of a name as an escape such as ``\\xff``. A fetcher that
is closed cancels what waits for a broker, and awaits that: its cancellation would end whoever closes it.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from importlib import import_module
from itertools import islice
from typing import Any, TypeAlias

Close: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]
OVERHEAD = 12
"""Bytes of a batch before those that its length counts: the offset, and the length itself."""


def install() -> None:
    """Read every batch of this process in this way, and close every fetcher in this one."""
    fetcher: Any = import_module("aiokafka.consumer.fetcher")
    fetcher.MemoryRecords = Fetched
    if not hasattr(fetcher.Fetcher.close, "__wrapped__"):
        fetcher.Fetcher.close = closed_quietly(fetcher.Fetcher.close)


def closed_quietly(close: Close) -> Close:
    """A fetcher's way to close, that ends with all that it had under way."""

    @wraps(close)
    async def quietly(fetcher: Any) -> None:
        try:
            await close(fetcher)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # it is we who are cancelled, and not what we wait for
            pending = tuple(fetcher._pending_tasks)
            for each in pending:
                each.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    return quietly


class Fetched:
    """The batches of one partition as they were fetched."""

    def __init__(self, data: bytes) -> None:
        module: Any = import_module("aiokafka.record.memory_records")
        self.data, self.at = memoryview(data), 0
        self.batches: Any = module.MemoryRecords(data)

    def size_in_bytes(self) -> int:
        """How many bytes were fetched."""
        return len(self.data)

    def has_next(self) -> bool:
        """Whether there is one more whole batch."""
        return bool(self.batches.has_next())

    def next_batch(self) -> FetchedBatch:
        """The next batch."""
        batch, start = self.batches.next_batch(), self.at
        length = int.from_bytes(self.data[start + 8 : start + OVERHEAD], "big")
        self.at = start + OVERHEAD + length
        return FetchedBatch(batch, self.data[start : self.at])


class FetchedBatch:
    """One batch: what it says of itself as aiokafka reads it, and its records."""

    def __init__(self, batch: Any, data: memoryview) -> None:
        self.batch, self.data = batch, data

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batch, name)

    def __next__(self) -> Any:
        return next(self.batch)

    def __iter__(self) -> Iterator[Any]:
        errors: Any = import_module("aiokafka.errors")
        given = 0
        try:
            for record in self.batch:
                yield record
                given += 1
        except (UnicodeDecodeError, errors.CorruptRecordException):
            yield from islice(leniently(self.data.tobytes()), given, None)


def leniently(data: bytes) -> Iterator[Any]:
    """The records of a batch, whatever their headers are called.

    Raises aiokafka's ``CorruptRecordException`` where the bytes are no whole batch.
    """
    module: Any = import_module("aiokafka.record.default_records")
    if len(data) < module._DefaultRecordBatchPy.HEADER_STRUCT.size:
        raise _corrupt("it is shorter than the head of a batch")
    batch = module._DefaultRecordBatchPy(data)
    bytes_of = _Reader(iter(batch)._buffer, batch._pos)
    for _ in range(batch._num_records):
        end = bytes_of.number() + bytes_of.at
        bytes_of.at += 1  # its attributes
        timestamp = batch.first_timestamp + bytes_of.number()
        offset = batch.base_offset + bytes_of.number()
        key, value = bytes_of.some(), bytes_of.some()
        headers = [
            ((bytes_of.some() or b"").decode("utf-8", "backslashreplace"), bytes_of.some())
            for _ in range(bytes_of.number())
        ]
        if bytes_of.at != end:
            raise _corrupt("its length is wrong")
        kind = batch.timestamp_type
        at = batch.max_timestamp if kind else timestamp  # 1: the broker's own time
        yield module._DefaultRecordPy(offset, at, kind, key, value, headers)


def _corrupt(why: str) -> Exception:
    error: Exception = import_module("aiokafka.errors").CorruptRecordException(why)
    return error


class _Reader:
    """Numbers and bytes of variable length, one after another, of which none reaches beyond the end."""

    def __init__(self, buffer: bytearray, at: int) -> None:
        self.buffer, self.at = buffer, at
        # The compiled one reads whatever lies behind the buffer, and may take the process down with it.
        self.decode: Any = import_module("aiokafka.record.util").decode_varint_py

    def number(self) -> int:
        """The next number."""
        try:
            found, self.at = self.decode(self.buffer, self.at)
        except (IndexError, ValueError) as why:
            raise _corrupt("a number in it does not end") from why
        return int(found)

    def some(self) -> bytes | None:
        """The next bytes, if there are any: a length below zero says that there are none."""
        length, start = self.number(), self.at
        if length < 0:
            return None
        if start + length > len(self.buffer):
            raise _corrupt("it ends within a value")
        self.at += length
        return bytes(self.buffer[start : self.at])
