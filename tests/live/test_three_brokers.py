"""Three brokers: one that is frozen costs the work about what one that is killed does."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import tempfile
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import Cluster, broker, eventually, missing, pid_of
from tests.live.test_dashboard import OLD
from tests.live.test_health import figure
from tests.live.test_kafka import lines
from tests.live.test_large import LARGE
from tests.pace import soon
from tests.ports import free_port
from tests.streams.dashboard.serving import serving
from tests.streams.telemetry.test_metrics import fetched, parsed, status

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.soak,
    pytest.mark.timeout(600),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
BROKERS, PARTITIONS, COUNT = 3, 8, 1_000
WORK = ("--backbone", "rehearsal:seed=7,latency_ms=1000", "--max-concurrency", 16)
WATCHED_S, MORE_S = 25.0, 15.0
"""How long work is watched after a fault; and so much more than a dead broker may a frozen one cost."""
CLOSED = "metalogue_episodes_closed_total"


@pytest.fixture
def three(tmp_path: Path) -> Generator[tuple[Cluster, Path]]:
    """A log on three brokers, each partition on all of them, and the folder of the nodes."""
    with tempfile.TemporaryDirectory(prefix="metalogue-kafka-") as folder:
        url = broker(Path(folder), "start", BROKERS=str(BROKERS))
        try:
            with closing(Cluster(url, "three", tmp_path)) as made:
                asyncio.run(topics.create(KafkaAddress.of(made.url), PARTITIONS))
                yield made, Path(folder) / "node"
        finally:
            broker(Path(folder), "clean")


async def leaders(place: KafkaAddress) -> dict[int, int]:
    """How many partitions of `events` each broker leads; nothing while not all brokers have all of them."""
    admin = aio.admin(place)
    await admin.start()
    try:
        (found,) = await admin.describe_topics([place.topic("events")])
    finally:
        await admin.close()
    led = [each["leader"] for each in found["partitions"]]
    whole = all(len(each["isr"]) == BROKERS for each in found["partitions"])
    return {each: led.count(each) for each in sorted(set(led))} if whole else {}


def copies(port: int) -> tuple[float, float, float] | None:
    """Brokers that the metrics know, and how many partitions of `events` lack copies or too many; none if unsaid."""
    said = parsed(status(port, "/metrics")[1])
    of = (("topic", "events"),)
    found = [
        said.get((f"metalogue_{name}", labels))
        for name, labels in (
            ("brokers", ()),
            ("partitions_under_replicated", of),
            ("partitions_below_min_isr", of),
        )
    ]
    brokers, behind, thin = found
    return None if brokers is None or behind is None or thin is None else (brokers, behind, thin)


def pause(port: int) -> float:
    """The longest time without an episode's end in the next while, in seconds."""
    began = moved = time.monotonic()
    longest, closed = 0.0, figure(port, CLOSED)
    while (now := time.monotonic()) - began < WATCHED_S or now - moved > 2:
        assert now - began < 120, "work stands still"
        longest = max(longest, now - moved)
        if (found := figure(port, CLOSED)) != closed:
            closed, moved = found, now
        time.sleep(0.05)
    return longest


def test_a_frozen_leader_costs_about_what_a_killed_one_does(three: tuple[Cluster, Path]) -> None:
    cluster, nodes = three
    place, port = KafkaAddress.of(cluster.url), free_port()
    cluster.send(lines(COUNT, policy="cot"))
    cluster.worker(*WORK, "--metrics", f"127.0.0.1:{port}")
    eventually(lambda: fetched(port, "/readyz") == "ok\n" and figure(port, CLOSED) > 20)

    led = eventually(lambda: asyncio.run(leaders(place)))
    eventually(lambda: copies(port) == (BROKERS, 0, 0), 90)
    first = max(led, key=lambda each: led[each])
    frozen = pid_of(nodes / str(first))
    os.kill(frozen, signal.SIGSTOP)
    try:
        froze_s = pause(port)
    finally:
        os.kill(frozen, signal.SIGCONT)
    led = eventually(lambda: asyncio.run(leaders(place)))
    second = max((each for each in led if each != first), key=lambda each: led[each])
    os.kill(pid_of(nodes / str(second)), signal.SIGKILL)
    killed_s = pause(port)
    # What an operator is alerted by: a broker is gone, and no partition has all of its copies.
    eventually(lambda: copies(port) == (BROKERS - 1, PARTITIONS, 0), 90)
    print(f"work paused for {froze_s:.1f} s at a freeze, {killed_s:.1f} s at a kill")
    assert froze_s < killed_s + MORE_S
    eventually(lambda: figure(port, CLOSED) == COUNT, 200)
    eventually(lambda: cluster.stats()["answers"] == COUNT)
    assert cluster.stats()["repeated_completions"] == 0


def test_below_quorum_a_worker_ends_when_told_and_commands_say_who_answers(
    three: tuple[Cluster, Path],
) -> None:
    cluster, nodes = three
    for gone in (2, 3):
        os.kill(pid_of(nodes / str(gone)), signal.SIGKILL)
    worker = cluster.worker(*WORK)
    eventually(lambda: "one of three brokers answered; " in cluster.said.read_text(), 40)
    limit_s = soon(5)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(limit_s) in (0, 6), "6 where it had given up"
    assert "Traceback" not in cluster.said.read_text()
    stats = cluster.call("log", "stats")
    said = stats.stderr.decode()
    assert stats.returncode == 6
    assert "one of three brokers answered; " in said.splitlines()[-2]
    assert said.count("refuses the connection") >= 2
    assert "no broker answered" not in said


def test_below_quorum_health_and_dashboard_say_so_and_a_large_record_ends_nobody(
    three: tuple[Cluster, Path], tmp_path: Path
) -> None:
    cluster, nodes = three
    port, large = free_port(), tmp_path / "large.bin"
    large.write_bytes(random.Random(7).randbytes(LARGE[0]).replace(b"\n", b"x"))
    taken = ("-X", "message.max.bytes=3000000")
    cluster.kcat("-P", "-t", cluster.topic("problems"), *taken, "-p", "0", "-k", "big", str(large))
    cluster.send(lines(COUNT, policy="cot"))
    worker = cluster.worker(*WORK, "--metrics", f"127.0.0.1:{port}")
    eventually(lambda: fetched(port, "/readyz") == "ok\n" and figure(port, CLOSED) > 20)
    eventually(lambda: asyncio.run(leaders(KafkaAddress.of(cluster.url))))
    with serving(cluster.url, METALOGUE_HOME=str(cluster.home)) as site:
        eventually(lambda: site.get("/").status == 200 and OLD not in site.get("/").text)
        said = len(cluster.said.read_text().splitlines())
        for gone in (2, 3):
            os.kill(pid_of(nodes / str(gone)), signal.SIGKILL)
        unready = eventually(lambda: (found := status(port, "/readyz"))[0] == 503 and found[1])
        assert "brokers away for " in unready
        assert status(port, "/livez") == (200, "ok\n")
        eventually(lambda: figure(port, "metalogue_append_age_seconds") > 5)
        assert figure(port, "metalogue_appends_waiting") > 0
        assert OLD in eventually(lambda: OLD in (page := site.get("/")).text and page.text)
        broker(nodes.parent, "start", BROKERS=str(BROKERS))
        eventually(lambda: fetched(port, "/readyz") == "ok\n", 120)
        eventually(lambda: OLD not in site.get("/").text)
    eventually(lambda: figure(port, CLOSED) == COUNT, 200)
    assert len(cluster.said.read_text().splitlines()) - said < 60
    assert worker.poll() is None
    stats = eventually(lambda: (now := cluster.stats())["answers"] == COUNT and now)
    assert (stats["dead_letters"], stats["repeated_completions"]) == (1, 0)
