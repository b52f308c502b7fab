"""One problem on two partitions, as a foreign client may put it: both come to an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.runtime.kafka.envelope import named
from tests.memory_kafka.fixture import in_memory
from tests.streams.cli.calling import call

LINE = b'{"id":"q","problem":"4 5 6 10","domain":"game24","policy":"cot"}'


def test_a_problem_on_two_partitions_leaves_nothing_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALOGUE_HOME", str(folder / "home"))
    with in_memory(partitions=2) as (place, broker):
        for partition in range(2):
            broker.append(place.topic("problems"), partition, [(b"k", LINE, [("h", b"")], 1)])
        words = ("--backbone", "rehearsal", "--until-idle", "-q", "--log", place.url)
        for _ in range(2):
            assert call("worker", *words).code == 0
            stats = call("log", "stats", "--json", "--log", place.url).json
            assert (stats["answers"], stats["closed"], stats["completions"]) == (1, 1, 1)
        admitted = [
            entry
            for partition in range(2)
            for entry in broker.logs[place.topic("events"), partition]
            if b"problem.admitted" in named(entry.headers)["ce_type"]
        ]
        assert len(admitted) == 1, "nobody is asked twice"
        assert call("verify", "--log", place.url).code == 0
