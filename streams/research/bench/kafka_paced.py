"""What an operator sees of a worker on a broker: how long answers take at a steady rate, and what an episode costs.

Workers are processes of their own, as they are deployed, and problems come from a plain client of Kafka. Each
measurement has topics of its own; it begins once each worker has its share of the partitions and every partition
has brought an answer, so that no start is in it, nor a partition's move to a worker that came later.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from schemas.identity import canonical
from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.follow import Follower
from streams.runtime.kafka.place import KafkaAddress
from streams.support.child import cpu_s, python, variables

PARTITIONS: Final = 4
RATE, PACED = 50, 1_000
"""Problems a second at the steady rate, and how many of them."""
LATENCY_MS: Final = 200
QUEUED: Final = 4_000
"""Problems that come at once."""
PATIENCE_S: Final = 120.0
MAIN: Final = "import sys; from streams.interfaces.cli.main import main; sys.exit(main())"


class Failed(Exception):
    """Workers did not answer."""


@dataclass(slots=True)
class Desk:
    """Where problems are put on a topic and their answers are awaited."""

    place: KafkaAddress
    producer: Any
    workers: Sequence[subprocess.Popen[bytes]]
    put_s: dict[str, float] = field(default_factory=dict[str, float])
    came_s: dict[str, float] = field(default_factory=dict[str, float])
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, topic: str, partition: int, record: Any) -> None:
        """An answer came. Its key is its episode, which names the problem."""
        self.came_s.setdefault(record.key.decode().split("/")[2], time.perf_counter())
        self.moved.set()

    async def put(self, name: str, partition: int) -> None:
        """Send a problem without waiting for the broker."""
        said = {"id": name, "problem": "4 4 10 10", "policy": "cot", "domain": "bench"}
        self.put_s[name] = time.perf_counter()
        topic = self.place.topic("problems")
        await self.producer.send(topic, canonical(said), key=name.encode(), partition=partition)

    async def answered(self) -> None:
        """Wait until all that was put has its answer. Raises ``Failed`` if that takes too long."""
        end = time.monotonic() + PATIENCE_S
        while len(self.came_s) < len(self.put_s):
            ended = [each.returncode for each in self.workers if each.poll() is not None]
            if ended or time.monotonic() > end:
                left = len(self.put_s) - len(self.came_s)
                said = f"{left} of {len(self.put_s)} problems have no answer"
                raise Failed(f"{said}; a worker ended with exit {ended[0]}" if ended else said)
            self.moved.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.moved.wait(), 1)

    def cpu_s(self) -> float | None:
        """CPU seconds of all workers so far; unknown where the system does not tell."""
        try:
            return sum(map(cpu_s, (each.pid for each in self.workers)))
        except OSError:
            return None


@asynccontextmanager
async def working(
    place: KafkaAddress, name: str, workers: int, latency_ms: int
) -> AsyncGenerator[Desk]:
    """Workers on fresh topics, each partition of which has brought an answer."""
    fresh = KafkaAddress(place.servers, f"{place.prefix}.{name}", place.clients)
    await topics.create(fresh, PARTITIONS)
    producer = aio.producer(fresh, acks="all", linger_ms=0)
    with tempfile.TemporaryDirectory(prefix="metalogue-bench-") as folder:
        started = [_worker(fresh, f"{folder}/{number}", latency_ms) for number in range(workers)]
        desk = Desk(fresh, producer, started)
        follower = Follower(fresh, desk.take)
        follower.add((fresh.topic("answers"), p) for p in range(PARTITIONS))
        try:
            await producer.start()
            await follower.start()
            await shared_out(fresh, started)
            for partition in range(PARTITIONS):
                await desk.put(f"warm{partition}", partition)
            await desk.answered()
            yield desk
        finally:
            await follower.stop()
            await producer.stop()
            for each in started:
                each.send_signal(signal.SIGTERM)
            for each in started:
                await asyncio.to_thread(each.wait)


async def shared_out(place: KafkaAddress, workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until the group has all workers in it and moves nothing. Raises ``Failed`` if that takes too long."""
    admin = aio.admin(place)
    await admin.start()
    try:
        end = time.monotonic() + PATIENCE_S
        while True:
            (told,) = await aio.soon(lambda: admin.describe_consumer_groups([place.group]))
            _, _, state, _, _, members = told.groups[0]
            if state == "Stable" and len(members) == len(workers):
                return
            ended = [each.returncode for each in workers if each.poll() is not None]
            if ended:
                raise Failed(f"a worker ended with exit {ended[0]}")
            if time.monotonic() > end:
                raise Failed(f"{len(members)} of {len(workers)} workers joined their group")
            await asyncio.sleep(0.1)
    finally:
        await admin.close()


def _worker(place: KafkaAddress, home: str, latency_ms: int) -> subprocess.Popen[bytes]:
    # One domain and no learning tables: what is measured is the way of a problem to its answer.
    line = python(
        *("-c", MAIN, "--display", "none", "worker", "--log", place.url, "--no-tables"),
        *("--backbone", f"rehearsal:latency_ms={latency_ms}"),
    )
    environ = {**variables(), "METALOGUE_HOME": home}
    away = subprocess.DEVNULL
    return subprocess.Popen(line, env=environ, stdin=away, stdout=away, stderr=away)


async def paced(place: KafkaAddress) -> tuple[float, float]:
    """Milliseconds from a problem's sending to its answer's arrival at a steady rate: median, 99th percentile.

    The client does not wait for answers: where workers fall behind, problems queue and the figures say so.
    """
    async with working(place, "paced", 1, LATENCY_MS) as desk:
        begun = time.perf_counter()
        for number in range(PACED):
            await asyncio.sleep(max(begun + number / RATE - time.perf_counter(), 0))
            await desk.put(f"n{number}", number % PARTITIONS)
        await desk.answered()
        took = sorted(
            1_000 * (desk.came_s[name] - desk.put_s[name]) for name in desk.put_s if name[0] == "n"
        )
    return took[len(took) // 2], took[int(len(took) * 0.99)]


async def costs(place: KafkaAddress, workers: int, turn: int = 0) -> float | None:
    """CPU milliseconds an episode of one call, of all workers together, where problems come at once."""
    async with working(place, f"queued{workers}-{turn}", workers, 0) as desk:
        before = desk.cpu_s()
        for number in range(QUEUED):
            await desk.put(f"n{number}", number % PARTITIONS)
        await desk.answered()
        after = desk.cpu_s()
    return None if before is None or after is None else 1_000 * (after - before) / QUEUED
