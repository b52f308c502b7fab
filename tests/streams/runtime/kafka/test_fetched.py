"""What a group's client fetched reaches the worker whole and in order, or is fetched again."""

# pyright: reportPrivateUsage=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import asyncio
from importlib import import_module
from logging import getLogger
from types import SimpleNamespace
from typing import Any

from streams.runtime.kafka import driver

TP: Any = import_module("faust.types").TP
P, Q = TP("problems", 0), TP("problems", 1)


class Client(driver.Consumer):
    """A consumer that was handed one batch, and notes what is fetched again."""

    should_stop = False

    def __init__(self, batch: dict[Any, list[Any]]) -> None:
        self.batch, self.again = batch, list[tuple[Any, int]]()
        monitor = SimpleNamespace(track_tp_end_offset=lambda *_: None)
        self.log: Any = import_module("mode.utils.logging").CompositeLogger(getLogger("client"))
        self.app: Any = SimpleNamespace(
            consumer_generation_id=1, client_only=False, monitor=monitor
        )
        self.scheduler = import_module("faust.transport.utils").DefaultSchedulingStrategy()
        self.flow_active, self.not_waiting_next_records = True, asyncio.Event()
        self._active_partitions, self._paused_partitions = set(batch), set[Any]()
        self._buffered_partitions, self._read_offset = set[Any](), dict.fromkeys(batch)
        self._thread: Any = SimpleNamespace(again_from=self.seek)

    async def seek(self, tp: Any, offset: int) -> None:
        self.again.append((tp, offset))

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109
        return self.batch

    def _to_message(self, tp: Any, record: Any) -> Any:
        return record

    def highwater(self, tp: Any) -> int:
        return 0


def records(*offsets: int) -> list[Any]:
    return [SimpleNamespace(offset=offset) for offset in offsets]


def test_a_partition_that_is_resumed_while_its_batch_is_delivered_gets_the_rest_of_it_anew() -> (
    None
):
    """What came behind the part that was left out would be taken for all there is."""

    async def run() -> None:
        client = Client({P: records(*range(10)), Q: records(*range(10))})
        found = list[tuple[int, int]]()
        async for tp, message in client.getmany(1.0):
            found.append((tp.partition, message.offset))
            if found[-1] == (0, 3):
                client.pause_partitions({P})
            if found[-1] == (1, 6):
                client.resume_partitions({P})
        assert [at for partition, at in found if partition == 0] == [0, 1, 2, 3]
        assert [at for partition, at in found if partition == 1] == [*range(10)]
        assert client.again == [(P, 4)]

    asyncio.run(run())
