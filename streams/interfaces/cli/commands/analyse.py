"""The `analyse` command's options."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.interfaces.cli.app import Json, Log, app
from streams.interfaces.cli.options import Backbone, GraderOption, Judge, Own

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
    grader: GraderOption = None,
    own: Own = [],  # noqa: B006 - typer copies it
    json: Json = False,
) -> int:
    """Diagnostics: accuracy, cost, calibration, risk, trees."""
    from streams.interfaces.cli.analysing import analyse as work
    from streams.interfaces.cli.errors import usage
    from streams.interfaces.cli.setup import Models

    # Without --audit no model is asked, whatever the settings name: an
    # analysis must cost nothing unasked.
    if backbone is not None and not audit:
        hint = "Give --audit as well, or leave it out: without it no model is asked"
        raise usage("only --audit asks a model", field="--backbone", hint=hint)
    models = Models(backbone=backbone) if audit else None
    return work(run, log=log, folder=folder, json=json, models=models, judge=judge, grader=grader)


@app.command()
def evidence(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="Whose tables are derived.")
    ] = "deploy/docs/evidence.md",
    write: Annotated[
        bool, typer.Option("--write", help="Put them there instead of comparing.")
    ] = False,
    plots: Annotated[
        Optional[str],
        typer.Option("--plots", metavar="FOLDER", help="Where banks of chains are drawn, as SVG."),
    ] = None,
    json: Json = False,
) -> int:
    """Derive a page's figures anew from the logs that it names.

    No model is asked. It ends with 3 where a figure or a byte of a log is another.
    """
    from streams.interfaces.cli.evidence import evidence as run

    return run(page, write=write, json=json, plots=plots)
