"""A series in this process: produced, worked on to its end or to a stop, and asked what it came to."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handlers.limits import Reservation
from schemas.asking import Ask
from schemas.events.base import AnswerEvent
from schemas.events.learning import Timing
from schemas.problem import Limits
from schemas.questions import Complete
from state.journal import Fenced
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.core.drive import Run
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.engine.progress import Outcome
from streams.producing.produce import Plan, Produced, Producer
from streams.producing.sources import SourceLine, lines_of
from streams.replay.digest import log_digest, meaning
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.worker import Worker
from tests.normal import spelled_otherwise

PROBLEMS, BATCH = 30, 10
CHEAP: Mapping[str, Any] = {"max_rounds": 2, "batch_size": BATCH}
BATCHES = PROBLEMS // BATCH
BRIEF = 12, 4
"""Problems, and those of a batch, where a whole life follows each record: what it takes grows with their square."""

CLOSING = ("episode.closed", "reflected", "graded")
"""What a problem's end records together: none of these is ever durable without the answer."""


@dataclass
class Remembering:
    """The rehearsal model. It is a pure function, so what it said once need not be worked out again."""

    model: Rehearsal = field(default_factory=lambda: Rehearsal(Options(seed=7)))
    said: dict[object, ModelReply] = field(default_factory=dict[object, ModelReply])
    simulated = True

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        key = (request.messages, request.sampling, request.seed, request.draw)
        if key not in self.said:
            self.said[key] = self.model.reply(request)
        return self.said[key]

    async def close(self) -> None:
        pass


MODEL = Remembering()


class Counted(World):
    """A world that remembers at which addresses a model was asked."""

    def __init__(self) -> None:
        super().__init__({"*": MODEL}, HashedEmbedder())
        self.asked: Counter[tuple[str, str]] = Counter()

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        if isinstance(question, Complete):
            self.asked[run.episode, address] += 1
        return await super().answer(run, question, asked, address, reserved)


@dataclass(frozen=True)
class End:
    """What a finished log means, and what it took to get there."""

    digest: str
    state: str
    repeated: int
    stale: int
    answers: tuple[tuple[str, Any], ...]


def produced(
    path: Path,
    source: str = f"game24:901-{900 + PROBLEMS}",
    *,
    policy: str = "mc2",
    values: Mapping[str, Any] = CHEAP,
    timing: Timing = "barrier",
    limits: Limits | None = None,
    lines: list[SourceLine] | None = None,
) -> Produced:
    """A new log with a source in it."""
    log = SqliteLog(path, create=True)
    plan = Plan(
        source=source,
        find=find,
        policy=policy,
        values=dict(values),
        timing=timing,
        limits=limits or Limits(),
    )
    done = Producer(log, plan).run(lines if lines is not None else lines_of(source, None))
    log.close()
    return done


def quick(log: SqliteLog) -> SqliteLog:
    """The same log without waits for the disk: the tests end processes, not machines."""
    log.db.execute("pragma synchronous=off")
    return log


def worked(
    log: SqliteLog, *, concurrency: int = 256, world: Counted | None = None
) -> tuple[Outcome, Counted]:
    """Work to the end. Raises ``Fenced`` where the log was made to stop."""
    world = world or Counted()
    worker = Worker(log, world, find, max_concurrency=concurrency)
    return asyncio.run(worker.run(until_idle=True, settle=True)), world


def end_of(log: SqliteLog) -> End:
    """What the log came to."""
    assert spelled_otherwise(log) == []
    learner = Learner(find)
    for record in log.records("learning"):
        learner.feed(record.episode, record.address, record.event)
    answers = log.db.execute("select key, value from messages where topic = 'answers' order by key")
    return End(
        log_digest(log),
        learner.state_hash(),
        log.counter("repeated"),
        log.counter("stale"),
        tuple((key, meaning(json.loads(value))) for key, value in answers),
    )


def completed(log: SqliteLog) -> set[tuple[str, str]]:
    """Where a completion is on record."""
    return set(log.db.execute("select episode, address from records where kind = 'completed'"))


# ── Stopping ─────────────────────────────────────────────────────────────────────────────────


class StoppingWriter(Writer):
    """Stops after the n-th record of the log, or after so many commits. Nothing later is durable."""

    def __init__(self, log: StoppingLog, partition: int, epoch: int) -> None:
        super().__init__(log, partition, epoch)
        self.after, self.most = log.after, log.commits

    def flush(self) -> None:
        """A commit, or as much of it as the log still takes."""
        if self.fenced or (self.most is not None and self.commits >= self.most):
            self._stop()
        left = self.after - self.log.end()
        if len(self.rows) <= left:
            super().flush()
            return
        kept = whole([row[5] for row in self.rows], left)
        self.rows = self.rows[:kept]
        closed = {row[3] for row in self.rows if row[5] == "episode.closed"}
        self.sent = [each for each in self.sent if each[1] in closed]
        self.positions = {}
        super().flush()
        self._stop()

    def _stop(self) -> None:
        self.fenced = True
        raise Fenced("the log has stopped")


class StoppingLog(SqliteLog):
    """A log whose writer stops: a crash at exactly one place."""

    def __init__(self, path: Path, *, after: int = 1 << 60, commits: int | None = None) -> None:
        super().__init__(path)
        self.after, self.commits = after, commits
        self.writers: list[Writer] = []

    def claim(self, worker: str, partition: int = 0) -> Writer:
        claimed = super().claim(worker, partition)
        self.writers.append(StoppingWriter(self, claimed.partition, claimed.epoch))
        return self.writers[-1]


def whole(kinds: list[str], kept: int) -> int:
    """So many records at most, but no part of a closing: it rides in one transaction with its answer."""
    if kept >= len(kinds) or kinds[kept] not in CLOSING[1:]:
        return kept
    while kept and kinds[kept] in CLOSING[1:]:
        kept -= 1
    return kept


def stops(path: Path) -> list[int]:
    """Every number of records after which a finished log may have stopped, its closings whole."""
    log = SqliteLog(path)
    rows = log.db.execute("select kind, topic from records order by offset").fetchall()
    log.close()
    kinds = [kind if kind != "episode.closed" or topic == "events" else "" for kind, topic in rows]
    first = next(at for at, kind in enumerate(kinds) if kind == "partition.claimed") + 1
    return sorted({whole(kinds, kept) for kept in range(first, len(kinds) + 1)})


def cut(finished: Path, to: Path, after: int) -> Path:
    """A copy of a finished log as it was when it had only its first records."""
    shutil.copy(finished, to)
    db = sqlite3.connect(to)
    db.execute("pragma synchronous=off")
    with db:
        db.execute("delete from records where offset > ?", (after,))
        db.execute(
            "delete from messages where topic = 'answers' and key not in "
            "(select episode from records where address = 'closed')"
        )
        admitted = "(select count(*) from records where address = 'admitted')"
        problems = "(select count(*) from messages where topic = 'problems')"
        db.execute(f"delete from consumers where {admitted} < {problems}")
    db.close()
    return to
