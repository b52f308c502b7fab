"""The `analyse` command's options."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.cli.app import Json, Log, app
from streams.cli.options import Backbone, Judge, Own

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@app.command()
def analyse(
    run: Annotated[
        Optional[str],
        typer.Argument(metavar="RUN", help="A run, policy or series; left out, everything."),
    ] = None,
    log: Log = None,
    folder: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where analysis.md, .json, .html go.")
    ] = "analysis",
    audit: Annotated[
        bool, typer.Option("--audit", help="First run a shadow for every prune, with --backbone.")
    ] = False,
    backbone: Backbone = None,
    judge: Judge = None,
    own: Own = [],  # noqa: B006 - typer copies it
    json: Json = False,
) -> int:
    """Diagnostics: accuracy, cost, calibration, risk, trees."""
    from streams.cli.analysing import analyse as work
    from streams.cli.setup import Models

    models = Models(backbone=backbone) if audit else None
    return work(run, log=log, folder=folder, json=json, models=models, judge=judge)
