"""Three brokers and a thousand open episodes: whatever befalls the brokers, each problem has one answer, paid once.

`make test` runs a short form: two hundred episodes, and a leader that is killed or freezes for some seconds.
`SOAK_MINUTES` says how long faults follow each other at random in the long one; thirty, unless told otherwise.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import orjson
import pytest

from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.place import KafkaAddress
from tests.live.kafka_here import Cluster, broker, eventually, missing, pid_of
from tests.live.test_health import figure
from tests.live.test_kafka import lines
from tests.live.test_three_brokers import BROKERS, CLOSED, PARTITIONS, leaders
from tests.ports import free_port
from tests.streams.telemetry.test_metrics import fetched

WHY = missing()
MINUTES: Final = float(os.environ.get("SOAK_MINUTES", "30"))
pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(900 + 120 * MINUTES),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
OPEN, STEP_S = 1_000, 20
"""Episodes that are open at a time, and seconds that their one call takes on average, half of it at least."""
GONE_S, AWAY_S = 20.0, 60.0
"""How long one broker is gone or frozen, and how long two of three are."""
FEW, FEW_STEP_S, FEW_GONE_S = 200, 4, 8.0
"""The same of the short form."""
SESSION_S, STALL_S, LINES = 9.0, 25.0, 60
"""After how long a cluster misses a broker; how much longer work may rest; and how much a worker may say of a fault."""


class Brokers:
    """Three brokers that can be hurt, and the log on them."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        url = broker(folder, "start", BROKERS=str(BROKERS))
        self.cluster = Cluster(url, "hurt", home)
        self.place = KafkaAddress.of(self.cluster.url)
        asyncio.run(topics.create(self.place, PARTITIONS))

    def whole(self) -> Mapping[int, int]:
        """Wait until every partition has all of its copies; which broker leads how many."""
        found: Mapping[int, int] = eventually(lambda: asyncio.run(leaders(self.place)), 180)
        return found

    def leading(self) -> int:
        """The broker that leads most."""
        led = self.whole()
        return max(led, key=lambda each: led[each])

    def coordinating(self) -> int:
        """The broker that deals partitions out to the workers."""

        async def found() -> int:
            admin = aio.admin(self.place)
            await admin.start()
            try:
                return int(await admin.find_coordinator(self.place.group))
            finally:
                await admin.close()

        self.whole()
        return asyncio.run(found())

    def controlling(self) -> int:
        """The node whose word on the cluster holds; brokers name any of them to clients."""
        self.whole()
        states = [
            orjson.loads(each.read_bytes())
            for each in self.folder.glob("node/*/data/__cluster_metadata-0/quorum-state")
        ]
        last = max(states, key=lambda each: (each["leaderEpoch"], each["leaderId"]))
        return int(last["leaderId"])

    def signal(self, number: int, what: signal.Signals) -> None:
        os.kill(pid_of(self.folder / "node" / str(number)), what)

    def start(self) -> None:
        """Start what does not run."""
        broker(self.folder, "start", BROKERS=str(BROKERS))


def kill(
    brokers: Brokers, gone_s: float = GONE_S, whom: Callable[[Brokers], int] = Brokers.leading
) -> None:
    brokers.signal(whom(brokers), signal.SIGKILL)
    time.sleep(gone_s)
    brokers.start()


def freeze(
    brokers: Brokers, gone_s: float = GONE_S, whom: Callable[[Brokers], int] = Brokers.leading
) -> None:
    number = whom(brokers)
    brokers.signal(number, signal.SIGSTOP)
    try:
        time.sleep(gone_s)
    finally:
        brokers.signal(number, signal.SIGCONT)


def is_over(command: Path) -> bool:
    """Whether the process of this command line has ended."""
    return not command.exists() or not command.read_bytes()


def roll(brokers: Brokers) -> None:
    """Restart each, one after the other, as an upgrade does."""
    for number in range(1, BROKERS + 1):
        brokers.whole()
        command = Path(f"/proc/{pid_of(brokers.folder / 'node' / str(number))}/cmdline")
        brokers.signal(number, signal.SIGTERM)
        eventually(partial(is_over, command), 60)
        brokers.start()


def two_gone(brokers: Brokers) -> None:
    leader = brokers.leading()
    for number in (leader, leader % BROKERS + 1):
        brokers.signal(number, signal.SIGKILL)
    time.sleep(AWAY_S)
    brokers.start()


FAULTS: Final[Mapping[str, Callable[[Brokers], None]]] = {
    "kill": kill,
    "freeze": freeze,
    "roll": roll,
    "two gone": two_gone,
    "kill the coordinator": partial(kill, whom=Brokers.coordinating),
    "freeze the coordinator": partial(freeze, whom=Brokers.coordinating),
    "kill the controller": partial(kill, whom=Brokers.controlling),
    "freeze the controller": partial(freeze, whom=Brokers.controlling),
}


@pytest.fixture
def brokers(tmp_path: Path) -> Generator[Brokers]:
    with tempfile.TemporaryDirectory(prefix="metalogue-kafka-") as folder:
        try:
            made = Brokers(Path(folder), tmp_path)
            with closing(made.cluster):
                yield made
        finally:
            broker(Path(folder), "clean")


class Watched:
    """A worker, and the longest time in which no episode of its ended."""

    def __init__(self, brokers: Brokers, count: int, at_once: int, step_s: int = STEP_S) -> None:
        self.cluster, self.count, self.port = brokers.cluster, 0, free_port()
        self.send(count)
        model = f"rehearsal:seed=7,latency_ms={step_s * 1000}"
        work = ("--backbone", model, "--max-concurrency", at_once)
        self.worker = self.cluster.worker(*work, "--metrics", f"127.0.0.1:{self.port}")
        eventually(lambda: fetched(self.port, "/readyz") == "ok\n" and self.closed() > 20, 180)

    def send(self, count: int) -> None:
        """Put so many more problems."""
        self.cluster.send(lines(count, self.count, policy="cot"))
        self.count += count

    def closed(self) -> float:
        return figure(self.port, CLOSED)

    def longest(self, fault: Callable[[], None]) -> tuple[float, int]:
        """The longest rest of the work during a fault and a while after it, in seconds, and lines that it said."""
        said = len(self.cluster.said.read_text().splitlines())
        moved, longest, closed = time.monotonic(), 0.0, self.closed()
        with ThreadPoolExecutor(1) as others:
            hurting = others.submit(fault)
            while not hurting.done() or time.monotonic() - moved > 2:
                assert self.worker.poll() is None, self.cluster.said.read_text()[-2000:]
                longest = max(longest, time.monotonic() - moved)
                assert longest < 300, "work stands still"
                if (found := self.closed()) != closed:
                    closed, moved = found, time.monotonic()
                time.sleep(0.1)
            hurting.result()
        assert closed < self.count, "the fault outlasted the work: nothing was open any more"
        return longest, len(self.cluster.said.read_text().splitlines()) - said

    def finish(self) -> None:
        """Every problem has one answer, and nobody was paid twice for it."""
        eventually(lambda: self.closed() == self.count, 600)
        eventually(lambda: self.cluster.stats()["answers"] == self.count)
        stats = self.cluster.stats()
        assert stats["completions"] == self.count
        assert stats["repeated_completions"] == 0
        assert "Traceback" not in self.cluster.said.read_text()


def test_in_short_a_leader_that_is_killed_or_freezes_costs_no_answer(brokers: Brokers) -> None:
    brokers.whole()
    watched = Watched(brokers, 10 * FEW, FEW, FEW_STEP_S)
    for fault in (kill, freeze):
        rested_s, said = watched.longest(partial(fault, brokers, FEW_GONE_S))
        print(f"{fault.__name__}: work rested for {rested_s:.1f} s, and {said} lines were said")
        assert rested_s < SESSION_S + STALL_S
        assert said < LINES
    watched.finish()


@pytest.mark.soak
@pytest.mark.parametrize("name", FAULTS)
def test_a_thousand_open_episodes_outlast(brokers: Brokers, name: str) -> None:
    brokers.whole()
    watched = Watched(brokers, (12 if name == "roll" else 4) * OPEN, OPEN)
    rested_s, said = watched.longest(partial(FAULTS[name], brokers))
    print(f"{name}: work rested for {rested_s:.1f} s at most, and {said} lines were said")
    watched.finish()
    assert rested_s < SESSION_S + STALL_S + (AWAY_S if name == "two gone" else 0)
    assert said < LINES * (BROKERS if name == "roll" else 1)


@pytest.mark.soak
def test_faults_that_follow_each_other_at_random_lose_nothing(brokers: Brokers) -> None:
    drawn = random.Random(24)
    until = time.monotonic() + 60 * MINUTES
    watched = Watched(brokers, 3 * OPEN, 300)
    while time.monotonic() < until:
        # More than the longest fault lasts, and no more than are soon done when the last is over.
        if watched.count - watched.closed() < 2 * OPEN:
            watched.send(OPEN)
        name = drawn.choice(sorted(FAULTS))
        rested_s, said = watched.longest(partial(FAULTS[name], brokers))
        print(f"{name}: work rested for {rested_s:.1f} s at most, and {said} lines were said")
        assert rested_s < SESSION_S + STALL_S + (AWAY_S if name == "two gone" else 0)
    brokers.whole()
    watched.finish()
