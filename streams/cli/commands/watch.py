"""The commands that serve: dashboard for people, serve for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Optional

import typer

from streams.cli.app import Log, NewLog, app
from streams.cli.options import LimitOptions, MaxConcurrency, ModelOptions, Own, Tools, grouped

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOptions:
    """What a door offers, and to whom."""

    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where it listens.")
    ] = "127.0.0.1:8800"
    policies: Annotated[
        list[str],
        typer.Option(
            "--policy",
            metavar="NAME",
            help="A policy that is offered as a model; may be repeated. All of ours without one.",
        ),
    ] = field(default_factory=list[str])
    tokens: Annotated[
        Optional[str],
        typer.Option("--tokens", metavar="FILE", help="YAML that says who is let in."),
    ] = None
    allow_host: Annotated[
        list[str],
        typer.Option(
            "--allow-host", metavar="NAME", help="A name that it is reached by; may be repeated."
        ),
    ] = field(default_factory=list[str])
    allow_origin: Annotated[
        list[str],
        typer.Option("--allow-origin", metavar="URL", help="Pages of it may ask; may be repeated."),
    ] = field(default_factory=list[str])
    patience: Annotated[
        Optional[float],
        typer.Option("--patience", metavar="SECONDS", min=1, help="How long a request may wait."),
    ] = None


@app.command()
@grouped
def serve(
    *,
    log: NewLog = None,
    answering: ModelOptions,
    tools: Tools = None,
    limits: LimitOptions,
    wanted: DoorOptions,
    max_concurrency: MaxConcurrency = None,
) -> int:
    """Serve programs over HTTP, OpenAI's clients among them.

    Chat completions of policies, and problems, answers, events, feedback. On a SQLite log it works on what
    comes; on Kafka it hands it to workers.
    """
    from streams.cli.serving import Serving
    from streams.cli.serving import serve as run
    from streams.cli.setup import episodes_in_flight

    serving = Serving(
        listen=wanted.listen,
        policies=wanted.policies,
        names=wanted.allow_host,
        origins=wanted.allow_origin,
        tokens=wanted.tokens,
        limits=limits.limits(),
        max_concurrency=max_concurrency or episodes_in_flight(),
        patience_s=wanted.patience,
    )
    return run(log, answering.models(tools=tools), serving)
