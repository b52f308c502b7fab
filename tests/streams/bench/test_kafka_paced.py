"""What an operator sees of a worker on a broker, measured with workers that are played by the test itself."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from streams.research.bench import kafka_paced
from streams.research.bench.kafka_paced import Desk, Failed, costs, paced, working
from streams.runtime.kafka import aio
from streams.runtime.kafka.place import KafkaAddress
from streams.support.child import cpu_s
from tests.memory_kafka.broker import Admin, Broker, Producer
from tests.memory_kafka.fixture import broker_of, in_memory


class Process:
    """A worker's process, which may have ended."""

    def __init__(self, *told: Any, ended: int | None = None) -> None:
        self.told, self.returncode, self.pid = told, ended, os.getpid()
        self.heard: list[Any] = []

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        self.heard.append(number)

    def wait(self) -> None:
        self.heard.append("gone")


class Client(Producer):
    """Whatever it sends to the topic of problems has its answer at once."""

    def __init__(self, place: KafkaAddress) -> None:
        super().__init__(broker_of(place))
        self.place, self.states = place, list[str]()

    async def start(self) -> None:
        self.states.append("started")

    async def stop(self) -> None:
        self.states.append("stopped")

    async def send(self, topic: str, value: bytes, *, key: bytes, partition: int) -> None:
        self.broker.append(topic, partition, [(key, value, [], 1)])
        episode = b"p/bench/%s/run" % key
        self.broker.append(self.place.topic("answers"), partition, [(episode, b"{}", [], 1)])


@pytest.fixture
def here(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[KafkaAddress, Broker, list[Process], list[Client]]]:
    """A place, its broker, and every worker and client that was made."""
    workers, clients = list[Process](), list[Client]()

    def worker(*told: Any) -> Process:
        workers.append(Process(*told))
        return workers[-1]

    def client(place: KafkaAddress, **options: Any) -> Client:
        assert options == {"acks": "all", "linger_ms": 0}
        clients.append(Client(place))
        return clients[-1]

    looks: list[int] = []

    async def described(_: Any, groups: list[str]) -> list[Any]:
        # First one has joined, then the group moves its partitions, and then all have theirs.
        looks.append(len(looks))
        stage = min(len(looks), 3)
        state = "PreparingRebalance" if stage == 2 else "Stable"
        members = workers if stage > 1 else workers[:1] * (len(workers) > 1)
        return [SimpleNamespace(groups=[(0, groups[0], state, "consumer", "", members)])]

    with in_memory(2) as (place, broker):
        monkeypatch.setattr(Admin, "describe_consumer_groups", described, raising=False)
        monkeypatch.setattr(kafka_paced, "_worker", worker)
        monkeypatch.setattr(aio, "producer", client)
        yield place, broker, workers, clients


Here = tuple[KafkaAddress, Broker, list[Process], list[Client]]


def test_it_begins_when_every_partition_has_brought_an_answer(here: Here) -> None:
    place, broker, workers, clients = here

    async def work() -> None:
        async with working(place, "tried", 2, 7) as desk:
            assert desk.place == KafkaAddress(place.servers, "t.tried", place.clients)
            assert desk.came_s.keys() == desk.put_s.keys() == {f"warm{at}" for at in range(4)}
            assert all(desk.came_s[name] >= put for name, put in desk.put_s.items())
            assert [each.heard for each in workers] == [[], []]
            await desk.put("one", 2)
            await desk.answered()
            assert "one" in desk.came_s

    asyncio.run(asyncio.wait_for(work(), 60))
    fresh = KafkaAddress(place.servers, "t.tried")
    posed = [broker.logs[fresh.topic("problems"), at] for at in range(4)]
    assert [[each.key for each in kept] for kept in posed] == [
        [b"warm0"], [b"warm1"], [b"warm2", b"one"], [b"warm3"],
    ]  # fmt: skip
    assert orjson.loads(posed[2][1].value or b"") == {
        "id": "one", "problem": "4 4 10 10", "policy": "cot", "domain": "bench",
    }  # fmt: skip
    assert [each.heard for each in workers] == [[signal.SIGTERM, "gone"]] * 2
    assert [client.states for client in clients] == [["started", "stopped"]]
    homes = [home for _, home, _ in (each.told for each in workers)]
    assert len({*homes}) == 2
    assert {(told[0].prefix, told[2]) for told in (each.told for each in workers)} == {
        ("t.tried", 7)
    }


def test_workers_end_where_the_measurement_fails(here: Here) -> None:
    place, _, workers, clients = here

    async def work() -> None:
        async with working(place, "tried", 1, 0):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(work(), 60))
    assert workers[0].heard == [signal.SIGTERM, "gone"]
    assert clients[0].states == ["started", "stopped"]


def desk(*workers: Process, came: int = 1) -> Desk:
    made = Desk(KafkaAddress("x:1"), None, list[Any](workers))
    made.put_s = {f"n{at}": 0.0 for at in range(3)}
    made.came_s = {f"n{at}": 1.0 for at in range(came)}
    return made


def test_workers_that_do_not_answer_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = r"^2 of 3 problems have no answer; a worker ended with exit 5$"
    with pytest.raises(Failed, match=ended):
        asyncio.run(desk(Process(), Process(ended=5)).answered())
    asyncio.run(desk(Process(ended=5), came=3).answered())
    monkeypatch.setattr(kafka_paced, "PATIENCE_S", -1.0)
    with pytest.raises(Failed, match=r"^2 of 3 problems have no answer$"):
        asyncio.run(desk(Process()).answered())


def test_an_answer_counts_when_it_first_came(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter((3.0, 4.0))
    monkeypatch.setattr(kafka_paced, "time", SimpleNamespace(perf_counter=looks.__next__))
    made = desk(came=0)
    for _ in range(2):
        made.take("answers", 0, SimpleNamespace(key=b"p/bench/n1/run"))
    assert made.came_s == {"n1": 3.0}
    assert made.moved.is_set()


def test_cpu_seconds_are_those_of_all_workers() -> None:
    one = cpu_s(os.getpid())
    assert one == pytest.approx(time.process_time(), rel=0.1, abs=0.1)
    both = desk(Process(), Process()).cpu_s() or 0
    assert both == pytest.approx(2 * one, rel=0.1, abs=0.2)
    gone = Process()
    gone.pid = 1 << 30
    assert desk(Process(), gone).cpu_s() is None


def test_a_worker_is_a_process_of_its_own_with_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    def start(line: list[str], **more: Any) -> None:
        told.append((line, more))

    monkeypatch.setattr("subprocess.Popen", start)
    make: Callable[..., None] = vars(kafka_paced)["_worker"]
    make(KafkaAddress("x:1", "t"), "a home", 7)
    [(line, more)] = told
    words = ["worker", "--log", "kafka://x:1/t", "--no-tables", "--backbone"]
    assert line[-6:] == [*words, "rehearsal:latency_ms=7"]
    assert more["env"]["METALOGUE_HOME"] == "a home"


class Played:
    """A desk whose answers take so many milliseconds, one after the other."""

    def __init__(self, *took: float, cpu: tuple[float | None, ...] = ()) -> None:
        self.took, self.cpu = iter(took), iter(cpu)
        self.put_s: dict[str, float] = {"warm0": 0.0}
        self.came_s: dict[str, float] = {"warm0": 99.0}
        self.places: list[int] = []
        self.waited = 0

    async def put(self, name: str, partition: int) -> None:
        self.places.append(partition)
        self.put_s[name] = 5.0
        self.came_s[name] = 5.0 + next(self.took, 0.0) / 1_000

    async def answered(self) -> None:
        self.waited += 1

    def cpu_s(self) -> float | None:
        return next(self.cpu)


def played(monkeypatch: pytest.MonkeyPatch, made: Played) -> list[tuple[Any, ...]]:
    """Measurements are made at this desk; how they were begun."""
    begun: list[tuple[Any, ...]] = []

    @asynccontextmanager
    async def at(*words: Any) -> AsyncGenerator[Played]:
        begun.append(words)
        yield made

    monkeypatch.setattr(kafka_paced, "working", at)
    return begun


def test_problems_come_at_a_steady_rate_whatever_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    made = Played(7, 1, 9, 3, 5, 10, 2, 8, 4, 6)
    begun = played(monkeypatch, made)
    monkeypatch.setattr(kafka_paced, "PACED", 10)
    monkeypatch.setattr(kafka_paced, "RATE", 4)
    monkeypatch.setattr(kafka_paced, "asyncio", SimpleNamespace(sleep=sleep))
    # It was late for the last problem, and then waits for nothing.
    looks = iter([20.0] * 10 + [30.0])
    monkeypatch.setattr(kafka_paced, "time", SimpleNamespace(perf_counter=looks.__next__))
    place = KafkaAddress("x:1")
    assert [*asyncio.run(paced(place))] == pytest.approx([6, 10])
    assert slept == [*(at / 4 for at in range(9)), 0]
    assert made.places == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert (begun, made.waited) == ([(place, "paced", 1, 200)], 1)


def test_an_episode_costs_what_all_workers_used_for_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_paced, "QUEUED", 8)
    made, place = Played(cpu=(10.0, 12.0)), KafkaAddress("x:1")
    begun = played(monkeypatch, made)
    assert asyncio.run(costs(place, 2)) == 250.0
    assert (begun, made.waited) == ([(place, "queued2-0", 2, 0)], 1)
    assert made.places == [0, 1, 2, 3, 0, 1, 2, 3]
    for cpu in ((None, 1.0), (1.0, None)):
        played(monkeypatch, Played(cpu=cpu))
        assert asyncio.run(costs(place, 1)) is None
