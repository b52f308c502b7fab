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
from streams.interfaces.cli.setup import Models, WorkerConfig, as_cli, usual_settings
from streams.interfaces.cli.working import report, working_world

if TYPE_CHECKING:
    from streams.answering.world import World
    from streams.engine.progress import Progress
    from streams.interfaces.cli.working import Ended
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
    on_world: Callable[[World], object] = lambda _: None,
) -> int:
    """Run one worker to its end, in a world that is told of; the exit code. Raises a ``CliError``."""
    from streams.core.backbone import BackboneError
    from streams.engine.progress import Outcome
    from streams.interfaces.cli import observing
    from streams.interfaces.cli.config import load
    from streams.runtime.kafka.ending import unless
    from streams.runtime.kafka.web import told

    if config.run_code:
        raise usage("workers on Kafka run no code", field="--run-code", hint=ONE_FILE)
    # Before models are loaded, which takes long: a wrong URL is told at once.
    place, settings = place_of(url), load()
    home, port = Path(settings.home).expanduser(), settings.kafka.web_port
    pages = None if port is None else (observing.LOOPBACK, port)
    if metrics is not None:
        pages = observing.place_of(metrics, "--metrics")
    world = working_world(models, config.totals)
    on_world(world)
    say_expected(world, None, config.policy)

    async def run() -> Ended:
        ends = asyncio.Event()
        # While the topics are asked for there is no worker to drain: the event ends that wait.
        to_end: list[Callable[[], None]] = [ends.set]

        def drain(_: signal.Signals) -> None:
            # New calls end here; those in flight are recorded by the worker, which is told next.
            world.draining = True
            for each in to_end:
                each()

        received = drain_when_told(world, drain)
        try:
            worker = await unless(ends, _worker(place, world, home, config, on_change))
            # Told to end while it still looked for its topics: then there is nothing to hand back.
            if worker is None:
                return Outcome(), received if config.to_its_end else []
            to_end.append(worker.drain)
            worker.on_start = started
            async with observing.serving(told(worker), pages):
                outcome = await worker.run(until_idle=config.until_idle, settle=config.settle)
            return outcome, received if worker.drained and config.to_its_end else []
        finally:
            await world.close()

    try:
        with leaving(), hinting(place) as started:
            # What the clients print is damped and not hidden here: its log is read by people, for weeks.
            return report(*reached(place, lambda: looped(run()), printed=True))
    except BackboneError as error:
        raise as_cli(error) from error


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
    place: KafkaAddress,
    world: World,
    home: Path,
    config: WorkerConfig,
    on_change: Callable[[Progress], None] | None,
) -> KafkaWorker:
    """A worker on a cluster, with what it keeps of the log on this machine."""
    from schemas.problem import Limits
    from streams.answering.grading.grader import Grading
    from streams.engine.policies import find
    from streams.interfaces.cli.config import load
    from streams.runtime.kafka import topics
    from streams.runtime.kafka.worker import KafkaWorker

    said = load().kafka
    partitions, cluster = await topics.known(place)
    # By cluster and prefix, so that two logs whose topics have the same names share nothing.
    folder, name = home / cluster, place.group
    return KafkaWorker(
        place,
        partitions,
        world,
        find,
        name=f"{socket.gethostname()}:{os.getpid()}",
        default_policy=config.policy,
        usual=usual_settings(config, world),
        max_concurrency=config.max_concurrency,
        learning_limits=config.learning_limits or Limits(),
        session_ms=said.session_ms,
        max_ready=said.max_ready,
        on_change=on_change,
        index=folder / f"{name}.closed.db",
        kept=folder / f"{name}.learned",
        grading=Grading(own=config.grader),
    )


def refuse(otlp: str | None) -> None:
    """Raises a usage error that says how to have spans of a log on Kafka, where workers are many."""
    if otlp is not None:
        hint = "One process a log sends them: metalogue projector --otlp URL"
        raise usage("workers on Kafka send no spans", field="--otlp", hint=hint)


def _leave(number: int, frame: object) -> None:
    # At once, past the interpreter: client threads that wait for a broker would hold it up.
    os._exit(OK)
