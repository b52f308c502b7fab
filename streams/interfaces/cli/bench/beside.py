"""The `bench search` and `bench strategies` commands: several runs on one log, analysed together."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout

from streams.interfaces.cli.analysing import analyse
from streams.interfaces.cli.main import main
from streams.interfaces.cli.places import folder_of
from streams.research.bench.search_table import Command, work


def run(
    produce: Callable[[Command, str, int], None],
    *,
    log: str,
    problems: int,
    backbone: str,
    folder: str,
    json: bool,
) -> int:
    """Produce the runs, work on them, and analyse them beside each other; the exit code."""

    def command(arguments: Sequence[str]) -> int:
        return main(list(arguments))

    # A folder that cannot be written to is refused first: the runs below may take hours.
    folder_of(folder, "--out")
    # Each run is an ordinary command that prints a summary of its own; only
    # the analysis is the result.
    with redirect_stdout(io.StringIO()):
        produce(command, log, problems)
        work(command, log, backbone)
    return analyse(None, log=log, folder=folder, json=json)
