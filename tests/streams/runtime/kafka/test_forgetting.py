"""A second problem is forgotten on Kafka while versions are made anew for a first one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from schemas.problem import Limits
from streams.engine.progress import Outcome
from streams.replay.lineage import command
from streams.runtime.embedded.log import ClosedAgain, SqliteLog
from streams.runtime.embedded.queries.scopes import closed_again
from streams.runtime.embedded.records import learned
from streams.runtime.kafka.imported import KafkaLog
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.fixture import GLANCES, in_memory
from tests.pupil import find, meant, problems, publication

FIRST, SECOND = "0", "4"
PLACES = 40


def forget(log: SqliteLog, scope: str, problem: str) -> None:
    log.publish(commands=[command(scope, "d", problem, Limits(), None, None)])


def test_it_is_refused_while_one_is_half_made_and_taken_when_that_stands(tmp_path: Path) -> None:
    with (
        in_memory(PARTITIONS, glances=GLANCES) as (place, _),
        closing(KafkaLog(place, tmp_path / "worker")) as log,
        closing(KafkaLog(place, tmp_path / "command")) as other,
    ):
        runtime = OnKafka(place, log)
        log.publish(*publication(problems()))
        assert runtime.live(Life(settle=True)) == Outcome()
        [scope] = learned(runtime.log(), find).scopes
        forget(other, scope, FIRST)
        for left in range(1, PLACES):
            runtime.live(Life(settle=True, dies_after=left))
            if closed_again(runtime.log(), scope) is not None:
                break
        # What the other command read last is older than the closing.
        assert closed_again(other, scope) is None
        with pytest.raises(ClosedAgain):
            forget(other, scope, SECOND)
        forget(other, scope, FIRST)
        assert runtime.live(Life(settle=True)) == Outcome()
        forget(other, scope, SECOND)
        assert runtime.live(Life(settle=True)) == Outcome()
        memory = learned(runtime.log(), find).scopes[scope].memory
        assert memory.forgetting.subjects.keys() == {"p/d/0/", "p/d/4/"}
        assert not memory.forgetting.owed
        assert not any(memory.forgetting.cites(item) for item in memory.latest.whole())
        meant(runtime.log())


def test_whoever_withdraws_is_connected_before_it_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the word a worker may close what the look saw open: a connection takes a second."""
    connected: list[bool] = []

    def looks(log: KafkaLog, commands: object) -> None:
        connected.append(log.appender is not None)

    monkeypatch.setattr(KafkaLog, "withdrawable", looks)
    with (
        in_memory(PARTITIONS, glances=GLANCES) as (place, _),
        closing(KafkaLog(place, tmp_path)) as log,
    ):
        forget(log, "d/mc2/main/0", FIRST)
    assert connected == [True]


def test_one_that_lands_on_a_half_made_version_has_it_made_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look of whoever withdraws and its word a worker may close a batch again, with the problem in it."""

    def looks(log: KafkaLog, commands: object) -> None:
        """As if the closing had come after the look, wherever the worker was then."""

    monkeypatch.setattr(KafkaLog, "withdrawable", looks)
    revisions = set[int]()
    for left in range(1, PLACES):
        with (
            in_memory(PARTITIONS, glances=GLANCES) as (place, _),
            closing(KafkaLog(place, tmp_path / f"{left}")) as log,
        ):
            runtime = OnKafka(place, log)
            log.publish(*publication(problems()))
            assert runtime.live(Life(settle=True)) == Outcome()
            [scope] = learned(runtime.log(), find).scopes
            forget(log, scope, FIRST)
            ended = runtime.live(Life(settle=True, dies_after=left))
            half_made = closed_again(runtime.log(), scope)
            if half_made is None:
                if ended == Outcome():
                    break
                continue
            forget(log, scope, SECOND)
            assert runtime.live(Life(settle=True)) == Outcome()
            memory = learned(runtime.log(), find).scopes[scope].memory
            assert not memory.forgetting.owed
            assert not any(memory.forgetting.cites(item) for item in memory.latest.whole())
            revisions.update(version.revision for version in memory.versions.values())
            meant(runtime.log())
    assert max(revisions) >= 2, "no closing was overtaken"
