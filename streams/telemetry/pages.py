"""Web endpoints of a worker, the same on every runtime: /livez /readyz /metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from streams.telemetry.metrics import CONTENT_TYPE


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker says of itself when it is asked."""

    alive: Callable[[], bool]
    ready: Callable[[], bool]
    metrics: Callable[[], Awaitable[str]]


async def serve(told: Told, host: str, port: int) -> Any:
    """Start the pages; what is returned has a ``cleanup``. Raises ``OSError`` if the port is taken."""
    web: Any = import_module("aiohttp.web")

    async def livez(_: Any) -> Any:
        return _said(web, told.alive(), "nothing moved")

    async def readyz(_: Any) -> Any:
        return _said(web, told.ready(), "not yet")

    async def metrics(_: Any) -> Any:
        body = (await told.metrics()).encode()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    pages = web.Application()
    for path, page in (("/livez", livez), ("/readyz", readyz), ("/metrics", metrics)):
        pages.router.add_get(path, page)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner


def _said(web: Any, good: bool, bad: str) -> Any:
    return web.Response(text="ok\n" if good else f"{bad}\n", status=200 if good else 503)
