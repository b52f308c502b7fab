"""Starts on a real broker: what was closed before is not read again, and no crash parts a window from its offsets."""

from __future__ import annotations

import signal
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schemas.problem import Problem
from streams.engine.progress import Outcome
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.view import View
from tests.contracts.runtimes import Life, OnKafka
from tests.live.kafka_here import Cluster, Flat, ended, eventually, missing
from tests.live.test_kafka import same_meaning

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
REHEARSAL = ("--backbone", "rehearsal:seed=7")


def solved(runtime: OnKafka, first: int, size: int) -> None:
    given = (
        Problem(id=f"{n}", problem="1 2 3 4", domain="game24", policy="pupil")
        for n in range(first, first + size)
    )
    rows = [("problems", f"m{p.id}", dict[str, Any](), p.model_dump_json().encode()) for p in given]
    runtime.log().publish(rows)
    assert runtime.live(Life(slots=200, settle=True)) == Outcome()


def test_ten_times_the_closed_episodes_are_no_more_to_read(
    place: KafkaAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, take = list[str](), View.take

    def counted(view: View, topic: str, partition: int, record: Any) -> None:
        read.append(topic)
        take(view, topic, partition, record)

    monkeypatch.setattr(View, "take", counted)

    def start(runtime: OnKafka) -> int:
        read.clear()
        assert runtime.live(Life()) == Outcome()
        worker = runtime.worker
        assert worker is not None
        return len(read) + worker.past.read + sum(worker.owning.replayed)

    with closing(KafkaLog(place, tmp_path)) as log:
        runtime = OnKafka(place, log, tmp_path / "closed.db", tmp_path / "learned")
        solved(runtime, 0, 20)
        few = start(runtime)
        solved(runtime, 20, 180)
        many = start(runtime)
        runtime.kept = runtime.index = None
        whole = start(runtime)
    assert many <= few * 1.2 + 8, (few, many, whole)
    assert whole > 4 * many


def learned(cluster: Cluster, least: int) -> bool:
    return cluster.stats()["learning_episodes"] >= least


def test_killed_again_and_again_it_learns_what_one_life_learns(
    cluster: Cluster, tmp_path: Path
) -> None:
    flat, source = Flat(tmp_path), ("game24:901-960", "--policy", "mc2", "--set", "batch_size=6")
    for each in (cluster, flat):
        each.out("produce", *source)
    slow = ("--backbone", "rehearsal:seed=7,latency_ms=60", "--log-level", "info")
    for batches in (1, 3, 5):
        worker = cluster.worker(*slow)
        eventually(partial(learned, cluster, batches))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    options = ("--until-idle", "--settle", "--log-level", "info")
    assert ended(cluster.worker(*REHEARSAL, *options)) == [0]
    assert ended(flat.worker(*REHEARSAL, *options)) == [0]
    same_meaning(cluster, flat)
    found = cluster.stats()
    assert (found["answers"], found["learning_episodes"]) == (60, 10)
    assert (found["repeated_completions"], found["problems"]) == (0, 60)
    assert cluster.said.read_text().count("records that taught") == 3, "each later life went on"
