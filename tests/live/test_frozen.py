"""A broker that is stopped where it stands costs what one that is gone costs, and holds nobody from ending."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.live.kafka_here import Cluster, eventually, frozen, missing
from tests.live.test_kafka import lines
from tests.pace import soon
from tests.ports import free_port
from tests.streams.telemetry.test_metrics import fetched, status

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(300),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
SLOW = ("--backbone", "rehearsal:seed=7,latency_ms=1000", "--max-concurrency", 8)
FROZEN_S, AGAIN_S, OBEYS_S = 20.0, 10.0, 5.0


def answered(cluster: Cluster) -> int:
    return cluster.stats()["answers"]


def told_to_end(worker: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> int:
    """The exit code of a worker that obeys in time."""
    limit_s = soon(OBEYS_S)
    worker.send_signal(number)
    return worker.wait(limit_s)


@pytest.mark.slow
def test_work_goes_on_soon_after_a_broker_does_and_nothing_is_lost_or_doubled(
    cluster: Cluster, node: tuple[str, Path]
) -> None:
    count, port = 100, free_port()
    cluster.send(lines(count, policy="cot"))
    cluster.worker(*SLOW, "--metrics", f"127.0.0.1:{port}")
    eventually(lambda: fetched(port, "/readyz") == "ok\n" and answered(cluster) > 10)
    with frozen(node[1]):
        end = time.monotonic() + FROZEN_S
        eventually(lambda: status(port, "/readyz")[0] == 503, FROZEN_S)
        time.sleep(max(0.0, end - time.monotonic()))
    began, before = time.monotonic(), answered(cluster)
    eventually(lambda: answered(cluster) > before, soon(AGAIN_S))
    print(f"frozen for {FROZEN_S:.0f} s, at work again after {time.monotonic() - began:.1f} s")
    eventually(lambda: answered(cluster) == count)
    stats = cluster.stats()
    assert (stats["closed"], stats["repeated_completions"]) == (count, 0)
    assert cluster.out("verify").splitlines()[-1].startswith(f"verified {count} episodes")
    said = cluster.said.read_text()
    assert "Traceback" not in said
    eventually(lambda: cluster.said.read_text().count("back after") == 1)
    assert said.count("and work goes on by itself") == 1


@pytest.mark.slow
def test_a_worker_whose_appends_wait_ends_and_says_what_was_not_recorded(
    cluster: Cluster, node: tuple[str, Path]
) -> None:
    cluster.send(lines(100, policy="cot"))
    worker = cluster.worker(*SLOW)
    eventually(lambda: answered(cluster) > 5)
    with frozen(node[1]):
        time.sleep(2)  # calls that were in flight are answered by now
        assert told_to_end(worker) == 6
    said = cluster.said.read_text()
    assert "were taken by no broker [log.unreachable, exit 6]" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_worker_that_waits_for_a_broker_from_its_start_on_ends_when_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base = f"kafka://127.0.0.1:{silent.getsockname()[1]}"
        with closing(Cluster(base, "t", tmp_path)) as nowhere:
            worker = nowhere.worker(*SLOW)
            link, _ = silent.accept()
            with link:  # it asks now, and nobody answers
                assert told_to_end(worker) == 0
            assert nowhere.said.read_text().startswith("draining: ")
            assert nowhere.said.read_text().count("\n") == 1
    with closing(Cluster(base, "t", tmp_path / "none")) as nowhere:
        nowhere.home.mkdir()
        worker = nowhere.worker(*SLOW)
        assert worker.wait(90) == 6, "where nobody listens it does not wait"
        assert "[log.unreachable, exit 6]" in nowhere.said.read_text()
        assert "Traceback" not in nowhere.said.read_text()
