"""The view of a running worker or projector: its web pages, and the spans that it sends on."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from streams.interfaces.cli.errors import SETUP, UNREACHABLE, CliError, usage
from streams.support.extras import install

if TYPE_CHECKING:
    from pathlib import Path

    from streams.telemetry.pages import Told

LOOPBACK = "127.0.0.1"
LAST_S = 15.0
"""How long a process that ends waits for its last spans to be taken."""


def place_of(given: str, option: str) -> tuple[str, int]:
    """``HOST:PORT`` in two; the port alone means loopback. Raises a usage error."""
    host, _, port = given.rpartition(":")
    if not port.isdecimal() or not 0 <= int(port) < 65536:
        raise usage(f"{given!r} is not HOST:PORT", field=option, hint="Such as 127.0.0.1:9464")
    return host.strip("[]") or LOOPBACK, int(port)


def taken(host: str, port: int, error: OSError, option: str) -> CliError:
    """A place that cannot be listened at."""
    return CliError(
        os.strerror(error.errno) if error.errno else str(error),
        error="web.taken",
        exit=UNREACHABLE,
        where=f"{host}:{port}",
        hint=f"Another process may serve there. Give another place: {option} HOST:PORT",
    )


def need_extra(module: str, extra: str) -> None:
    """Raises a ``CliError`` that says how to install what is missing."""
    if find_spec(module) is None:
        raise CliError(
            f"this needs the extra {extra}, which is not installed",
            error="extra.missing",
            exit=SETUP,
            hint=f"Install it: {install(extra)}",
        )


@asynccontextmanager
async def serving(told: Told, place: tuple[str, int] | None) -> AsyncGenerator[None]:
    """A worker's web pages, where they are wanted. Raises a ``CliError`` if the port is taken."""
    if place is None:
        yield
        return
    from streams.telemetry.pages import serve

    try:
        pages = await serve(told, *place)
    except OSError as error:
        raise taken(*place, error, "--metrics") from error
    try:
        yield
    finally:
        await pages.cleanup()


@contextmanager
def exporting(path: Path, url: str | None, *, texts: bool = False) -> Generator[None]:
    """Send the spans of a log on while something else runs, with ``texts`` if that was asked for.

    Raises a ``CliError`` for a wrong address.
    """
    if url is None and texts:
        raise usage("say where spans go: --otlp URL", field="--otlp-text")
    if url is None:
        yield
        return
    need_extra("opentelemetry", "otel")
    from streams.telemetry.otlp import endpoint_of

    try:
        # Here, although the thread reads it again: an error in a thread would come after the work
        # had begun.
        endpoint_of(url)
    except ValueError as error:
        raise usage(str(error), field="--otlp") from error
    stopped = threading.Event()
    thread = threading.Thread(
        target=_export, args=(path, url, stopped, texts), name="otlp", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        # A collector that is away must not keep the process from ending.
        thread.join(LAST_S)


def _export(path: Path, url: str, stopped: threading.Event, texts: bool) -> None:
    from streams.runtime.embedded.log import SqliteLog
    from streams.telemetry.otlp import Export, Sender
    from streams.telemetry.texts import Texts

    sender = Sender(url)
    # A connection of its own, because the one of the worker belongs to another thread.
    with closing(SqliteLog(path)) as log:
        Export(log, sender.send, sender.url, Texts(log) if texts else None).follow(stopped)
    sender.close()
