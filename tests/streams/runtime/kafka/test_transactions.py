"""The end of a foreign producer's transaction takes an offset and is no record: nobody waits for one there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from streams.engine.progress import Outcome
from streams.runtime.kafka import health
from streams.runtime.kafka.imported import KafkaLog
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.fixture import in_memory
from tests.pupil import SIZE, problems, publication


@pytest.mark.parametrize("name", ["problems", "events", "learning", "feedback", "checkpoints"])
@pytest.mark.timeout(60)
def test_a_worker_begins_and_ends_where_a_partition_ends_with_a_transaction(
    name: str, tmp_path: Path
) -> None:
    glances = ((health, "LOOK_S", 0.05),)
    with (
        in_memory(PARTITIONS, glances=glances) as (place, broker),
        closing(KafkaLog(place, tmp_path)) as log,
    ):
        runtime = OnKafka(place, log)
        log.publish(*publication(problems()))
        for _ in range(2):
            for partition in range(PARTITIONS):
                broker.end_transaction(place.topic(name), partition)
            assert runtime.live(Life()) == Outcome()
        assert len(list(runtime.log().messages("answers"))) == SIZE
