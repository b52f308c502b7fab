"""The `bench search` and `bench strategies` commands: several runs on one log, analysed together."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from streams.bench.search_table import Command, work
from streams.cli.analysing import analyse
from streams.cli.main import main

if TYPE_CHECKING:
    from streams.cli.commands.bench import SideOptions


def run(produce: Callable[[Command, str, int], None], sides: SideOptions, *, json: bool) -> int:
    """Produce the runs, work on them, and analyse them beside each other; the exit code."""

    def command(arguments: Sequence[str]) -> int:
        return main(list(arguments))

    with redirect_stdout(io.StringIO()):
        produce(command, sides.log, sides.problems)
        work(command, sides.log, sides.backbone)
    return analyse(None, log=sides.log, folder=sides.folder, json=json)
