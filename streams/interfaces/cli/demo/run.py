"""The `demo` command: produce, work, consume, and the screen that says what came of it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from streams.interfaces.cli.demo.file import begun, set_aside
from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.live import watching
from streams.interfaces.cli.opening import open_log
from streams.interfaces.cli.output import say
from streams.interfaces.cli.setup import Models, WorkerConfig, as_cli, world_of
from streams.interfaces.cli.working import only_worker, work
from streams.runtime.embedded.queries import messages

SOURCE, POLICY = "game24:901-1000", "mc2"
PATH = "demo.db"
LOG = f"sqlite:{PATH}"
BACKBONE = "rehearsal:seed=7,latency_ms=100"
GROUP = "group/demo"


def demo(backbone: str | None) -> int:
    """Run the demo in the working directory, or go on with one broken off; the exit code."""
    from streams.engine.policies import find
    from streams.interfaces.cli.config import load
    from streams.interfaces.cli.demo.screen import screen
    from streams.interfaces.cli.demo.views import chosen
    from streams.producing.produce import Plan, Producer
    from streams.producing.sources import lines_of

    models = Models(backbone=backbone or BACKBONE)
    prepare(PATH, world_described(models))
    # What `metalogue produce game24:901-1000 --policy mc2` does; known problems are skipped.
    with closing(open_log(LOG, create=True)) as log:
        plan = Plan(source=SOURCE, find=find, policy=POLICY)
        Producer(log, plan).run(lines_of(SOURCE, load().game24_csv))
    # What `metalogue worker --until-idle --settle` does, watched.
    with watching(LOG, chosen) as watch:
        config = WorkerConfig(until_idle=True, settle=True)
        code = work(LOG, models, config, on_change=watch)
    with closing(open_log(LOG)) as log:
        state = begun(log)
        if not state.finished:
            done = f"{state.closed} of {state.problems} closed"
            say(f"{PATH}: stopped with {done}. Run it again: it goes on.")
            return code
        # What `metalogue consume --group demo` does: each answer is taken once,
        # however often the demo is started again.
        for offset, *_ in log.messages("answers", log.position(GROUP, "answers")):
            log.commit_position(GROUP, "answers", offset)
        taken = messages.count(log, "answers", upto=log.position(GROUP, "answers"))
        screen(log, LOG, taken).show()
        return code


def world_described(models: Models) -> str:
    """The models as the log will name them; what is wrong with them shows first."""
    from streams.core.backbone import BackboneError

    try:
        return world_of(models, offering=()).description
    except BackboneError as error:
        raise as_cli(error) from error


def prepare(path: str, backbones: str, *, afresh: bool = True) -> None:
    """Keep a log to go on with; set any other aside, a finished one too where each run is to be ``afresh``."""
    if not os.path.exists(path):
        return
    # The lock is a worker's: a log that somebody works on must not be renamed under his hands.
    with only_worker(path):
        try:
            log = open_log(f"sqlite:{path}")
        except CliError as error:
            error.hint = f"Move {path} away: the demo writes its log there."
            raise
        state = begun(log)
        log.close()
        why = state.why_aside(backbones, afresh=afresh)
        if why is None:
            say(f"{path}: {state.closed} of {state.problems} closed; going on from there")
        else:
            say(f"{path} was {why}: kept as {set_aside(Path(path))}")
