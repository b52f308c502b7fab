"""What a worker on a real broker says of itself while the broker is there, frozen and away."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from streams.runtime.kafka import aio
from streams.runtime.kafka.deadlines import ANSWER_S
from streams.runtime.kafka.health import LOOK_S
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import Cluster, broker, eventually, frozen, missing
from tests.live.test_kafka import lines
from tests.ports import free_port
from tests.streams.telemetry.test_metrics import fetched, parsed, status

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
REHEARSAL = ("--backbone", "rehearsal:seed=7")
SLOW = ("--backbone", "rehearsal:seed=7,latency_ms=2000", "--max-concurrency", 8)
OUT_S = ANSWER_S + LOOK_S
"""So long nothing more is said of an outage once it was told: whatever is asked at its begin runs out meanwhile."""
MOST_LINES = 40
"""So much may a worker say of an outage, its clients' lines among them."""


def figure(port: int, name: str) -> float:
    return parsed(status(port, "/metrics")[1])[name, ()]


def demand(url: str, topic: str, replicas: int) -> None:
    """Set how many replicas have to be in sync for a topic to take appends."""

    async def set_them() -> None:
        place = KafkaAddress.of(url)
        admin = aio.admin(place)
        await admin.start()
        resources: Any = aio.module(".admin.config_resource")
        wanted = {"min.insync.replicas": str(replicas)}
        kind = resources.ConfigResourceType.TOPIC
        await admin.alter_configs([resources.ConfigResource(kind, place.topic(topic), wanted)])
        await admin.close()

    asyncio.run(set_them())


def listening(port: int) -> set[str]:
    """The addresses of this machine at which something listens on a port."""
    told = subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, check=True)
    return {line.split()[3].rpartition(":")[0] for line in told.stdout.decode().splitlines()}


@pytest.mark.skipif(shutil.which("ss") is None, reason="no ss on this machine")
def test_a_worker_s_pages_are_for_this_machine_unless_it_is_told_else(cluster: Cluster) -> None:
    ports = free_port(), free_port()
    cluster.worker(*REHEARSAL, METALOGUE_KAFKA__WEB_PORT=str(ports[0]))
    cluster.worker(*REHEARSAL, "--metrics", f"0.0.0.0:{ports[1]}")
    eventually(lambda: {fetched(port, "/readyz") for port in ports} == {"ok\n"})
    for port in ports:
        assert "metalogue_partitions_owned" in (fetched(port, "/metrics") or "")
    assert [listening(port) for port in ports] == [{"127.0.0.1"}, {"0.0.0.0"}]


def test_a_port_that_is_taken_is_no_broker_that_is_away(cluster: Cluster, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        done = cluster.call("worker", *REHEARSAL, "--metrics", place)
    assert done.returncode == 6
    assert done.stderr.decode().startswith(f"{place}: Address already in use [web.taken, exit 6]")


def test_a_frozen_broker_is_told_once_and_seen_in_health_and_figures(
    cluster: Cluster, node: tuple[str, Path]
) -> None:
    port = free_port()
    cluster.send(lines(400, policy="cot"))
    worker = cluster.worker(*SLOW, "--metrics", f"127.0.0.1:{port}")
    eventually(lambda: fetched(port, "/readyz") == "ok\n" and figure(port, AGE) < 5)
    with frozen(node[1]):
        unready = eventually(lambda: (found := status(port, "/readyz"))[0] == 503 and found[1])
        assert status(port, "/livez") == (200, "ok\n")
        assert figure(port, "metalogue_appends_waiting") > 0
        assert figure(port, "metalogue_append_wait_seconds") > 5
        assert figure(port, AGE) > 5
        assert re.search(r"; [1-9]\d* appends? waits?", unready)
        time.sleep(OUT_S)
    eventually(lambda: fetched(port, "/readyz") == "ok\n")
    eventually(lambda: figure(port, AGE) < 5)
    eventually(lambda: "back after" in cluster.said.read_text())
    told = cluster.said.read_text().splitlines()
    assert sum("work goes on by itself" in line for line in told) == 1
    assert sum("back after" in line for line in told) == 1
    assert len(told) <= MOST_LINES, told
    assert worker.poll() is None


AGE = "metalogue_append_age_seconds"


def test_an_idle_worker_notices_a_broker_that_is_gone_and_its_return(
    cluster: Cluster, node: tuple[str, Path]
) -> None:
    port = free_port()
    worker = cluster.worker(*REHEARSAL, "--metrics", f"127.0.0.1:{port}")
    eventually(lambda: fetched(port, "/readyz") == "ok\n")
    broker(node[1], "stop")
    try:
        found = eventually(lambda: (found := status(port, "/readyz"))[0] == 503 and found[1])
        assert found.startswith("brokers away for ")
        assert status(port, "/livez") == (200, "ok\n")
        time.sleep(OUT_S)
    finally:
        broker(node[1], "start")
    eventually(lambda: fetched(port, "/readyz") == "ok\n")
    eventually(lambda: "back after" in cluster.said.read_text())
    told = cluster.said.read_text().splitlines()
    assert sum("brokers away since" in line for line in told) == 1
    assert sum("back after" in line for line in told) == 1
    assert len(told) <= MOST_LINES, told
    assert worker.poll() is None


def test_too_few_replicas_in_sync_are_told_though_nothing_is_to_be_appended(
    cluster: Cluster,
) -> None:
    port = free_port()
    cluster.worker(*REHEARSAL, "--metrics", f"127.0.0.1:{port}")
    eventually(lambda: fetched(port, "/readyz") == "ok\n")
    demand(cluster.url, "answers", 2)
    found = eventually(lambda: (found := status(port, "/readyz"))[0] == 503 and found[1])
    assert found.startswith("8 partitions below min.insync.replicas")
    demand(cluster.url, "answers", 1)
    eventually(lambda: fetched(port, "/readyz") == "ok\n")


def test_the_lag_of_each_partition_is_what_is_still_to_be_read(cluster: Cluster) -> None:
    port = free_port()
    cluster.worker(*SLOW, "--metrics", f"127.0.0.1:{port}")
    eventually(lambda: fetched(port, "/readyz") == "ok\n")
    cluster.send(lines(5_000, policy="cot"))

    def lag() -> dict[tuple[str, str], float]:
        found = parsed(status(port, "/metrics")[1])
        named = {
            dict(of).values(): at for (name, of), at in found.items() if "partition_lag" in name
        }
        return {(topic, partition): at for (partition, topic), at in named.items()}

    behind = eventually(lambda: (at := lag()) and sum(at.values()) > 1_000 and at)
    assert set(behind) == {
        (t, str(p)) for t in ("problems", "events", "learning") for p in range(8)
    }
    assert max(at for (topic, _), at in behind.items() if topic != "problems") < 100
