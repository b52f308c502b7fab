"""Running a worker from the command line: lock, signals, and how its end becomes an exit code."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from streams.interfaces.cli.draining import drain_when_told, stopped, total_spent
from streams.interfaces.cli.errors import FAILED, OK, SPENT, UNREACHABLE, CliError, usage
from streams.interfaces.cli.expecting import say_expected
from streams.interfaces.cli.flags import FLAGS
from streams.interfaces.cli.opening import log_path, log_url, need_folder, open_own
from streams.interfaces.cli.output import say
from streams.interfaces.cli.setup import (
    Models,
    WorkerConfig,
    as_cli,
    need_budget_prices,
    need_prices,
    usual_settings,
    world_of,
)
from streams.runtime.embedded.files import SqliteError
from streams.runtime.embedded.queries import episodes
from streams.views.words import plural

if TYPE_CHECKING:
    from collections.abc import Generator
    from signal import Signals
    from typing import TypeAlias

    from streams.answering.grading.sandbox import Sandbox
    from streams.answering.world import Totals, World
    from streams.engine.progress import Outcome, Progress
    from streams.runtime.embedded.worker import Worker

    Ended: TypeAlias = tuple[Outcome, Sequence[Signals]]
    """What a worker came to, and what stopped one that was to come to its end."""


@contextmanager
def only_worker(path: str) -> Generator[None]:
    """Hold the log's worker lock. It dies with the process. Raises a ``CliError`` that names the holder."""
    # A file beside the log, and a lock of the system on it: the lock goes with the process,
    # however that ends, where a file that says "taken" would stay behind.
    with open(f"{path}.lock", "a+") as lock:
        for is_last in (False, True):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                # Whoever solves something beside a worker has it for a moment, to see whether there is one.
                if not is_last:
                    time.sleep(0.05)
                    continue
                lock.seek(0)
                pid = lock.read().strip()
                who = f"another worker has this log, process {pid or 'unknown'}"
                hint = f"Wait for it, or end it: kill {pid}. What it was doing is resumed."
                # A program may open a log twice: it is not to end itself.
                if pid == str(os.getpid()):
                    who = f"this process has a worker on this log already, {pid}"
                    hint = "Close that one first, or ask it: Client(LOG) may be opened beside it."
                # Whoever has just taken it has not written who it is.
                elif not pid.isdecimal():
                    hint = "Wait for it. What it is doing is resumed, should it end."
                raise CliError(
                    who,
                    error="log.busy",
                    exit=UNREACHABLE,
                    where=f"sqlite:{path}",
                    hint=hint,
                ) from error
        with suppress(OSError):  # on a full disk it holds all the same
            lock.truncate(0)
            os.write(lock.fileno(), str(os.getpid()).encode())
        yield


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
    from streams.core.backbone import BackboneError
    from streams.interfaces.cli.observing import exporting, place_of
    from streams.interfaces.cli.tabling import Attached
    from streams.runtime.tuning import tune_collector

    path, world = log_path(log_url(log)), working_world(models, config.totals)
    FLAGS.log = path
    need_folder(path)
    pages = None if metrics is None else place_of(metrics, "--metrics")
    with only_worker(path):
        # Made before the worker, which calls it at each change; it learns of its worker right
        # after.
        projector = Attached(log, on_change, wanted=tables)
        worker = projector.worker = _worker(log, world, config, projector)
        say_expected(world, worker.log, config.policy)
        if on_start is not None:
            on_start(worker)
        # After everything is loaded: what is there now lives as long as the process.
        tune_collector()
        with projector, exporting(worker.log.path, otlp, texts=texts):
            try:
                ended = asyncio.run(_run(worker, config, pages))
            except BackboneError as error:
                raise as_cli(error, episodes.not_closed(worker.log)) from error
            finally:
                worker.log.close()
            # A projector keeps the same and is at it still; two would overwrite each other.
            if projector.process is None:
                from streams.runtime.embedded.log import SqliteLog
                from streams.runtime.embedded.projector import tables_path
                from streams.runtime.embedded.snapshots import keep

                # A cache of what was learned, for the next start: that it cannot be written is no
                # failure.
                with (
                    suppress(OSError, SqliteError, ValueError, LookupError),
                    closing(SqliteLog(path)) as written,
                ):
                    keep(written, tables_path(written.path))
            return report(*ended)


def _worker(
    log: str | None, world: World, config: WorkerConfig, on_change: Callable[[Progress], None]
) -> Worker:
    from streams.answering.grading.grader import Grading
    from streams.engine.policies import find
    from streams.runtime.embedded.worker import Worker

    return Worker(
        open_own(log),
        world,
        find,
        name=f"worker:{os.getpid()}",
        default_policy=config.policy,
        usual=usual_settings(config, world),
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
    # Said and not refused: graders of other answers go on, and code counts as not measured, never
    # as wrong.
    say(f"--run-code: nothing is run, and code is not measured: {missing}")
    return None


def need_end(url: str, *, until_idle: bool) -> None:
    """Raises a usage error where a judge is to be asked at the end of a worker that has none, or is not alone."""
    # A judge beside workers that go on would ask about answers whose labels are still to come.
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


async def _run(worker: Worker, config: WorkerConfig, pages: tuple[str, int] | None) -> Ended:
    from streams.interfaces.cli.observing import serving
    from streams.telemetry.worker import Pages

    # In the loop that works, because only there the answers in flight can be waited for.
    received = drain_when_told(worker.world, lambda _: worker.drain())
    try:
        with closing(Pages(worker)) as shown:
            async with serving(shown.told, pages):
                outcome = await worker.run(until_idle=config.until_idle, settle=config.settle)
        return outcome, received if worker.drained and config.to_its_end else []
    finally:
        # Also after an error: connections and child processes of models do not end by themselves.
        await worker.world.close()


def report(outcome: Outcome, told: Sequence[Signals] = ()) -> int:
    """Say what is held back; the exit code. ``told``: what stopped work that was to come to its end.

    Raises a ``CliError`` where a total is spent, and where it was stopped.
    """
    for episode in outcome.parked:
        say(f"{episode}: parked; see metalogue doctor")
    if outcome.spent is not None:
        raise total_spent(outcome.spent)
    if told:
        raise stopped(told[0])
    # These are told of below, with what they wait for.
    known = {*outcome.asked, *outcome.unpaid}
    for held in [each for each in outcome.held if each not in known][:10]:
        say(f"{held}: waits")
    for why, count in Counter(outcome.unpaid.values()).items():
        say(f"{why}: {plural(count, 'problem')} wait{'s' if count == 1 else ''} for the next day")
    for episode in outcome.asked[:10]:
        say(f"{episode}: waits for a person; see metalogue review show {episode}")
    # What needs a person comes before what only needs time.
    if outcome.parked or outcome.asked:
        return FAILED
    if outcome.unpaid:  # what else is held waits for these
        return SPENT
    return FAILED if outcome.held else OK
