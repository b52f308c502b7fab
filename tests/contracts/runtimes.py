"""The runtimes behind one handle: publish problems, let a worker live until it is idle, drained or dead."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pytest

from handlers.limits import Reservation
from handlers.policies.base import Policy
from schemas.asking import Ask
from schemas.budget import Budget
from schemas.events.base import AnswerEvent
from state.folds.budgets import DAY_MS
from state.journal import Crashed
from streams.answering.budgets import Budgets, OutOfBudget
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.grading.grader import Grading
from streams.answering.grading.own import own_grader
from streams.answering.retries import Patience
from streams.answering.world import World
from streams.core.backbone import Tried, Unreachable
from streams.core.drive import Run
from streams.engine.progress import Outcome
from streams.runtime.embedded.log import SqliteLog, now_ms
from streams.runtime.embedded.worker import Worker
from streams.runtime.kafka import aio
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.worker import KafkaWorker
from tests.fragile import Fragile
from tests.memory_kafka.broker import Died
from tests.memory_kafka.fixture import GLANCES, in_memory
from tests.pupil import Numbers, find

PARTITIONS = 4
SESSION_MS = 20_000
"""As users have it: who does not leave the group keeps its partitions from the next for so long, not for minutes."""
Find = Callable[[str], Policy[Any]]


@dataclass(frozen=True)
class Life:
    """How one worker lives: its slots, how late its answers come, and what ends it early."""

    slots: int = 20
    delays: Sequence[int] = (0,)
    settle: bool = False
    find: Find = find
    dies_after: int | None = None
    """Records that reach the log before the process is no more."""
    drains_after: int | None = None
    """Questions that are asked before the worker is told to stop."""
    dimensions: int = 16
    """Of its embedder's vectors: another number, another embedder."""
    budgets: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    days_later: int = 0
    """By the clock of its budgets."""
    asks_twice: bool = False
    """Whether it may ask for what is on record, as who knows a duplicate too late does."""
    grader: str | None = None
    """A grader's file, as the command line names it."""
    silent_on: str | None = None
    """What a prompt says that is never answered; ``texts of a batch``: its texts get no vectors."""


class Deaf(HashedEmbedder):
    """Makes vectors of single texts only."""

    def __init__(self) -> None:
        super().__init__(16)
        self.answered = 0

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.answered += 1
        if len(texts) > 1:
            raise Unreachable("here", "it hurts", Tried(attempts=1, answered=self.answered))
        return await super().embed(texts)


class Watching(World):
    """A world that is never asked what is on record, and that may tell its worker to stop."""

    def __init__(self, life: Life, recorded: frozenset[tuple[str, str]]) -> None:
        model = Numbers(cycle(life.delays), silent_on=life.silent_on)
        embedder = (
            Deaf() if life.silent_on == "texts of a batch" else HashedEmbedder(life.dimensions)
        )
        super().__init__({"*": model}, embedder, patience=Patience(attempts=2, seconds=0))
        self.life, self.recorded = life, recorded
        if life.budgets:
            self.budgets = Budgets(life.budgets, lambda: now_ms() + life.days_later * DAY_MS)
        self.asked = Counter[tuple[str, str]]()
        self.worker: Any = None

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        place = (run.episode, address)
        assert self.life.asks_twice or place not in self.recorded, (
            "a recorded answer was asked for again"
        )
        assert not self.asked[place], "a question was asked twice by one worker"
        self.asked[place] += 1
        if len(self.asked) == self.life.drains_after:
            self.worker.drain()
        try:
            return await super().answer(run, question, asked, address, reserved)
        except OutOfBudget:
            self.asked[place] -= 1  # nothing was asked: it is, once its tenant may spend again
            raise


def grading_of(life: Life) -> Grading:
    """Who grades."""
    return Grading(own=None if life.grader is None else own_grader(life.grader))


def recorded(log: SqliteLog) -> frozenset[tuple[str, str]]:
    """Where answers are on record."""
    return frozenset(log.db.execute("select episode, address from records").fetchall())


class Runtime(Protocol):
    """A log, and workers that live on it one after another."""

    def log(self) -> SqliteLog:
        """What is on the log now."""
        ...

    def live(self, life: Life) -> Outcome | None:
        """One worker's life; nothing is returned of one that died."""
        ...


@dataclass
class Embedded:
    """One SQLite log, in memory or in a file."""

    opened: Fragile

    def log(self) -> SqliteLog:
        """The log itself."""
        return self.opened

    def live(self, life: Life) -> Outcome | None:
        """A worker on it."""
        self.opened.left = -1 if life.dies_after is None else life.dies_after
        world = Watching(life, recorded(self.opened))
        worker = Worker(
            self.opened,
            world,
            life.find,
            default_policy="pupil",
            max_concurrency=life.slots,
            grading=grading_of(life),
        )
        world.worker = worker
        try:
            return asyncio.run(worker.run(until_idle=True, settle=life.settle))
        except Crashed:
            return None


@dataclass
class OnKafka:
    """A log on a broker, and its import."""

    place: KafkaAddress
    imported: KafkaLog
    index: Path | None = None
    kept: Path | None = None
    ready: int = 2_000
    worker: KafkaWorker | None = None
    """Who lived last."""
    most_ready: int = 0

    def log(self) -> SqliteLog:
        """The import, brought up to date."""
        self.imported.refresh()
        return self.imported

    def live(self, life: Life) -> Outcome | None:
        """A worker on it."""
        world = Watching(life, recorded(self.log()))
        worker = KafkaWorker(
            self.place,
            PARTITIONS,
            world,
            life.find,
            default_policy="pupil",
            max_concurrency=life.slots,
            index=self.index,
            kept=self.kept,
            on_change=lambda _: self._look(),
            max_ready=self.ready,
            grading=grading_of(life),
            session_ms=SESSION_MS if life.dies_after is None else 6_000,
        )
        self.worker = world.worker = worker
        with mortal(life.dies_after):
            try:
                return asyncio.run(worker.run(until_idle=True, settle=life.settle))
            except Died:
                return None

    def _look(self) -> None:
        if self.worker is not None:
            self.most_ready = max(self.most_ready, len(self.worker.schedule.ready))


@contextmanager
def mortal(left: int | None) -> Generator[None]:
    """Producers append so many records, and then no more."""
    make = aio.producer

    def of(place: KafkaAddress, **options: Any) -> Any:
        return Mortal(make(place, **options), left)

    with pytest.MonkeyPatch.context() as patch:
        if left is not None:
            patch.setattr(aio, "producer", of)
        yield


class Mortal:
    """A producer whose process dies."""

    def __init__(self, producer: Any, left: int | None) -> None:
        self.producer, self.left = producer, left or 0
        self.start, self.stop = producer.start, producer.stop

    def create_batch(self) -> Any:
        return Counted(self.producer.create_batch())

    async def send_batch(self, batch: Any, topic: str, *, partition: int) -> Any:
        self.left -= batch.rows
        if self.left < 0:
            raise Died
        return await self.producer.send_batch(batch.batch, topic, partition=partition)


class Counted:
    """A batch that knows its size."""

    def __init__(self, batch: Any) -> None:
        self.batch, self.rows = batch, 0

    def append(self, **row: Any) -> Any:
        self.rows += 1
        return self.batch.append(**row)

    def size(self) -> int:
        """In bytes."""
        return int(self.batch.size())


class OnFile(Fragile):
    """A fragile log in a file."""

    def __init__(self, path: Path) -> None:
        self.place = path
        super().__init__()

    def __post_init__(self) -> None:
        SqliteLog.__init__(self, self.place, create=True)
        self.reads = 0


@contextmanager
def in_one_process() -> Generator[Runtime]:
    """Embedded, in memory."""
    with closing(Fragile()) as log:
        yield Embedded(log)


@contextmanager
def in_a_file() -> Generator[Runtime]:
    """Embedded, in a file."""
    with TemporaryDirectory() as folder, closing(OnFile(Path(folder, "m.db"))) as log:
        yield Embedded(log)


@contextmanager
def on_kafka_in_memory() -> Generator[Runtime]:
    """Faust on the transport in memory."""
    with (
        in_memory(PARTITIONS, glances=GLANCES) as (place, _),
        TemporaryDirectory() as folder,
        closing(KafkaLog(place, Path(folder))) as log,
    ):
        yield OnKafka(place, log, kept=Path(folder, "learned"))


def count(log: SqliteLog, kind: str) -> int:
    """Records of a kind."""
    return sum(1 for _ in log.records(kinds=[kind]))


def messages(log: SqliteLog, topic: str) -> list[bytes]:
    """The values on a topic, each name once."""
    return [value for _, _, _, value in log.messages(topic)]
