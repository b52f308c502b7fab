"""The local file of a log on Kafka, and reading answers by where they lie there."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.problem import Problem
from streams.engine.progress import Outcome
from streams.interfaces.cli import consume
from streams.interfaces.cli.errors import CliError
from streams.runtime.kafka.envelope import headers_of
from streams.runtime.kafka.fence import CLAIMED, FREE
from streams.runtime.kafka.imported import KafkaLog
from streams.views.sheet import read
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.broker import Broker, Headers
from tests.memory_kafka.fixture import in_memory


@pytest.fixture
def answered(tmp_path: Path) -> Generator[tuple[OnKafka, Broker]]:
    with in_memory(PARTITIONS) as (place, broker), closing(KafkaLog(place, tmp_path)) as log:
        runtime = OnKafka(place, log)
        for n in range(12):
            body = Problem(id=f"{n}", problem="1", domain="d", policy="pupil").model_dump_json()
            log.publish([("problems", f"{n}", {}, body.encode())])
        assert runtime.live(Life(settle=True)) == Outcome()
        yield runtime, broker


def consumed(
    runtime: OnKafka,
    start: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    def opened(log: str | None, *, writes: bool) -> KafkaLog:
        return KafkaLog(runtime.place, home_of(runtime))

    monkeypatch.setattr(consume, "open_log", opened)
    assert consume.consume("", start=start, group=None, follow=False, json=True) == 0
    return [json.loads(line)["problem_id"] for line in capsys.readouterr().out.splitlines()]


def home_of(runtime: OnKafka) -> Path:
    return runtime.imported.path.parent.parent


@pytest.mark.parametrize("skip", [0, 1])
def test_answers_are_read_from_an_offset_of_a_partition_on(
    answered: tuple[OnKafka, Broker],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    skip: int,
) -> None:
    runtime, broker = answered
    for partition in range(PARTITIONS):
        there = broker.logs[runtime.place.topic("answers"), partition]
        wanted = [json.loads(entry.value or b"")["problem_id"] for entry in there[skip:]]
        assert consumed(runtime, f"{partition}:{skip}", monkeypatch, capsys) == wanted
    assert len(consumed(runtime, "beginning", monkeypatch, capsys)) == 12


def test_a_partition_that_is_not_there_is_named(
    answered: tuple[OnKafka, Broker],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(CliError, match="partition 4"):
        consumed(answered[0], "4:0", monkeypatch, capsys)


def test_a_look_at_a_log_ends_while_workers_go_on_writing(
    answered: tuple[OnKafka, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As fast as it is read: what came after the look began is the next one's."""
    runtime, broker = answered
    log, fetch = runtime.imported, runtime.imported.consumer.getmany
    added: list[int] = []

    def add() -> None:
        body = Problem(id=f"more-{len(added)}", problem="1", domain="d").model_dump_json()
        row: tuple[bytes, bytes, Headers, int] = (b"key", body.encode(), [], 0)
        added.append(broker.append(runtime.place.topic("problems"), 0, [row]))

    async def busy(*asked: Any, **more: Any) -> Any:
        assert len(added) < 20, "it runs after an end that moves"
        found = await fetch(*asked, **more)
        add()
        return found

    add()
    monkeypatch.setattr(log.consumer, "getmany", busy)
    log.refresh()
    assert len(added) == 2
    log.refresh()
    assert log.position("kafka/0", runtime.place.topic("problems")) >= added[1]


def test_a_look_ends_where_the_last_offsets_hold_no_record(
    answered: tuple[OnKafka, Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign producer's transaction leaves its end on the partition, and no client is handed that."""
    runtime, _ = answered
    log, problems = runtime.imported, runtime.place.topic("problems")
    ends_of, position = log.consumer.end_offsets, log.consumer.position

    async def end_offsets(tps: list[Any]) -> dict[Any, int]:
        return {tp: end + (tp.topic == problems) for tp, end in (await ends_of(tps)).items()}

    async def passed(tp: Any) -> int:
        return int(await position(tp)) + int(tp.topic == problems)

    monkeypatch.setattr(log.consumer, "end_offsets", end_offsets)
    monkeypatch.setattr(log.consumer, "position", passed)
    before, steps = log.position("kafka/0", problems), list[int]()

    def step() -> None:
        steps.append(log.position("kafka/0", problems))
        assert len(steps) < 3, "it looks for a record that never comes"

    log.refresh(step)
    assert steps == [before + 1]


def test_what_takes_no_claim_and_is_no_event_stops_no_reader(
    answered: tuple[OnKafka, Broker],
) -> None:
    """Anybody may put it there: no command and no page of the log went any further."""
    runtime, broker = answered
    log = runtime.log()
    before = len(list(log.records()))
    episode = next(iter(log.records(kinds=["episode.opened"]))).episode
    for topic in ("events", "learning"):
        for kind in (*sorted(FREE), CLAIMED):
            for body in (b"", b"not json", b"[1]", b"\xff", b'{"void":"so be it"}'):
                headers = headers_of(kind, episode, f"{kind}.0", 1)
                broker.append(runtime.place.topic(topic), 0, [(b"key", body, headers, 1)])
    log = runtime.log()
    assert len(list(log.records())) == before
    assert read(log, episode).state == "answered"
