"""Running a worker on Kafka from the command line."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from streams.interfaces.cli.draining import drain_when_told
from streams.interfaces.cli.errors import OK, usage
from streams.interfaces.cli.expecting import say_expected
from streams.interfaces.cli.kafka_log import hinting, place_of, reached
from streams.interfaces.cli.setup import Models, WorkerConfig, as_cli
from streams.interfaces.cli.working import report, working_world

if TYPE_CHECKING:
    from streams.answering.grading.own import OwnGrader
    from streams.answering.world import World
    from streams.engine.progress import Progress
    from streams.runtime.kafka.place import KafkaAddress
    from streams.runtime.kafka.worker import KafkaWorker

T = TypeVar("T")
ONE_FILE = "A worker on a log of one file does: --log sqlite:PATH"


def work(
    url: str,
    models: Models,
    config: WorkerConfig,
    *,
    metrics: str | None = None,
    on_change: Callable[[Progress], None] | None = None,
) -> int:
    """Run one worker to its end; the exit code. Raises ``CliError`` where the set-up is broken."""
    from streams.core.backbone import BackboneError
    from streams.engine.progress import Outcome
    from streams.interfaces.cli.config import load
    from streams.interfaces.cli.observing import serving
    from streams.runtime.kafka.ending import unless
    from streams.runtime.kafka.web import told

    if config.run_code:
        raise usage("workers on Kafka run no code", field="--run-code", hint=ONE_FILE)
    place, settings = place_of(url), load()
    said, home = settings.kafka, Path(settings.home).expanduser()
    pages = _pages(metrics, said.web_port)
    world = working_world(models, config.totals)
    say_expected(world, None, config.policy)
    options: dict[str, Any] = {
        "name": f"{socket.gethostname()}:{os.getpid()}",
        **_of(config),
        "session_ms": said.session_ms,
        "max_ready": said.max_ready,
        "on_change": on_change,
    }

    async def run() -> Outcome:
        ends = asyncio.Event()
        to_end: list[Callable[[], None]] = [ends.set]

        def drain(_: signal.Signals) -> None:
            world.draining = True
            for each in to_end:
                each()

        drain_when_told(world, drain)
        try:
            worker = await unless(ends, _worker(place, world, home, config.grader, **options))
            if worker is None:
                return Outcome()
            to_end.append(worker.drain)
            worker.on_start = started
            async with serving(told(worker), pages):
                return await worker.run(until_idle=config.until_idle, settle=config.settle)
        finally:
            await world.close()

    try:
        with leaving(), hinting(place) as started:
            return report(reached(place, lambda: looped(run()), printed=True))
    except BackboneError as error:
        raise as_cli(error) from error


def _of(config: WorkerConfig) -> dict[str, Any]:
    """The options of a worker that hang on its command line alone."""
    from schemas.problem import Limits

    return {
        "default_policy": config.policy,
        "prompts": config.prompts,
        "max_concurrency": config.max_concurrency,
        "learning_limits": config.learning_limits or Limits(),
    }


def looped(work: Coroutine[Any, Any, T]) -> T:
    """What work in a loop of its own comes to. A loop that is over leaves no handler behind."""
    try:
        return asyncio.run(work)
    finally:
        signal.signal(signal.SIGTERM, _leave)


@contextmanager
def leaving() -> Generator[None]:
    """End at once when told while no loop hears of it: nothing is begun yet, or all is over."""
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


async def _worker(
    place: KafkaAddress, world: World, home: Path, own: OwnGrader | None, **options: Any
) -> KafkaWorker:
    """A worker on a cluster, with what it keeps of the log on this machine."""
    from streams.answering.grading.grader import Grading
    from streams.engine.policies import find
    from streams.runtime.kafka import topics
    from streams.runtime.kafka.worker import KafkaWorker

    partitions, cluster = await topics.known(place)
    folder, name = home / cluster, place.prefix or "metalogue"
    index, kept = folder / f"{name}.closed.db", folder / f"{name}.learned"
    options |= {"index": index, "kept": kept, "grading": Grading(own=own)}
    return KafkaWorker(place, partitions, world, find, **options)


def _pages(metrics: str | None, port: int | None) -> tuple[str, int] | None:
    """Where the worker's pages are served: as the command line says, else on this machine by the setting."""
    from streams.interfaces.cli import observing

    if metrics is not None:
        return observing.place_of(metrics, "--metrics")
    return None if port is None else (observing.LOOPBACK, port)


def refuse(otlp: str | None) -> None:
    """Raises a usage error that says how to have spans of a log on Kafka, where workers are many."""
    if otlp is not None:
        hint = "One process a log sends them: metalogue projector --otlp URL"
        raise usage("workers on Kafka send no spans", field="--otlp", hint=hint)


def _leave(number: int, frame: object) -> None:
    os._exit(OK)
