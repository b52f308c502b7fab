"""Faust as we drive it: each record of a partition is delivered, and none is committed before it is acknowledged."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.kafka import driver, group
from streams.runtime.kafka.lease import Lease
from streams.runtime.kafka.place import KafkaAddress

TP: Any = import_module("faust.types").TP
PLACE: Final = KafkaAddress.of("kafka://127.0.0.1:1")
BATCH: Final = 5
PATIENCE: Final = 60
"""Turns after which nobody keeps a partition paused any more."""
SPOTS: Final = tuple(TP(PLACE.topic("problems"), number) for number in range(3))
Logs = Mapping[Any, Sequence[int]]


class Whoever:
    """A member that is told by other ways."""

    def offered(self, event: Any) -> None:
        """Nothing is."""
        raise AssertionError(event)

    async def assigned(self, partitions: set[int]) -> None:
        """Nothing is."""
        raise AssertionError(partitions)


class Broker:
    """The records of some partitions, and from where each is fetched next."""

    beacon = None

    def __init__(self, logs: Logs) -> None:
        self.logs = logs
        self.position = dict.fromkeys(logs, 0)
        self.empty = 0
        self.between: Callable[[], object] = list
        """Called before each fetch."""

    async def fetch(self, active: Iterable[Any]) -> dict[Any, list[Any]]:
        """The next records of those that are not paused."""
        found = dict[Any, list[Any]]()
        for tp in active:
            offsets = self.logs[tp]
            begin = bisect_left(offsets, self.position[tp])
            batch = offsets[begin : begin + BATCH]
            if batch:
                self.position[tp] = batch[-1] + 1
                found[tp] = [Message(tp, offset) for offset in batch]
        self.empty = 0 if found else self.empty + 1
        return found

    async def again_from(self, tp: Any, offset: int) -> None:
        """Fetch again."""
        self.position[tp] = offset


class Message:
    """A record on its way to us."""

    key = value = None

    def __init__(self, tp: Any, offset: int) -> None:
        self.tp, self.topic, self.offset, self.acked = tp, tp.topic, offset, False


class Driven(driver.Consumer):
    """Our consumer before such a broker."""

    broker: Broker

    def _new_consumer_thread(self) -> Any:
        return self.broker

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109
        return await self.broker.fetch(set(active_partitions))

    async def sleep(self, n: Any, **_: Any) -> None:
        """Let others go on."""
        self.broker.between()
        await asyncio.sleep(0)

    def highwater(self, tp: Any) -> int:
        """One past the last record."""
        return self.broker.logs[tp][-1] + 1

    def _to_message(self, tp: Any, record: Any) -> Any:
        return record


async def never(*_: Any) -> None:
    """What is called when the group deals: it does not."""
    raise AssertionError


def driven(broker: Broker, told: Callable[[Any], Awaitable[None]] = never) -> Any:
    """It was dealt all partitions."""
    app = group.make(PLACE, Whoever(), Lease(6.0))
    kind: Any = type("Before", (Driven,), {"broker": broker})
    consumer = kind(app.transport, told, never, never)
    app.topics._acking_topics.add(PLACE.topic("problems"))
    consumer.can_resume_flow.set()
    consumer._active_partitions = set(broker.logs)
    return consumer


def offsets() -> st.SearchStrategy[list[int]]:
    """Those of a partition: a transaction or a compaction leaves holes, which belong to the topic."""
    gaps = st.lists(st.sampled_from((1, 1, 1, 2, 3, 7)), min_size=1, max_size=23)
    return gaps.map(lambda found: [sum(found[: at + 1]) - 1 for at in range(len(found))])


LOGS: Final = st.lists(offsets(), min_size=1, max_size=len(SPOTS)).map(
    lambda found: dict(zip(SPOTS, found, strict=False))
)


@given(LOGS, st.integers(0, 1 << 32))
def test_whatever_is_paused_and_acknowledged_each_record_comes_once_and_counts_once_it_is_done(
    logs: Logs, seed: int
) -> None:
    # What Faust calls in tasks of its own may not draw: it would swallow that the test is to end.
    asyncio.run(_drained(logs, Random(seed)))


async def _drained(logs: Logs, chance: Random) -> None:
    came, flying, committed = {tp: list[int]() for tp in logs}, list[Any](), dict[Any, int]()
    turns = count()

    def finish(upto: int) -> None:
        while len(flying) > upto:
            consumer.ack(flying.pop(chance.randrange(len(flying))))
        for tp in logs:
            # Twice a second, until there is nothing to commit.
            while (found := consumer._new_offset(tp)) is not None:
                committed[tp] = consumer._committed_offset[tp] = found
            first = min((each.offset for each in flying if each.tp == tp), default=None)
            assert first is None or committed.get(tp, 0) <= first, "none is committed in flight"

    async def told(message: Any) -> None:
        consumer.track_message(message)
        flying.append(message)
        came[message.tp].append(message.offset)
        if chance.random() < 0.5:
            consumer.pause_partitions({chance.choice(sorted(logs))})
        # Also while the rest of the batch is under way: what was left out of it must not be passed over.
        if chance.random() < 0.3:
            consumer.resume_partitions(set(logs))
        if chance.random() < 0.5:
            finish(chance.randrange(4))

    def between() -> None:
        if next(turns) > PATIENCE or chance.random() < 0.5:
            consumer.resume_partitions(set(logs))
        if broker.empty > 1 and next(turns) > PATIENCE:
            fetcher._stopped.set()

    broker, fetcher = Broker(logs), SimpleNamespace(_stopped=asyncio.Event())
    broker.between = between
    consumer = driven(broker, told)
    await consumer._drain_messages(fetcher)
    assert came == logs
    finish(0)
    assert committed == {tp: log[-1] + 1 for tp, log in logs.items()}


@pytest.mark.parametrize("meanwhile", ["dealt out anew", "stopped"])
def test_where_the_group_is_dealt_out_anew_what_is_left_is_not_sought(meanwhile: str) -> None:
    """What comes next is told by what was committed; to seek would go past it."""
    broker = Broker({SPOTS[0]: list(range(BATCH))})
    asyncio.run(_dealt_anew(broker, meanwhile))
    assert broker.position == {SPOTS[0]: BATCH}


async def _dealt_anew(broker: Broker, meanwhile: str) -> None:
    consumer, came = driven(broker), list[int]()
    async for _, message in consumer.getmany(timeout=0.0):
        came.append(message.offset)
        if meanwhile == "stopped":
            consumer.stop_flow()
        else:
            consumer.app.consumer_generation_id += 1
    assert came == [0], "the rest comes again"
