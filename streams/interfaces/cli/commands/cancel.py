"""The command `cancel`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, Log, app

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@app.command()
def cancel(
    wanted: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="Problem ids, episode ids or unique prefixes."),
    ],
    log: Log = None,
    reason: Annotated[
        Optional[str], typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")
    ] = None,
    by: Annotated[
        Optional[str], typer.Option("--by", metavar="WHO", help="Whose word it is; you.")
    ] = None,
    json: Json = False,
) -> int:
    """Take out problems that wait or run.

    Their open calls are let go, what was answered stays on record, and no worker takes them up again.
    """
    # It tells no worker: it states on the log that they are taken out, and whoever works on them
    # hears it there. So it works from any process, and on Kafka as well.
    from streams.interfaces.cli.cancelling import cancel_all

    return cancel_all(log, wanted, by=by, reason=reason, json=json)
