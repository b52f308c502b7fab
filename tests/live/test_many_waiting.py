"""More problems than a worker holds: fetching rests while they wait, and each has its answer."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.kafka import topics
from streams.runtime.kafka.ownership import PAUSE_AT
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import Cluster, eventually, missing
from tests.live.test_health import figure
from tests.live.test_kafka import lines
from tests.ports import free_port
from tests.streams.telemetry.test_metrics import fetched

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(300),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
COUNT = 3 * PAUSE_AT + 7


def test_what_was_fetched_when_fetching_came_to_rest_is_not_passed_over(
    node: tuple[str, Path], tmp_path: Path
) -> None:
    with closing(Cluster(node[0], "waiting", tmp_path)) as cluster:
        asyncio.run(topics.create(KafkaAddress.of(cluster.url), 1))
        cluster.send(lines(COUNT, policy="cot"))
        port = free_port()
        work = ("--backbone", "rehearsal:seed=7,latency_ms=0", "--max-concurrency", 64)
        cluster.worker(*work, "--metrics", f"127.0.0.1:{port}")
        eventually(lambda: fetched(port, "/readyz") == "ok\n")
        eventually(lambda: figure(port, "metalogue_episodes_closed_total") > PAUSE_AT, 120)
        eventually(lambda: cluster.stats()["answers"] == COUNT, 120)
        assert cluster.stats()["completions"] == COUNT, "each was paid for once"
