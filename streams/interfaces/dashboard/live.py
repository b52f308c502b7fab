"""Pages that renew themselves: a stream of events tells a browser whenever the log has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse

from streams.support.web.connections import most

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from streams.interfaces.dashboard.live_log import LiveLog

LIVE_S: Final = 1.0
"""Browsers are told of changes so often at most."""
STILL_S: Final = 15.0
"""After so long without a change they are told that we are still here."""


class Live:
    """The streams of one dashboard. They take half of its connections at most: pages need the others."""

    def __init__(self, live_log: LiveLog) -> None:
        self.live_log = live_log
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Server-sent events: one whenever the log changed, its data the number of the change."""
        if self.open >= most() // 2:
            said = "too many pages are followed at once: try again later\n"
            headers = {"retry-after": "10", "connection": "close"}
            await PlainTextResponse(said, 503, headers)(scope, receive, send)
            return
        self.open += 1
        try:
            changes = self._changes(Request(scope, receive))
            stream = StreamingResponse(changes, media_type="text/event-stream")
            await stream(scope, receive, send)
        finally:
            self.open -= 1

    async def _changes(self, request: Request) -> AsyncGenerator[str]:
        """Events for one browser, until it goes or the dashboard ends."""
        live_log = self.live_log
        seen, still = live_log.version, 0.0
        yield f"retry: 2000\nevent: hello\ndata: {seen}\n\n"
        while not live_log.stopped.is_set() and not await request.is_disconnected():
            # Looking once a second instead of being woken: a busy log changes hundreds of times in
            # one, and each event makes a browser fetch its whole page.
            await asyncio.sleep(LIVE_S)
            live_log.tick()
            still += LIVE_S
            if live_log.version != seen:
                seen, still = live_log.version, 0.0
                yield f"event: changed\ndata: {seen}\n\n"
            elif still >= STILL_S:
                # Proxies cut connections on which nothing comes.
                still = 0.0
                yield ": still here\n\n"
