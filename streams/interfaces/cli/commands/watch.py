"""The commands that serve: dashboard for people, serve for programs, mcp for assistants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from streams.interfaces.cli.app import Log, NewLog, app
from streams.interfaces.cli.options import (
    LimitOptions,
    MaxConcurrency,
    ModelOptions,
    Own,
    Tools,
    grouped,
)

if TYPE_CHECKING:
    from streams.interfaces.cli.serving import Serving

# ruff: noqa: UP045 - typer reads these annotations at run time on every supported Python


# Three servers for three kinds of guests. The dashboard only reads, and so may run beside any
# worker. The other two work: on a SQLite log they are its worker, and no second one can have it.
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
    from streams.interfaces.cli.dashboarding import dashboard as run

    return run(log, listen=listen, names=allow_host or (), browser=browser)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOptions:
    """Options that say what a door offers, and to whom."""

    # Both protocols take the same: whoever lets guests in decides that once, and not by protocol.

    policies: Annotated[
        list[str],
        typer.Option(
            "--policy",
            metavar="NAME",
            help="A policy that is offered; may be repeated. All of ours without one.",
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

    metrics: Annotated[
        Optional[str],
        typer.Option("--metrics", metavar="HOST:PORT", help="Serve /metrics /livez /readyz."),
    ] = None

    def serving(self, limits: LimitOptions, max_concurrency: int | None) -> Serving:
        """The same as what serves takes it."""
        from streams.interfaces.cli.serving import Serving
        from streams.interfaces.cli.setup import episodes_in_flight

        return Serving(
            policies=self.policies,
            names=self.allow_host,
            origins=self.allow_origin,
            tokens=self.tokens,
            metrics=self.metrics,
            limits=limits.limits(),
            # Unset it is what the configuration says, which is read here and not in a default: defaults
            # are shown by --help, which reads no configuration.
            max_concurrency=max_concurrency or episodes_in_flight(),
            patience_s=self.patience,
        )


@app.command()
@grouped
def serve(
    *,
    log: NewLog = None,
    answering: ModelOptions,
    tools: Tools = None,
    limits: LimitOptions,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where it listens.")
    ] = "127.0.0.1:8800",
    wanted: DoorOptions,
    max_concurrency: MaxConcurrency = None,
) -> int:
    """Serve programs over HTTP, OpenAI's clients among them.

    Chat completions of policies, and problems, answers, events, feedback. On a SQLite log it works on what
    comes; on Kafka it hands it to workers.
    """
    from streams.interfaces.cli.serving import serve as run

    # Limits are the door's and not the models': they bound what guests may
    # ask for, request by request.
    serving = wanted.serving(limits, max_concurrency)
    return run(log, answering.models(tools=tools), serving, listen=listen)


@app.command()
@grouped
def mcp(
    *,
    log: NewLog = None,
    answering: ModelOptions,
    tools: Tools = None,
    limits: LimitOptions,
    listen: Annotated[
        Optional[str],
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Over HTTP, there; without it, on standard input and output.",
        ),
    ] = None,
    wanted: DoorOptions,
    max_concurrency: MaxConcurrency = None,
) -> int:
    """Serve assistants by the Model Context Protocol.

    Tools that solve problems, explain episodes and search lessons: for the program that starts this one, or over HTTP
    under the rules of `serve`.
    """
    from streams.interfaces.cli.serving import mcp as run

    serving = wanted.serving(limits, max_concurrency)
    return run(log, answering.models(tools=tools), serving, listen=listen)
