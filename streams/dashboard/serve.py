"""Serving the dashboard until it is told to end."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn

from streams.web.connections import AT_ONCE, Connection

if TYPE_CHECKING:
    import socket
    from types import FrameType

    from starlette.applications import Starlette

GOODBYE_S = 1
"""Open event streams are cut after so long."""


class Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, told: Callable[[], None]) -> None:
        super().__init__(config)
        self.told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self.told()


def serve(app: Starlette, listening: socket.socket, told: Callable[[], None]) -> None:
    """Serve on a socket that listens already, until SIGINT or SIGTERM."""
    options: dict[str, Any] = {
        "log_level": "error",  # whoever sends nonsense would fill the log with warnings
        "http": Connection,
        "ws": "none",
        "backlog": AT_ONCE,
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": GOODBYE_S,
    }
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(
            each, _ended
        )  # uvicorn raises them again once it has ended; that is no failure
    Server(uvicorn.Config(app, **options), told).run([listening])


def _ended(number: int, frame: FrameType | None) -> None:
    """We were told to end, and have."""
