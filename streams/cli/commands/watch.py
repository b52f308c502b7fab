"""The command to watch with: dashboard."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from streams.cli.app import Log, app
from streams.cli.options import Own

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


@app.command()
def dashboard(
    log: Log = None,
    listen: Annotated[
        Optional[str],
        typer.Option("--listen", metavar="HOST:PORT", help="Where; 127.0.0.1:8790 unless set."),
    ] = None,
    allow_host: Annotated[
        Optional[list[str]],
        typer.Option(
            "--allow-host", metavar="NAME", help="A name that it is reached by; may be repeated."
        ),
    ] = None,
    own: Own = [],  # noqa: B006 - typer copies it
    browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> int:
    """Pages over a log, live while it grows.

    Its flow, episodes, answers, lessons and dead letters.
    """
    from streams.cli.dashboarding import dashboard as run

    return run(log, listen=listen, names=allow_host or (), browser=browser)
