"""The cost of durability, beside a hand-written SQLite append of the same bytes in the same run.

A step is one completion of 240 characters with its fact. CPU times are medians of five alternating
measurements. Waiting is wall time against 1 000 tasks that only sleep, though the worker's admits, opens,
closes and learns from 1 000 episodes in it: the aim is 0.95 of theirs (deploy/decisions/0022).
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from handlers.policies.base import Conclusion, Policy, Task
from schemas.asking import Steps
from schemas.events.reasoning import MonitorReported
from schemas.problem import Problem
from schemas.prompt import Section, Template
from schemas.questions import Complete
from schemas.reply import Field, Reply
from schemas.settings import PolicySettings
from state.folds.state import State
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.tables import PRAGMAS
from streams.runtime.embedded.worker import Worker
from streams.runtime.tuning import tune_collector

TEXT = ("First add 4 and 10 to get 14; 14 + 10 = 24, so the remaining 4 has to vanish. " * 4)[:240]
REPEATS = 5
LATENCY_S = 0.2
SLEEPERS, SLEEPS = 1000, 20
KEPT_STEPS = (12, 48, 192)
AIMS = {
    "step_us_256": "at most 3 floors",
    "step_us_1": "at most 1.8 floors",
    "share_of_plain_1000x200ms": "at least 0.95, with admission, opening, closing and learning inside",
    "kept_bytes_per_step": "at most 1,000 at 192 steps, and at most 1.05 times those at 48",
    "replay_events_per_s": "at least 150,000",
}
"""What each figure is to come to."""
PROMPT = Template(
    "speed",
    TEXT,
    (Section("Problem", "problem"),),
    Reply((Field("Final_answer", "answer", "the answer"),)),
)


class SpeedSettings(PolicySettings):
    """How long an episode is."""

    rounds: int = 12


def steps(task: Task, settings: SpeedSettings) -> Steps[Conclusion]:
    """A policy that asks and states, and does nothing else."""
    for number in range(settings.rounds):
        said = yield from Complete("reasoner", PROMPT, (("problem", task.problem),), draw=number)
        yield MonitorReported(round=number, flag="NO", source=said.address)
    return Conclusion(answer="1", ended_by="done")


SPEED = Policy(
    name="speed", version="1", about="measures the driver", settings=SpeedSettings, solve=steps
)


class Still:
    """A backbone that replies the same at once, or after a fixed latency."""

    name, simulated = "still", True

    def __init__(self, latency_s: float = 0.0) -> None:
        self.latency_s = latency_s
        self.reply = ModelReply(
            text=TEXT,
            finish="stop",
            model="still",
            prompt_tokens=300,
            completion_tokens=80,
            seconds=latency_s,
        )

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The one reply."""
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        return self.reply

    async def close(self) -> None:
        """Nothing to release."""


def fill(path: Path, episodes: int, rounds: int) -> SqliteLog:
    """A log with problems waiting."""
    log = SqliteLog(path, create=True)
    problems = (
        Problem(
            id=f"k{number:05d}",
            problem="4 4 10 10",
            domain="speed",
            policy="speed",
            settings={"rounds": rounds},
        )
        for number in range(episodes)
    )
    log.publish(("problems", p.id, {}, p.model_dump_json().encode()) for p in problems)
    return log


def work(log: SqliteLog, concurrency: int, latency_s: float = 0.0) -> tuple[float, float, int]:
    """Run a worker over the log: CPU seconds, wall seconds, commits."""
    # As the worker's own process does: the collector would else run over objects that all stay.
    tune_collector()
    world = World({"*": Still(latency_s)}, HashedEmbedder())
    worker = Worker(log, world, lambda _: SPEED, max_concurrency=concurrency)
    cpu, wall = time.process_time(), time.perf_counter()
    asyncio.run(worker.run(until_idle=True))
    return time.process_time() - cpu, time.perf_counter() - wall, worker.writer.commits


def step_us(episodes: int, rounds: int) -> tuple[float, list[tuple[Any, ...]], int]:
    """CPU microseconds a step, the rows of the log, and how many rows went into a commit."""
    with tempfile.TemporaryDirectory() as folder:
        log = fill(Path(folder) / "speed.db", episodes, rounds)
        cpu, _, commits = work(log, episodes)
        rows = log.db.execute(
            "select topic, partition, epoch, episode, address, kind, at_ms, body from records "
            "where kind in ('completed', 'monitor.reported') order by offset"
        ).fetchall()
        log.close()
    # The floor commits as often as the worker did, in whole steps of two rows: how often one
    # commits is most of what an append costs.
    return cpu / (episodes * rounds) * 1e6, rows, max(2, round(len(rows) / commits / 2) * 2)


def floor_us(rows: list[tuple[Any, ...]], rows_per_commit: int) -> float:
    """CPU microseconds a step (two rows) of what one would write by hand: JSON, insert, commit.

    The same bytes, index, pragmas and rows a commit; each row is made with orjson from plain values.
    """
    values = [(*row[:7], orjson.loads(row[7])) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        # By hand, with our own pragmas: a floor that waited
        # for the disk otherwise would measure the disk.
        db = sqlite3.connect(f"{folder}/floor.db", isolation_level=None)
        db.executescript(PRAGMAS)
        db.execute(
            "create table log(offset integer primary key, topic, partition, epoch, episode, "
            "address, kind, at_ms, body)"
        )
        db.execute("create unique index log_identity on log(episode, address)")
        insert = (
            "insert into log(topic, partition, epoch, episode, address, kind, at_ms, body) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        cpu = time.process_time()
        for first in range(0, len(values), rows_per_commit):
            db.execute("begin immediate")
            for row in values[first : first + rows_per_commit]:
                db.execute(insert, (*row[:7], orjson.dumps(row[7]).decode()))
            db.execute("commit")
        spent = time.process_time() - cpu
        db.close()
    return spent / (len(rows) / 2) * 1e6


def against_floor(episodes: int, rounds: int) -> tuple[float, float]:
    """Step and floor, medians of alternating measurements."""
    # Both take turns, so that a machine that slows down slows both.
    ours: list[float] = []
    floors: list[float] = []
    for _ in range(REPEATS):
        step, rows, rows_per_commit = step_us(episodes, rounds)
        ours.append(step)
        floors.append(floor_us(rows, rows_per_commit))
    return round(median(ours), 2), round(median(floors), 2)


async def _sleepers() -> None:
    async def one() -> None:
        for _ in range(SLEEPS):
            await asyncio.sleep(LATENCY_S)

    await asyncio.gather(*(one() for _ in range(SLEEPERS)))


def efficiency() -> tuple[float, float]:
    """Ideal wall time over measured: the worker, and plain sleeping tasks. Medians of three."""
    ours: list[float] = []
    plain: list[float] = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            log = fill(Path(folder) / "sleep.db", SLEEPERS, SLEEPS)
            ours.append(SLEEPS * LATENCY_S / work(log, SLEEPERS, LATENCY_S)[1])
            log.close()
        began = time.perf_counter()
        asyncio.run(_sleepers())
        plain.append(SLEEPS * LATENCY_S / (time.perf_counter() - began))
    return round(median(ours), 4), round(median(plain), 4)


def kept_bytes(rounds: int) -> float:
    """Bytes of the log's file a step, when everything is in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.db"
        episodes = 4 * max(KEPT_STEPS) // rounds
        log = fill(path, episodes, rounds)
        # Problems that wait are on the log before any step is; they are not what a step costs.
        empty = path_bytes(log)
        work(log, episodes)
        kept = path_bytes(log) - empty
        log.close()
    return round(kept / (episodes * rounds), 1)


def path_bytes(log: SqliteLog) -> int:
    """Size of the file after a checkpoint."""
    # What still stands in the write-ahead log has not been added to the file.
    log.db.execute("pragma wal_checkpoint(truncate)")
    return log.path.stat().st_size


def replay_rate() -> int:
    """Events a second through codec and folds, read from the log on one core."""
    with tempfile.TemporaryDirectory() as folder:
        log = fill(Path(folder) / "replay.db", 256, 48)
        work(log, 256)
        rates: list[float] = []
        for _ in range(REPEATS):
            cpu = time.process_time()
            events = fold(log, State()).events
            rates.append(events / (time.process_time() - cpu))
        log.close()
    return int(median(rates))


def run(say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Every figure of ``metalogue bench speed``."""
    say("256 episodes at once beside the floor …")
    step_256, floor_256 = against_floor(256, 48)
    say("one episode alone beside the floor …")
    step_1, floor_1 = against_floor(1, 1000)
    say("1000 episodes x 200 ms beside plain tasks …")
    ours, plain = efficiency()
    say("bytes kept, and replay …")
    return {
        "step_us_256": step_256,
        "floor_us_256": floor_256,
        "step_us_1": step_1,
        "floor_us_1": floor_1,
        "efficiency_1000x200ms": ours,
        "plain_efficiency_1000x200ms": plain,
        "share_of_plain_1000x200ms": round(ours / plain, 4),
        "kept_bytes_per_step": {str(rounds): kept_bytes(rounds) for rounds in KEPT_STEPS},
        "replay_events_per_s": replay_rate(),
        "aims": AIMS,
    }
