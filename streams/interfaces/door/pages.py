"""What a door tells its supervisor and Prometheus: whether it can take problems, and what came to it."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from streams.interfaces.door.client import Client
from streams.telemetry.metrics import SECONDS, Sample, exposed, histogram
from streams.telemetry.pages import Told

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ROUTES: Final = frozenset(
    {"chat", "models", "problems", "answers", "events", "explanations", "feedback", "reviews"}
    | {"cancellations", "mcp"}
)
"""Requests are counted by these; whatever else somebody asks for is one more, so that nobody can make labels."""
ELSE: Final = "else"


class Requests:
    """An ASGI application that counts what comes to another: by route and status, and how long it took.

    That is until the response begins, for a stream may go on for as long as its episode.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.open = 0
        self.statuses = Counter[tuple[str, int]]()
        self.buckets: dict[str, Counter[int]] = {}
        self.seconds = defaultdict[str, float](float)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        route, began_s = route_of(scope["path"]), time.perf_counter()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                took_s = time.perf_counter() - began_s
                self.statuses[route, message["status"]] += 1
                self.buckets.setdefault(route, Counter())[bisect_left(SECONDS, took_s)] += 1
                self.seconds[route] += took_s
            await send(message)

        self.open += 1
        try:
            await self.app(scope, receive, counted)
        finally:
            self.open -= 1

    def samples(self) -> list[Sample]:
        """Every metric of the requests."""
        found = [Sample("metalogue_door_requests_open", self.open)]
        for (route, status), count in sorted(self.statuses.items()):
            by_status = (("route", route), ("status", str(status)))
            found.append(Sample("metalogue_door_requests_total", count, by_status))
        name = "metalogue_door_request_seconds"
        for route, buckets in sorted(self.buckets.items()):
            found += histogram(name, buckets, self.seconds[route], (("route", route),))
        return found


def route_of(path: str) -> str:
    """What a request is counted under, by its path."""
    parts = path.split("/", 3)
    name = parts[2] if parts[:2] == ["", "v1"] and len(parts) > 2 else parts[-1]
    return name if name in ROUTES else ELSE


def told_of(client: Client, requests: Requests) -> Told:
    """What the pages of a door say. Whatever answers at all is alive: there is one event loop."""

    async def metrics() -> str:
        awaited = Sample("metalogue_door_answers_awaited", client.pending)
        return await client.metrics() + exposed([awaited, *requests.samples()])

    return Told(lambda: True, client.trouble, metrics)
