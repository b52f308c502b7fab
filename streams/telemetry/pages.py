"""Web endpoints of a worker, the same on every runtime: /livez /readyz /metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from streams.telemetry.metrics import CONTENT_TYPE


@dataclass(frozen=True, slots=True)
class Told:
    """A worker's account of itself when it is asked.

    A supervisor ends a process that is not alive, so only a process that hangs is not; where nothing can be
    read or appended it would find the same after its restart, and is not ready.
    """

    alive: Callable[[], bool]
    unready: Callable[[], Awaitable[str | None]]
    """Why it cannot work just now; nothing where it can."""
    metrics: Callable[[], Awaitable[str]]


async def serve(told: Told, host: str, port: int) -> Any:
    """Start the pages; what is returned has a ``cleanup``. Raises ``OSError`` if the port is taken."""
    # Not at the top: a worker without pages does without aiohttp.
    web: Any = import_module("aiohttp.web")

    async def livez(_: Any) -> Any:
        return _said(web, None if told.alive() else "nothing moved")

    async def readyz(_: Any) -> Any:
        return _said(web, await told.unready())

    async def metrics(_: Any) -> Any:
        body = (await told.metrics()).encode()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    pages = web.Application()
    for path, page in (("/livez", livez), ("/readyz", readyz), ("/metrics", metrics)):
        pages.router.add_get(path, page)
    # Without a log of requests: a supervisor asks every few seconds, and that is all
    # there would be in it.
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner


def _said(web: Any, wrong: str | None) -> Any:
    return web.Response(text=f"{wrong or 'ok'}\n", status=200 if wrong is None else 503)
