"""The `bench search` and `bench strategies` commands: several runs on one log, analysed together."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout

from streams.interfaces.cli.analysing import analyse
from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.main import main
from streams.interfaces.cli.places import folder_of
from streams.research.bench.search_table import Command, Failed, work


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
    # A folder that cannot be written to is refused first: the runs below may take hours.
    folder_of(folder, "--out")
    with commands() as command:
        produce(command, log, problems)
        work(command, log, backbone)
    return analyse(None, log=log, folder=folder, json=json)


@contextmanager
def commands() -> Generator[Command]:
    """What runs the commands that a bench is made of. Raises a ``CliError`` with the exit code of one that fails."""
    try:
        # Each is an ordinary command that prints a summary of its own; only the bench's is the
        # result.
        with redirect_stdout(io.StringIO()):
            yield lambda arguments: main(list(arguments))
    except Failed as error:
        hint = "It said why itself. When that is mended, give this command again: what is done is kept."
        raise CliError(str(error), error="bench.stopped", exit=error.code, hint=hint) from error
