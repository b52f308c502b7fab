"""Serving the dashboard until it is told to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn

from streams.support.web.connections import AT_ONCE, Connection

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

GOODBYE_S = 1
"""Open event streams are cut after so long."""


class Server(uvicorn.Server):
    """Says where it listens once it does."""

    # Told only now, since a browser that is opened a moment too early would show an error.
    def __init__(
        self, config: uvicorn.Config, told: Callable[[], None], ending: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self.told, self.ending = told, ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self.told()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that it ends, then let requests come to their end."""
        self.ending()
        await super().shutdown(sockets)


def serve(app: ASGIApp, listening: socket.socket, told: Callable[[], None]) -> None:
    """Serve on a socket that listens already, until SIGINT, SIGTERM or SIGHUP."""
    # The socket comes from the command, so that a port that is taken is an error in one line there.
    end_when_told()
    asyncio.run(serving(app, listening, told))


async def serving(
    app: ASGIApp,
    listening: socket.socket,
    told: Callable[[], None],
    ending: Callable[[], None] = lambda: None,
) -> None:
    """The same in a running event loop, of a process whose only work this is.

    ``ending`` is called before it waits for the requests that are open.
    """
    options: dict[str, Any] = {
        "log_level": "error",  # whoever sends nonsense would fill the log with warnings
        "http": Connection,
        "ws": "none",
        "backlog": AT_ONCE,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": GOODBYE_S,
    }
    await Server(uvicorn.Config(app, **options), told, ending).serve([listening])


def end_when_told() -> None:
    """Uvicorn raises the signals that ended it once more when it has: that is no failure."""

    def ended(*_: object) -> None:
        """We were told to end, and have."""

    def closed(*_: object) -> None:
        """The terminal is gone."""
        signal.raise_signal(signal.SIGTERM)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, ended)
    # Of a terminal that is closed uvicorn knows nothing, and calls in flight would be lost. What
    # `nohup` has taken away stays away.
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, closed)
