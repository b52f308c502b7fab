"""The `regrade` command's options."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, Log, app
from streams.interfaces.cli.options import GraderOption, Judge, Own, TotalOptions, grouped

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@app.command()
@grouped
def regrade(
    *,
    source: Annotated[
        Optional[str], typer.Argument(metavar="SOURCE", help="The log, instead of --log.")
    ] = None,
    log: Log = None,
    run: Annotated[
        Optional[str],
        typer.Option("--run", metavar="RUN", help="A run, policy or series; left out, everything."),
    ] = None,
    grader: GraderOption = None,
    judge: Judge = None,
    own: Own = [],  # noqa: B006 - typer copies it
    totals: TotalOptions,
    json: Json = False,
) -> int:
    """Grade the answers of a log anew; no reasoning call is made.

    By a grader of your own, by a judge, or, with neither, by those of this build. What was learned follows.
    """
    from streams.interfaces.cli.errors import usage
    from streams.interfaces.cli.opening import existing
    from streams.interfaces.cli.regrading import regrade as work

    if source is not None and log is not None:
        raise usage("the log is named twice", field="SOURCE", hint="Leave out one: SOURCE or --log")
    # Two names of a log would be two logs: neither may win in silence, as
    # grades are appended to it.
    where = log or existing(source)
    spent = totals.totals()
    return work(where, run=run, grader=grader, judge=judge, totals=spent, json=json)
