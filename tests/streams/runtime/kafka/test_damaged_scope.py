"""A memory version that does not add up is one scope's damage: workers tell of it, and go on with all others."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from schemas.events.learning import BatchClosed, MemoryVersioned
from schemas.problem import Problem
from streams.engine.learner import Learner
from streams.engine.scopes import Scope
from streams.runtime.kafka.imported import KafkaLog
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.fixture import GLANCES, in_memory
from tests.pupil import SIZE, WINDOW, Put, problems, publication


def test_no_worker_ends_on_a_version_that_does_not_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    version = Learner.version

    def wrong(learner: Learner, scope: Scope, closed: BatchClosed) -> MemoryVersioned:
        return structs.replace(version(learner, scope, closed), state="0f")

    with (
        in_memory(PARTITIONS, glances=GLANCES) as (place, _),
        closing(KafkaLog(place, tmp_path)) as log,
    ):
        runtime = OnKafka(place, log)
        log.publish(*publication(problems()))
        with monkeypatch.context() as patch:
            patch.setattr(Learner, "version", wrong)
            first = runtime.live(Life(settle=True))
        waiting = {f"p/d/{place}" for place in range(WINDOW, SIZE)}
        assert first is not None
        assert {name.rpartition("/")[0] for name in first.held} == waiting
        other = Problem(id="other", problem="1", domain="d", policy="pupil", memory="other")
        put: Put = "problems", "p/d/other/x", {}, other.model_dump_json().encode()
        log.publish([put])
        again = runtime.live(Life(settle=True))
        assert again is not None
        assert sorted(again.held) == sorted(first.held)
        closed = {record.episode for record in runtime.log().records(kinds=["episode.closed"])}
    assert {name.split("/")[2] for name in closed if name.startswith("p/")} == {
        "0",
        "1",
        "2",
        "other",
    }
    told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(told) == 2, "once by each worker"
    assert all("version 1 does not add up to its records" in each for each in told)
