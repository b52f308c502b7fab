"""A worker that was told to end does so within seconds, whatever it waits for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.engine.progress import Outcome
from streams.runtime.kafka import aio, ending
from streams.runtime.kafka.append import Appender
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.ownership import Ownership
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.sending import Unrecorded
from streams.runtime.kafka.worker import KafkaWorker
from tests.memory_kafka.broker import Admin, Broker, Consumer, Producer
from tests.memory_kafka.fixture import in_memory
from tests.pace import soon
from tests.pupil import Numbers, find, problems, publication

SOON_S = 5.0
When = Callable[[KafkaWorker], bool]


@pytest.fixture
def here(tmp_path: Path) -> Generator[tuple[KafkaAddress, Broker]]:
    """A log with problems on it."""
    with in_memory(2) as (place, broker):
        with closing(KafkaLog(place, tmp_path)) as log:
            log.publish(*publication(problems()))
        yield place, broker


def told(
    place: KafkaAddress, ready: When, *, freezes: Broker | None = None
) -> tuple[float, Outcome]:
    """A worker's life that it is told to end once something holds: the seconds from then on."""
    world = World({"*": Numbers(iter(lambda: 0, 1))}, HashedEmbedder(16))

    async def run() -> tuple[float, Outcome]:
        worker = KafkaWorker(place, 2, world, find, default_policy="pupil")
        running = asyncio.create_task(worker.run())
        while not ready(worker):
            assert not running.done()
            if freezes is not None and worker.progress.admitted and freezes.frozen is None:
                freezes.freeze()
                # All its appends may be through, even its last one's on a busy machine: one surely waits now.
                lane = worker.appender.lane(place.topic("checkpoints"), 0)
                lane.add(b"0", b"{}", [])
                _ = lane.commit()
            await asyncio.sleep(0.02)
        limit_s, began = soon(SOON_S), time.monotonic()
        worker.drain()
        try:
            return time.monotonic() - began, await asyncio.wait_for(running, limit_s)
        finally:
            if freezes is not None:
                freezes.thaw()

    return asyncio.run(run())


def never(*_: Any, **__: Any) -> Coroutine[Any, Any, None]:
    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    return wait()


@pytest.mark.parametrize(
    ("client", "part"),
    [(Producer, "start"), (Consumer, "start"), (Consumer, "end_offsets"), (Admin, "start")],
)
def test_who_waits_for_a_broker_as_it_starts(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch, client: Any, part: str
) -> None:
    """For a producer's number, a connection, the ends of the log, or (in health) the replicas."""
    monkeypatch.setattr(client, part, never)
    began = time.monotonic()
    _, outcome = told(here[0], lambda _: time.monotonic() - began > 0.5)
    assert outcome == Outcome()


def test_who_waits_for_a_place_in_the_group(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.memory_kafka.transport.Group.join", never)
    _, outcome = told(here[0], lambda worker: worker.app is not None and worker.app.started)
    assert outcome == Outcome()


def test_who_waits_for_an_append_says_what_was_not_recorded(
    here: tuple[KafkaAddress, Broker],
) -> None:
    place, broker = here

    def waits(worker: KafkaWorker) -> bool:
        return broker.frozen is not None and worker.appender.standing.waiting > 0

    with pytest.raises(Unrecorded, match=r"[1-9]\d* records were taken by no broker"):
        told(place, waits, freezes=broker)


def test_calls_in_flight_are_waited_for_however_long_a_model_thinks(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was stated before them goes with their replies; until then no broker is to blame for anything."""
    monkeypatch.setattr(ending, "LAST_S", 0.1)
    place = here[0]

    async def run() -> int:
        asked, may_reply = asyncio.Event(), asyncio.Event()

        class Thinker(Numbers):
            async def complete(self, request: ModelRequest) -> ModelReply:
                asked.set()
                await may_reply.wait()
                return await super().complete(request)

        world = World({"*": Thinker(iter(lambda: 0, 1))}, HashedEmbedder(16))
        worker = KafkaWorker(place, 2, world, find, default_policy="pupil")
        running = asyncio.create_task(worker.run())
        await asked.wait()
        await asyncio.sleep(0.2)
        assert (worker.appender.standing.waiting, worker.appender.standing.since_s) == (0, None)
        worker.drain()
        await asyncio.sleep(1)
        assert not running.done()
        began = worker.world.calls_begun
        may_reply.set()
        assert await running == Outcome()
        assert worker.world.calls_begun == began > 0
        return began

    began = asyncio.run(run())
    with closing(KafkaLog(place, tmp_path)) as log:
        assert sum(1 for _ in log.records(kinds=("completed",))) == began


def test_who_waits_for_a_heartbeat_asks_nothing_any_more(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.runtime.kafka.lease.Lease.fresh", False)
    _, outcome = told(here[0], lambda worker: worker.lease.waits > 0)
    assert outcome == Outcome()


def test_patience_of_commands_has_an_end(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, broker = here
    monkeypatch.setattr(aio, "RETRY_S", 0)

    async def run() -> None:
        appender = Appender(place, patience_s=0.2)
        await appender.start()
        broker.freeze()
        lane = appender.lane(place.topic("problems"), 0)
        lane.add(b"k", b"v", [])
        with pytest.raises(Unrecorded, match="no broker acknowledged an append for"):
            await lane.commit()
        broker.thaw()
        await appender.stop()

    asyncio.run(run())


def test_who_is_dealt_partitions_on_the_way_out_takes_none(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another member that leaves first is reason enough: its partitions were claimed, and files read that were shut."""
    place, broker = here
    claims: list[int] = []

    async def dealt(owning: Ownership) -> None:
        await stop(owning)
        owning.let_go(0)
        claims.append(claimed(broker, place))
        await owning.assigned({0, 1})
        await asyncio.gather(*owning.taking.values())

    stop = Ownership.stop
    monkeypatch.setattr(Ownership, "stop", dealt)

    def is_live(worker: KafkaWorker) -> bool:
        return worker.owning.joined and not worker.owning.taking

    _, outcome = told(place, is_live)
    assert outcome == Outcome()
    assert claims == [claimed(broker, place)]


def claimed(broker: Broker, place: KafkaAddress) -> int:
    """How many claims there are on the first partition."""
    entries = broker.logs[place.topic("events"), 0]
    return sum(b"claimed" in dict(each.headers)["ce_id"] for each in entries)
