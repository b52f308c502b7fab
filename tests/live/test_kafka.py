"""The runtime on a real broker: the same meaning as the embedded one, whoever dies, freezes or joins."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.live.kafka_here import Cluster, broker, eventually, missing

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
needs_kcat = pytest.mark.skipif(
    shutil.which("kcat") is None and not os.environ.get("CI"), reason="no kcat on this machine"
)
REHEARSAL = ("--backbone", "rehearsal:seed=7")
SLOW = ("--backbone", "rehearsal:seed=7,latency_ms=3000")


@pytest.fixture(scope="session")
def node() -> Generator[tuple[str, Path]]:
    """One broker for all tests of this process."""
    with tempfile.TemporaryDirectory(prefix="metalogue-kafka-") as folder:
        yield broker(Path(folder), "start"), Path(folder)
        broker(Path(folder), "clean")


@pytest.fixture
def cluster(
    node: tuple[str, Path], tmp_path: Path, request: pytest.FixtureRequest
) -> Generator[Cluster]:
    name = f"t{time.time_ns()}"
    made = Cluster(node[0], name, tmp_path)
    made.out("topics", "create", "--partitions", 8)
    yield made
    made.close()


def ended(*workers: subprocess.Popen[bytes], limit_s: float = 120) -> list[int]:
    return [each.wait(limit_s) for each in workers]


def lines(count: int, **more: object) -> bytes:
    rows = (
        {"id": f"k{i}", "problem": f"{1 + i % 9} {1 + i % 7} 8 3", "domain": f"d{i % 4}", **more}
        for i in range(count)
    )
    return b"".join(f"{row['id']}\t{json.dumps(row)}\n".encode() for row in rows)


def test_a_series_over_two_workers_means_what_it_means_embedded(
    cluster: Cluster, tmp_path: Path
) -> None:
    flat = Cluster("sqlite:", "", tmp_path)
    flat.base = f"sqlite:{tmp_path}/flat.db"
    flat_url = f"sqlite:{tmp_path}/flat.db"
    for url in (cluster.url, flat_url):
        done = cluster.call("produce", "game24:901-940", "--policy", "mc2")
        if url is flat_url:
            done = subprocess.run(
                [*cluster.command("produce", "game24:901-940", "--policy", "mc2")[:-1], flat_url],
                env=cluster.environ(),
                capture_output=True,
                check=False,
            )
        assert done.returncode == 0, done.stderr
    options = (*REHEARSAL, "--until-idle", "--settle")
    embedded = [*cluster.command("worker", *options)[:-1], flat_url]
    assert subprocess.run(embedded, env=cluster.environ(), check=False).returncode == 0
    assert ended(cluster.worker(*options), cluster.worker(*options)) == [0, 0]
    for verb in (("state", "hash"), ("log", "digest")):
        here = cluster.out(*verb)
        there = subprocess.run(
            [*cluster.command(*verb)[:-1], flat_url],
            env=cluster.environ(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        assert here == there
    assert "0 model calls" in cluster.out("verify")
    found = cluster.stats()
    assert found["learning_episodes"] == 4
    assert found["answers"] == 40
    assert len(cluster.out("consume", "--json").splitlines()) == 40


@needs_kcat
def test_a_foreign_client_is_served_and_its_broken_lines_are_kept(cluster: Cluster) -> None:
    junk = b"".join(b"j%d\t{broken %d\n" % (i, i) for i in range(200))
    given = lines(20, policy="cot", answer="24") + junk
    cluster.kcat("-P", "-t", cluster.topic("problems"), "-K", "\t", given=given)
    assert ended(cluster.worker(*REHEARSAL, "--until-idle", "--settle")) == [0]
    found = cluster.stats()
    assert (found["answers"], found["dead_letters"]) == (20, 200)
    dead = cluster.kcat("-C", "-t", f"dlq.{cluster.topic('problems')}", "-e", "-q", "-f", "%s\n")
    assert sorted(dead.splitlines()) == sorted(b"{broken %d" % i for i in range(200))
    headers = cluster.kcat("-C", "-t", f"dlq.{cluster.topic('problems')}", "-e", "-q", "-f", "%h\n")
    assert b"__metalogue.errors.exception=input.json" in headers
    answers = cluster.kcat("-C", "-t", cluster.topic("answers"), "-e", "-q").splitlines()
    assert {json.loads(line)["problem_id"] for line in answers} == {f"k{i}" for i in range(20)}
    labels = cluster.kcat("-C", "-t", cluster.topic("feedback"), "-e", "-q").splitlines()
    assert len(labels) == 20
    assert b"24" not in cluster.kcat("-C", "-t", cluster.topic("events"), "-e", "-q", "-f", "%k\n")


@needs_kcat
def test_kill_freeze_and_join_leave_one_answer_each_and_no_repeated_call(cluster: Cluster) -> None:
    cluster.kcat("-P", "-t", cluster.topic("problems"), "-K", "\t", given=lines(200, policy="mc2"))

    def open_now(least: int) -> int:
        found = cluster.stats()
        here = found["opened"] - found["closed"]
        return here if here >= least else 0

    first, second = cluster.worker(*SLOW), cluster.worker(*SLOW)
    killed_at = eventually(lambda: open_now(60))
    first.kill()
    first.wait()
    third = cluster.worker(*SLOW)
    frozen_at = eventually(lambda: open_now(30))
    second.send_signal(signal.SIGSTOP)
    time.sleep(12)
    second.send_signal(signal.SIGCONT)
    eventually(lambda: cluster.stats()["answers"] >= 200, 200)
    for each in (second, third):
        each.terminate()
    assert ended(second, third, limit_s=60) == [0, 0]
    found = cluster.stats()
    assert (found["answers"], found["repeated_completions"]) == (200, 0)
    assert found["stale_completions"] <= killed_at + frozen_at
    assert "diverge" not in cluster.out("verify")
