"""What `produce` calls known on Kafka: what anybody put there, under whatever name, up to the moment of counting."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from streams.engine.policies import find
from streams.producing.produce import Plan, Produced, Producer
from streams.producing.sources import SourceLine
from streams.runtime.kafka.imported import KafkaLog
from tests.memory_kafka.broker import Broker, Headers
from tests.memory_kafka.fixture import in_memory

PROBLEMS = [{"id": f"q{n}", "problem": f"What is {n} + 1?", "domain": "d"} for n in range(6)]
LINES = [SourceLine(at, json.dumps(each).encode()) for at, each in enumerate(PROBLEMS, 1)]
PLAN = Plan(source="mine.jsonl", find=find)


@pytest.fixture
def imported(tmp_path: Path) -> Generator[tuple[KafkaLog, Broker]]:
    with in_memory() as (place, broker), closing(KafkaLog(place, tmp_path)) as log:
        yield log, broker


def put(log: KafkaLog, broker: Broker, *said: dict[str, Any]) -> None:
    """Plain lines of a foreign client."""
    for each in said:
        row: tuple[bytes, bytes, Headers, int] = (b"any", json.dumps(each).encode(), [], 0)
        broker.append(log.place.topic("problems"), 1, [row])


def counted(done: Produced) -> tuple[int, int, int]:
    return done.produced, done.known, len(done.refused)


def test_problems_of_a_foreign_client_are_known(imported: tuple[KafkaLog, Broker]) -> None:
    log, broker = imported
    put(log, broker, {"never": "a problem"}, *PROBLEMS[:4])
    assert counted(Producer(log, PLAN).run(LINES)) == (2, 4, 0)
    assert counted(Producer(log, PLAN).run(LINES)) == (0, 6, 0)


def test_what_another_command_produced_meanwhile_is_known(
    imported: tuple[KafkaLog, Broker], tmp_path: Path
) -> None:
    log, _ = imported
    with closing(KafkaLog(log.place, tmp_path / "elsewhere")) as other:
        assert counted(Producer(other, PLAN).run(LINES[:5])) == (5, 0, 0)
    assert counted(Producer(log, PLAN).run(LINES)) == (1, 5, 0)


def test_their_ids_are_taken(imported: tuple[KafkaLog, Broker]) -> None:
    log, broker = imported
    put(log, broker, PROBLEMS[0] | {"problem": "What is 7 + 7?"})
    assert counted(Producer(log, PLAN).run(LINES[:2])) == (1, 0, 1)
