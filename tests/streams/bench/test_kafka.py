"""`bench kafka` on a broker in memory: who appends what, and what rates, ratios and latencies are of."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from schemas.events.codec import decode
from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from streams.research.bench import kafka, kafka_answers, kafka_paced
from streams.runtime.kafka import aio
from streams.runtime.kafka.envelope import read
from streams.runtime.kafka.place import KafkaAddress
from tests.memory_kafka.broker import Broker, Entry, Producer
from tests.memory_kafka.fixture import GLANCES, broker_of, in_memory

OPTIONS: list[dict[str, Any]] = []
"""What each producer was told."""


class Plain(Producer):
    """With the calls that a hand-written client makes."""

    started = 0

    async def start(self) -> None:
        type(self).started += 1

    async def stop(self) -> None:
        type(self).started -= 1

    async def send(self, topic: str, value: bytes, *, key: bytes, partition: int) -> None:
        self.broker.append(topic, partition, [(key, value, [], 1)])

    async def send_and_wait(self, topic: str, value: bytes, *, key: bytes, partition: int) -> None:
        await self.send(topic, value, key=key, partition=partition)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[KafkaAddress, Broker]]:
    """A broker, and a bench of six episodes of three steps over four partitions, twice."""

    def producer(place: KafkaAddress, **options: Any) -> Plain:
        OPTIONS.append(options)
        return Plain(broker_of(place))

    OPTIONS.clear()
    Plain.started = 0
    sizes = {"EPISODES": 6, "STEPS": 3, "PARTITIONS": 4, "ROUNDS": 3}
    with in_memory(2, glances=GLANCES) as found:
        monkeypatch.setattr(aio, "producer", producer)
        for name, value in sizes.items():
            monkeypatch.setattr(kafka, name, value)
        yield found


def entries(broker: Broker, topic: str) -> list[Entry]:
    """Everything on a topic."""
    return [entry for (name, _), kept in broker.logs.items() for entry in kept if name == topic]


@pytest.fixture
def measured(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, object], list[Entry], list[Entry]]:
    """The figures, what was appended by hand, and what a worker's writers appended."""
    place, broker = here
    told: list[KafkaAddress] = []

    async def latencies(mine: KafkaAddress) -> tuple[float, float]:
        told.append(mine)
        return 2.34567, 34.56789

    async def paced(mine: KafkaAddress) -> tuple[float, float]:
        told.append(mine)
        return 234.567, 345.678

    async def costs(mine: KafkaAddress, workers: int, turn: int) -> float:
        told.append(mine)
        # The machine slows down, and what both cost with it; once something else ran beside the two.
        return (turn + 1) * 1.25 * float(workers**0.5) * (9 if (workers, turn) == (2, 1) else 1)

    # By hand and by the worker in turn, three times over; then reading and replaying in turn.
    spent = (2.0, 1.0, 4.0, 4.0, 1.0, 0.25, 0.5, 1.0, 0.25, 0.5, 0.125, 1.0)
    looks = iter([look for each in spent for look in (0.0, each)])
    clock = SimpleNamespace(perf_counter=looks.__next__, time_ns=lambda: 17)
    said: list[str] = []
    monkeypatch.setattr(kafka_answers, "latencies", latencies)
    monkeypatch.setattr(kafka_paced, "paced", paced)
    monkeypatch.setattr(kafka_paced, "costs", costs)
    monkeypatch.setattr(kafka, "time", clock)
    figures = kafka.run(place, said.append)
    assert said == [
        "appending, beside plain aiokafka",
        "replaying, beside plain aiokafka",
        "answering",
        "answering 50 a second, 200 ms a call, by a worker of its own",
        "answering what is queued, by one worker and by two",
    ]
    [mine] = {each.prefix: each for each in told}.values()
    assert (mine.servers, mine.prefix, mine.clients) == (place.servers, "t.17", place.clients)
    assert broker.partitions(mine.topic("events")) == [0, 1, 2, 3]
    assert not entries(broker, place.topic("events")), "the place itself stays as it was"
    plain = entries(broker, mine.topic("events").replace("t.17", "t.17.plain"))
    return figures, plain, entries(broker, mine.topic("events"))


def test_rates_are_of_all_appends_and_the_ratio_of_each_turn(
    measured: tuple[dict[str, object], list[Entry], list[Entry]],
) -> None:
    assert measured[0] == {
        "append_ratio": 2.0,
        "appends_per_s": 36,
        "raw_appends_per_s": 18,
        "answer_p50_ms": 2.35,
        "answer_p99_ms": 34.57,
        "replay_events_per_s": 3 * 36,
        "raw_reads_per_s": 4 * 3 * 36,
        "replay_ratio": 0.5,
        "paced_p50_ms": 235,
        "paced_p99_ms": 346,
        "cpu_ms_an_episode": 2.5,
        "cpu_of_two_workers": 1.414,
    }


def test_both_append_the_same_bytes_with_the_same_promises(
    measured: tuple[dict[str, object], list[Entry], list[Entry]],
) -> None:
    _, plain, ours = measured
    assert Counter(each.value for each in plain) == Counter(each.value for each in ours)
    assert Counter(each.partition for each in plain) == Counter(each.partition for each in ours)
    assert Counter(each.key for each in plain) == {f"raw/{n}".encode(): 18 for n in range(6)}
    assert all(each.partition == int((each.key or b"")[4:]) % 4 for each in plain)
    assert Plain.started == 0, "none is left open"
    theirs = OPTIONS[::2]
    for mine in OPTIONS[1::2]:
        assert all(each.items() <= mine.items() and len(each) == 5 for each in theirs)


def test_ours_are_episodes_whose_answers_come_with_a_fact(
    measured: tuple[dict[str, object], list[Entry], list[Entry]],
) -> None:
    episodes: dict[str, list[Any]] = {}
    for each in measured[2]:
        record = read(each.headers, each.value)
        at = episodes.setdefault(record.episode, [])
        assert (record.address, record.epoch) == (str(len(at)), 0)
        at.append(decode(record.kind, record.body))
    assert set(episodes) == {f"p/bench/{turn}-{n}/run" for turn in range(3) for n in range(6)}
    for events in episodes.values():
        assert [type(event) for event in events] == [Generated, Completed] * 3
        assert {(event.source, event.answer) for event in events[::2]} == {("0", "1")}
        assert [event.prompt_tokens for event in events[1::2]] == [100, 101, 102]
        assert {(e.completion_tokens, e.finish, e.model, e.seconds) for e in events[1::2]} == {
            (50, "stop", "m", 0.5)
        }


def test_a_place_without_a_prefix_is_given_one(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, broker = here

    async def latencies(_: KafkaAddress) -> tuple[float, float]:
        return 0.0, 0.0

    async def unknown(_: KafkaAddress, workers: int, turn: int) -> None:
        return None

    monkeypatch.setattr(kafka_answers, "latencies", latencies)
    monkeypatch.setattr(kafka_paced, "paced", latencies)
    monkeypatch.setattr(kafka_paced, "costs", unknown)
    found = kafka.run(KafkaAddress(place.servers), lambda _: None)
    assert (found["cpu_ms_an_episode"], found["cpu_of_two_workers"]) == (None, None)
    assert any(name.startswith("bench.") for name, _ in broker.logs)


def test_latencies_are_of_warm_answers_to_problems_in_turn(
    here: tuple[KafkaAddress, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, broker = here
    # Milliseconds of each: the first two are cold and the slowest of all.
    spent = iter((0.9, 0.8, *(at / 1000 for at in (7, 1, 9, 3, 5, 10, 2, 8, 4, 6))))
    looks = iter([look for each in spent for look in (0.0, each)])
    monkeypatch.setattr(kafka_answers, "time", SimpleNamespace(perf_counter=looks.__next__))
    monkeypatch.setattr(kafka_answers, "ASKED", 10)
    monkeypatch.setattr(kafka_answers, "WARM", 2)
    posed_then: list[int] = []

    def is_ready(worker: Any) -> bool:
        posed_then.append(
            len(entries(broker, KafkaAddress(place.servers, "t.a").topic("problems")))
        )
        asyncio.get_running_loop().call_soon(worker.schedule.changed.set)
        return len(posed_then) == 3

    monkeypatch.setattr(kafka_answers, "is_ready", is_ready)
    p50, p99 = asyncio.run(asyncio.wait_for(kafka_answers.latencies(place), 60))
    assert [p50, p99] == pytest.approx([6, 10])
    fresh = KafkaAddress(place.servers, "t.a")
    assert broker.partitions(fresh.topic("problems")) == [0, 1, 2, 3]
    for at in range(4):
        posed = [each.key for each in broker.logs[fresh.topic("problems"), at]]
        assert posed == [f"b{number}".encode() for number in range(at, 12, 4)]
    answers = [orjson.loads(each.value or b"") for each in entries(broker, fresh.topic("answers"))]
    assert sorted(each["problem_id"] for each in answers) == sorted(f"b{at}" for at in range(12))
    assert {(each["answer"], each["policy"]) for each in answers} == {("24", "cot")}
    used = [each["usage"] for each in answers]
    counts = ("calls", "prompt_tokens", "completion_tokens")
    assert {tuple(each[name] for name in counts) for each in used} == {(1, 1, 1)}
    events = [orjson.loads(each.value or b"{}") for each in entries(broker, fresh.topic("events"))]
    assert {each["model"] for each in events if "model" in each} == {"instant"}
    assert {"SIMULATED" in each["backbones"] for each in events if "backbones" in each} == {True}
    assert posed_then == [0, 0, 0], "nothing was put before the worker was ready"
    assert {each["seconds"] for each in used} == {0.0}, "a backbone that takes no time"
