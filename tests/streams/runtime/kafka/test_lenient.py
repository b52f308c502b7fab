"""Whatever a client calls its headers, its record is read, and so are those around it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.consumer.fetcher import PartitionRecords  # type: ignore[import-untyped]
from aiokafka.errors import CorruptRecordException  # type: ignore[import-untyped]
from aiokafka.record.default_records import (  # type: ignore[import-untyped]
    DefaultRecordBatchBuilder,
)
from aiokafka.record.memory_records import MemoryRecords  # type: ignore[import-untyped]
from aiokafka.record.util import calc_crc32c  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.kafka.aio import spot
from streams.runtime.kafka.lenient import Fetched, closed_quietly, leniently

NAME = "~~~~"
"""Stands in for what no client library would send."""
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
VALUES = st.one_of(st.none(), st.binary(max_size=40))
HEADERS = st.lists(st.tuples(st.one_of(st.just(NAME), st.text(max_size=6)), VALUES), max_size=4)
ROWS = st.lists(st.tuples(st.integers(0, 2**40), VALUES, VALUES, HEADERS), min_size=1, max_size=6)
Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def batch(rows: Sequence[Row], offset: int = 0, raw: bytes = NAME.encode()) -> bytes:
    """A batch as it lies on a broker, with other bytes for one name."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, 0, 1 << 20)
    for number, (at, key, value, headers) in enumerate(rows):
        builder.append(number, at, key, value, headers)
    data = bytearray(builder.build()).replace(NAME.encode(), raw)
    data[:8] = offset.to_bytes(8, "big")
    data[17:21] = calc_crc32c(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)


def fetched(data: Any) -> list[Row]:
    """What aiokafka's own reading of a partition hands out."""
    records: Any = PartitionRecords(spot("t", 0), data, None, 0, None, None, True, 0)
    return [(each.offset, each.key, each.value, list(each.headers)) for each in records]


def test_records_around_one_that_cannot_be_read_are_not_lost() -> None:
    odd: list[Row] = [
        (1, b"a", b"before", []),
        (2, None, None, [(NAME, b"x"), ("plain", None)]),
        (3, b"c", b"after", [("h", b"y")]),
    ]
    data = batch(odd, 0, b"\xff~~\xfe") + batch([(4, b"d", b"next", [])], 3)
    with pytest.raises(UnicodeDecodeError):
        fetched(MemoryRecords(data))
    assert fetched(Fetched(data)) == [
        (0, b"a", b"before", []),
        (1, None, None, [("\\xff~~\\xfe", b"x"), ("plain", None)]),
        (2, b"c", b"after", [("h", b"y")]),
        (3, b"d", b"next", []),
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_it_is_read_out_of_every_compression(codec: str) -> None:
    builder = DefaultRecordBatchBuilder(2, CODECS[codec], 0, -1, -1, 0, 1 << 20)
    builder.append(0, 7, b"k", b"v" * 500, [("h", b"x")])
    data = bytes(builder.build())
    assert fetched(Fetched(data)) == fetched(MemoryRecords(data))
    assert [(each.key, each.value) for each in leniently(data)] == [(b"k", b"v" * 500)]


@given(ROWS)
def test_it_is_read_as_aiokafka_reads_it(rows: list[Row]) -> None:
    data = batch(rows)
    assert fetched(Fetched(data)) == fetched(MemoryRecords(data))
    read = [(r.timestamp, r.key, r.value, r.headers) for r in leniently(data)]
    assert read == [(at, key, value, headers) for at, key, value, headers in rows]


@given(ROWS, st.data())
def test_a_batch_that_is_cut_or_spoiled_is_refused_by_name(
    rows: list[Row], data: st.DataObject
) -> None:
    """The compiled reader of numbers looked behind the last byte, which once ended the process."""
    whole = batch(rows)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(CorruptRecordException):
        list(leniently(cut))
    head = data.draw(st.integers(min(61, len(whole)), len(whole)))
    with suppress(CorruptRecordException):
        list(leniently(whole[:head] + data.draw(st.binary(max_size=40))))


def test_nothing_is_read_behind_the_last_byte() -> None:
    """No byte is ever taken from beyond a batch that promises more records than it holds."""
    data = bytearray(batch([(1, b"k", b"v", [])]))
    data[57:61] = (2**31 - 1).to_bytes(4, "big")
    for end in (b"", b"\xff" * 8, b"\x7b" * 100_000):
        with pytest.raises(CorruptRecordException):
            list(leniently(bytes(data) + end))


def test_a_fetcher_that_is_closed_while_it_waits_for_a_broker_ends_with_all_that_it_had_under_way() -> (
    None
):
    async def run() -> None:
        async def waits() -> None:
            await asyncio.get_running_loop().create_future()

        fetcher = SimpleNamespace(_pending_tasks={asyncio.create_task(waits()) for _ in range(3)})

        async def close(fetcher: Any) -> None:  # as aiokafka's own does
            for each in fetcher._pending_tasks:
                each.cancel()
                await each

        await asyncio.sleep(0)
        await closed_quietly(close)(fetcher)
        assert all(each.cancelled() for each in fetcher._pending_tasks)

        ours = asyncio.create_task(closed_quietly(lambda _: waits())(fetcher))
        await asyncio.sleep(0)
        ours.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ours

    asyncio.run(run())
