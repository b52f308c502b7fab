"""The web application: one address a page, every page made on the server and whole without scripts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from streams.analysis.graph_page import STYLE
from streams.cli.errors import CliError
from streams.dashboard import letters, looking, numbers, words
from streams.dashboard.glass import Glass
from streams.dashboard.guard import Guard, alone
from streams.telemetry.metrics import CONTENT_TYPE, exposed

if TYPE_CHECKING:
    from starlette.requests import Request

    from streams.runtime.embedded.log import SqliteLog

HERE: Final = Path(__file__).parent
LIVE_S: Final = 1.0
"""Browsers are told of changes so often at most."""
STILL_S: Final = 15.0
"""After so long without a change they are told that we are still here."""
PAGES: Final = {
    "/": ("overview", "Overview"),
    "/episodes": ("episodes", "Episodes"),
    "/episode": ("episode", "Episode"),
    "/episode/at": ("moment", "Step"),
    "/answers": ("answers", "Answers"),
    "/learning": ("learning", "Learning"),
    "/items": ("items", "Lessons and rules"),
    "/item": ("item", "Lesson or rule"),
    "/arms": ("arms", "Arms"),
    "/graph": ("graph", "Graph memory"),
    "/dead-letters": ("letters", "Dead letters"),
    "/dead-letter": ("letter", "Dead letter"),
}
MENU: Final = ("/", "/episodes", "/answers", "/learning", "/arms", "/graph", "/dead-letters")


class Dashboard:
    """The pages of one log. ``writable`` opens it where something may be changed: with a token only."""

    def __init__(
        self, glass: Glass, url: str, writable: Callable[[], SqliteLog], token: str | None = None
    ) -> None:
        self.glass, self.url, self.writable, self.token = glass, url, writable, token
        self.templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters.update(words.FILTERS)
        self.templates.globals.update(words.GLOBALS)

    def app(self, host: str) -> Starlette:
        """The application, which follows the log while it is up."""
        pages = [Route(path, self._page(path)) for path in PAGES]
        return Starlette(
            routes=[
                *pages,
                Route("/dead-letter/replay", self.replay, methods=["POST"]),
                Route("/graph/drawn", self.drawn),
                Route("/live", self.live),
                Route("/metrics", self.metrics),
                Route("/livez", self.livez),
                Route("/readyz", self.readyz),
                Mount("/static", StaticFiles(directory=HERE / "static")),
            ],
            middleware=[Middleware(Guard, host=host)],
            exception_handlers={HTTPException: self.failed, CliError: self.failed},
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        """Follow the log in a thread of its own."""
        thread = threading.Thread(target=self.glass.follow, name="glass", daemon=True)
        thread.start()
        yield
        self.glass.stopped.set()
        await asyncio.to_thread(thread.join)

    # -- pages -------------------------------------------------------------------------------------

    def _page(self, path: str) -> Callable[[Request], Response]:
        name, title = PAGES[path]
        look = looking.PAGES[name]

        def page(request: Request) -> Response:
            version = self.glass.version  # as it was before: what comes meanwhile comes as a change
            found = look(self.glass, request.query_params)
            return self.shown(request, name, title, found | {"version": version})

        return page

    def shown(
        self, request: Request, name: str, title: str, found: dict[str, Any], status: int = 200
    ) -> HTMLResponse:
        """A page from its template."""
        menu = [(path, PAGES[path][1], path == request.url.path) for path in MENU]
        own = {"menu": menu, "log_url": self.url, "title": title, "version": self.glass.version}
        own |= {
            "failed": self.glass.failed,
            "away": self.glass.away,
            "may_change": bool(self.token),
        }
        said = {name: value for name, value in request.query_params.items() if len(value) < 500}
        text = self.templates.get_template(f"{name}.html").render(own | {"asked": said} | found)
        return HTMLResponse(text, status)

    def drawn(self, request: Request) -> Response:
        """A graph memory drawn, a page of its own."""
        scope = request.query_params.get("scope", "")
        with self.glass.lock:
            text = numbers.graph_drawn(self.glass.state, scope)
        if text is None:
            raise HTTPException(404, f"{scope or 'no scope'} keeps no graph")
        return HTMLResponse(text, headers=alone(STYLE))

    def failed(self, request: Request, error: Exception) -> Response:
        """What went wrong, as a page."""
        status, detail, hint = 404, str(error), ""
        if isinstance(error, HTTPException):
            status, detail = error.status_code, error.detail
        elif isinstance(error, CliError):
            detail, hint = error.detail, error.hint
        return self.shown(request, "failed", "Not here", {"detail": detail, "hint": hint}, status)

    # -- changing something ------------------------------------------------------------------------

    async def replay(self, request: Request) -> Response:
        """Send a dead letter on again, for whoever has the token."""
        given = await letters.form_of(request)
        able = self.glass, self.writable, self.token
        found = await asyncio.to_thread(letters.replay, *able, given)
        return self.shown(request, "replayed", "Dead letter", found, found["status"])

    # -- for programs ------------------------------------------------------------------------------

    async def live(self, request: Request) -> Response:
        """Server-sent events: one whenever the log changed, its data the number of the change."""
        return StreamingResponse(self._changes(request), media_type="text/event-stream")

    async def _changes(self, request: Request) -> AsyncGenerator[str]:
        seen, still = self.glass.version, 0.0
        yield f"retry: 2000\nevent: hello\ndata: {seen}\n\n"
        while not self.glass.stopped.is_set() and not await request.is_disconnected():
            await asyncio.sleep(LIVE_S)
            still += LIVE_S
            if self.glass.version != seen:
                seen, still = self.glass.version, 0.0
                yield f"event: changed\ndata: {seen}\n\n"
            elif still >= STILL_S:
                still = 0.0
                yield ": still here\n\n"

    def metrics(self, request: Request) -> Response:
        """The log's metrics, up to the last look."""
        with self.glass.lock:
            text = exposed(self.glass.counts.samples())
        return Response(text.encode(), headers={"content-type": CONTENT_TYPE})

    def livez(self, request: Request) -> Response:
        """That it runs."""
        return PlainTextResponse("ok\n")

    def readyz(self, request: Request) -> Response:
        """Whether the whole log was read."""
        ready = self.glass.caught_up
        return PlainTextResponse("ok\n" if ready else "not yet\n", 200 if ready else 503)
