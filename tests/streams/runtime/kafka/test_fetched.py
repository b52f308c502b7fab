"""What a group's client fetched reaches the worker whole and in order, or is fetched again."""

# pyright: reportPrivateUsage=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
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

    @property
    def should_stop(self) -> bool:
        return False

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
        self._thread: Any = SimpleNamespace(again_from=self.fetch_again)

    async def fetch_again(self, tp: Any, offset: int) -> None:
        self.again.append((tp, offset))

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109
        return self.batch

    def _to_message(self, tp: Any, record: Any) -> Any:
        return record

    def highwater(self, tp: Any) -> int:
        return 0


class Member(import_module("aiokafka").AIOKafkaConsumer):  # type: ignore[misc]
    """aiokafka's client between two rounds of dealing out; of ``P`` nothing was ever committed."""

    def __init__(self) -> None:
        self._closed, self.at = True, {P: 10, Q: 10}
        self._subscription = SimpleNamespace(assigned_partitions=lambda: set(self.at))
        self._fetcher = SimpleNamespace(seek_to=self.at.__setitem__)

    async def committed(self, tp: Any) -> int | None:
        return {P: None, Q: 4}[tp]

    async def seek_to_beginning(self, *tps: Any) -> None:
        self.at.update(dict.fromkeys(tps, 0))


class Thread(driver.Thread):
    """The thread of a client, which is that of the test."""

    def __init__(self, client: Any) -> None:
        self._consumer = client

    async def call_thread(self, fun: Any, *arguments: Any, **options: Any) -> Any:
        return await fun(*arguments, **options)


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


def test_what_came_before_a_partition_of_which_nothing_was_committed_is_ours_comes_again() -> None:
    """It was fetched for us while the group was dealt out, and there is no committed offset to go back to."""

    async def run() -> None:
        client, member = Client({P: records(*range(10)), Q: records(*range(4, 10))}), Member()
        client._thread = Thread(member)
        client._committed_offset = dict[Any, Any]()
        fetch = client._getmany

        async def while_dealt_out(active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109
            client.flow_active = False
            return await fetch(active_partitions, timeout)

        client._getmany = while_dealt_out  # type: ignore[method-assign]
        assert [each async for each in client.getmany(1.0)] == []
        assert member.at == {P: 0, Q: 4}
        assert client._read_offset == {P: None, Q: 4}

    asyncio.run(run())
