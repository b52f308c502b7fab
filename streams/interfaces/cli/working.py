"""Running a worker from the command line: lock, signals, and how its end becomes an exit code."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections import Counter
from collections.abc import Callable
from contextlib import closing, contextmanager, suppress
from typing import IO, TYPE_CHECKING

from streams.interfaces.cli.draining import drain_when_told, total_spent
from streams.interfaces.cli.errors import FAILED, OK, SPENT, UNREACHABLE, CliError, usage
from streams.interfaces.cli.expecting import say_expected
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.opening import log_path, log_url, need_folder, open_log
from streams.interfaces.cli.output import say
from streams.interfaces.cli.setup import (
    Models,
    WorkerConfig,
    as_cli,
    need_budget_prices,
    need_prices,
    world_of,
)
from streams.runtime.embedded.files import SqliteError
from streams.runtime.embedded.queries import episodes
from streams.views.words import plural

if TYPE_CHECKING:
    from collections.abc import Generator

    from streams.answering.grading.sandbox import Sandbox
    from streams.answering.world import Totals, World
    from streams.engine.progress import Outcome, Progress
    from streams.runtime.embedded.worker import Worker


@contextmanager
def only_worker(path: str) -> Generator[None]:
    """Hold the log's worker lock. It dies with the process. Raises a ``CliError`` that names the holder."""
    with open(f"{path}.lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _held(path, lock) from error
        with suppress(OSError):  # on a full disk it holds all the same
            lock.truncate(0)
            os.write(lock.fileno(), str(os.getpid()).encode())
        yield


def _held(path: str, lock: IO[str]) -> CliError:
    lock.seek(0)
    pid = lock.read().strip() or "unknown"
    return CliError(
        f"another worker has this log, process {pid}",
        error="log.busy",
        exit=UNREACHABLE,
        where=f"sqlite:{path}",
        hint=f"Wait for it, or end it: kill {pid}. What it was doing is resumed.",
    )


def work(
    log: str | None,
    models: Models,
    config: WorkerConfig,
    *,
    on_change: Callable[[Progress], None] | None = None,
    on_start: Callable[[Worker], object] | None = None,
    tables: bool = False,
    metrics: str | None = None,
    otlp: str | None = None,
    texts: bool = False,
) -> int:
    """Run one worker to its end; the exit code. Raises ``CliError`` where the set-up is broken."""
    from streams.interfaces.cli.observing import exporting, place_of
    from streams.interfaces.cli.tabling import Attached
    from streams.runtime.tuning import tune_collector

    path, world = log_path(log_url(log)), working_world(models, config.totals)
    FLAGS.log = path
    need_folder(path)
    pages = None if metrics is None else place_of(metrics, "--metrics")
    with only_worker(path):
        projector = Attached(log, on_change, wanted=tables)
        worker = projector.worker = _worker(log, world, config, projector)
        say_expected(world, worker.log, config.policy)
        if on_start is not None:
            on_start(worker)
        tune_collector()
        with projector, exporting(worker.log.path, otlp, texts=texts):
            outcome = _finished(worker, config, pages)
            if projector.process is None:
                _keep_learned(path)
            return report(outcome)


def _keep_learned(path: str) -> None:
    """What was learned, beside the log, for the next start. It is a cache: that it cannot be written is no failure."""
    from streams.runtime.embedded.log import SqliteLog
    from streams.runtime.embedded.projector import tables_path
    from streams.runtime.embedded.snapshots import keep

    with (
        suppress(OSError, SqliteError, ValueError, LookupError),
        closing(SqliteLog(path)) as log,
    ):
        keep(log, tables_path(log.path))


def _worker(
    log: str | None, world: World, config: WorkerConfig, on_change: Callable[[Progress], None]
) -> Worker:
    from streams.answering.grading.grader import Grading
    from streams.engine.policies import find
    from streams.runtime.embedded.worker import Worker

    return Worker(
        open_log(log, create=True),
        world,
        find,
        name=f"worker:{os.getpid()}",
        default_policy=config.policy,
        prompts=config.prompts,
        max_concurrency=config.max_concurrency,
        learning_limits=config.learning_limits,
        on_change=on_change,
        grading=Grading(sandbox=sandbox_of(config), own=config.grader),
    )


def sandbox_of(config: WorkerConfig) -> Sandbox | None:
    """Where code is run, if this command line says so; where nobody can be shut in, that is said once."""
    if not config.run_code:
        return None
    from streams.answering.grading.sandbox import Sandbox

    sandbox = Sandbox()
    missing = sandbox.missing()
    if missing is None:
        return sandbox
    say(f"--run-code: nothing is run, and code is not measured: {missing}")
    return None


def need_end(url: str, *, until_idle: bool) -> None:
    """Raises a usage error where a judge is to be asked at the end of a worker that has none, or is not alone."""
    if not until_idle or url.startswith("kafka://"):
        raise usage(
            "a judge is asked when the work is done",
            field="--judge",
            hint="Give --until-idle; or later, also beside workers: metalogue analyse --judge B",
        )


def working_world(models: Models, totals: Totals | None) -> World:
    """Who answers; a limit of cost needs to know the prices."""
    world = world_of(models, totals=totals)
    if totals is not None and totals.cost is not None:
        need_prices(world, "--total-cost")
    if models.limits is not None and models.limits.cost is not None:
        need_prices(world, "--cost-limit")
    need_budget_prices(world)
    return world


def _finished(worker: Worker, config: WorkerConfig, pages: tuple[str, int] | None) -> Outcome:
    """How the worker's run ended. Raises a ``CliError`` where its set-up is broken."""
    from streams.core.backbone import BackboneError

    log = worker.log
    try:
        return asyncio.run(_run(worker, config, pages))
    except BackboneError as error:
        raise as_cli(error, episodes.not_closed(log)) from error
    finally:
        log.close()


async def _run(worker: Worker, config: WorkerConfig, pages: tuple[str, int] | None) -> Outcome:
    from streams.interfaces.cli.observing import serving
    from streams.telemetry.worker import Pages

    drain_when_told(worker.world, lambda _: worker.drain())
    try:
        with closing(Pages(worker)) as shown:
            async with serving(shown.told, pages):
                return await worker.run(until_idle=config.until_idle, settle=config.settle)
    finally:
        await worker.world.close()


def report(outcome: Outcome) -> int:
    """Say what is held back; the exit code."""
    for episode in outcome.parked:
        say(f"{episode}: parked; see metalogue doctor")
    if outcome.spent is not None:
        raise total_spent(outcome.spent)
    known = {*outcome.asked, *outcome.unpaid}
    for held in [each for each in outcome.held if each not in known][:10]:
        say(f"{held}: waits")
    for why, count in Counter(outcome.unpaid.values()).items():
        say(f"{why}: {plural(count, 'problem')} wait{'s' if count == 1 else ''} for the next day")
    for episode in outcome.asked[:10]:
        say(f"{episode}: waits for a person; see metalogue review show {episode}")
    if outcome.parked or outcome.asked:
        return FAILED
    if outcome.unpaid:  # what else is held waits for these
        return SPENT
    return FAILED if outcome.held else OK
