"""The web application: one address a page, every page made on the server and whole without scripts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from schemas.events.codec import BadEvent
from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.log_faults import fault_of
from streams.interfaces.dashboard import letters, numbers, progress, reviewing, views, words
from streams.interfaces.dashboard.guard import Guard, alone
from streams.interfaces.dashboard.live import Live
from streams.interfaces.dashboard.live_log import LiveLog
from streams.research.analysis.layout import style
from streams.runtime.embedded.files import SqliteError
from streams.support.web.bodies import Bodies
from streams.telemetry.metrics import CONTENT_TYPE, Sample, exposed

if TYPE_CHECKING:
    from starlette.requests import Request

    from streams.runtime.embedded.log import SqliteLog
    from streams.support.web.hosts import Hosts

HERE: Final = Path(__file__).parent
STYLED: Final[list[str | tuple[str, str]]] = [("streams.research.analysis", "static")]
"""Where style sheet and mark lie, which reports share."""
LAST_S: Final = 3.0
"""How long a dashboard that ends waits for its last look at the log."""
PAGES: Final = {
    "/": ("overview", "Overview"),
    "/episodes": ("episodes", "Episodes"),
    "/episode": ("episode", "Episode"),
    "/episode/at": ("moment", "Step"),
    "/case": ("case", "Trace of another tool"),
    "/answers": ("answers", "Answers"),
    "/learning": ("learning", "Learning"),
    "/items": ("items", "Lessons and rules"),
    "/item": ("item", "Lesson or rule"),
    "/arms": ("arms", "Arms"),
    "/graph": ("graph", "Graph memory"),
    "/reviews": ("reviews", "Review"),
    "/review": ("review", "Review"),
    "/dead-letters": ("letters", "Dead letters"),
    "/dead-letter": ("letter", "Dead letter"),
}
MENU: Final = (
    *("/", "/episodes", "/answers", "/reviews", "/learning", "/arms", "/graph", "/dead-letters"),
)


def templates() -> Environment:
    """What pages are drawn with: everything is escaped, and nothing may be missing."""
    # What is missing is an error instead of an empty place: a page must not leave
    # out in silence what a view has renamed.
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(words.FILTERS)
    made.globals.update(words.GLOBALS)
    return made


class Dashboard:
    """The pages of one log. ``writable`` opens it where something may be changed: with a token only."""

    def __init__(
        self,
        live_log: LiveLog,
        url: str,
        writable: Callable[[], SqliteLog],
        token: str | None = None,
    ) -> None:
        self.live_log, self.url, self.writable, self.token = live_log, url, writable, token
        self.templates = templates()

    def app(self, hosts: Hosts) -> Starlette:
        """The application, which follows the log while it is up."""
        # Pages answer to GET alone; the two forms that change something have
        # addresses of their own.
        pages = [Route(path, self._page(path)) for path in PAGES]
        return Starlette(
            routes=[
                *pages,
                Route("/dead-letter/replay", self.replay, methods=["POST"]),
                Route("/review/answer", self.judge, methods=["POST"]),
                Route("/graph/drawn", self.drawn),
                Route("/progress.svg", self.progress),
                Route("/live", Live(self.live_log), methods=["GET"]),
                Route("/metrics", self.metrics),
                Route("/livez", self.livez),
                Route("/readyz", self.readyz),
                Mount("/static", StaticFiles(directory=HERE / "static", packages=STYLED)),
            ],
            middleware=[
                Middleware(Guard, hosts=hosts),
                Middleware(Bodies, most_bytes=letters.MOST_BYTES),
            ],
            exception_handlers=dict.fromkeys(
                (HTTPException, CliError, SqliteError, BadEvent, ValueError), self.failed
            ),
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        """Follow the log in a thread of its own."""
        thread = threading.Thread(target=self.live_log.follow, name="live_log", daemon=True)
        thread.start()
        yield
        self.live_log.stopped.set()
        await asyncio.to_thread(thread.join, LAST_S)  # it may wait for a broker that says nothing

    # -- pages -------------------------------------------------------------------------------------

    def _page(self, path: str) -> Callable[[Request], Response]:
        name, title = PAGES[path]
        look = views.PAGES[name]

        def page(request: Request) -> Response:
            # As it was before: what comes meanwhile comes as a change.
            version = self.live_log.version
            found = look(self.live_log, request.query_params)
            return self.shown(request, name, title, found | {"version": version})

        return page

    def shown(
        self, request: Request, name: str, title: str, found: dict[str, Any], status: int = 200
    ) -> HTMLResponse:
        """A page from its template."""
        menu = [(path, PAGES[path][1], path == request.url.path) for path in MENU]
        own = {"menu": menu, "log_url": self.url, "title": title, "version": self.live_log.version}
        own |= {
            "failed": self.live_log.failed,
            "away": self.live_log.away,
            "heard_ms": self.live_log.heard_ms,
            "may_change": bool(self.token),
            "is_live": request.method == "GET",  # what came of a form cannot be asked for again
        }
        said = {name: value for name, value in request.query_params.items() if len(value) < 500}
        text = self.templates.get_template(f"{name}.html").render(own | {"asked": said} | found)
        return HTMLResponse(text, status)

    def drawn(self, request: Request) -> Response:
        """A graph memory drawn, a page of its own."""
        scope = request.query_params.get("scope", "")
        with self.live_log.lock:
            text = numbers.graph_drawn(self.live_log.state, scope)
        if text is None:
            raise HTTPException(404, f"{scope or 'no scope'} keeps no graph")
        return HTMLResponse(text, headers=alone(style()))

    def progress(self, request: Request) -> Response:
        """What a scope's batches brought, drawn as a file."""
        found = progress.file(self.live_log, request.query_params)
        if found is None:
            raise HTTPException(404, "no such drawing")
        return Response(found, media_type="image/svg+xml", headers=progress.HEADERS)

    def failed(self, request: Request, error: Exception) -> Response:
        """What went wrong, as a page."""
        # A command says the same as an error on its screen, with the same words
        # and what to do next.
        status, detail, hint = 404, str(error), ""
        if isinstance(error, HTTPException):
            status, detail = error.status_code, error.detail
        elif isinstance(error, CliError):
            detail, hint = error.detail, error.hint
        elif (found := fault_of(error)) is not None:
            status, detail, hint = 503, found.detail, found.hint
        elif isinstance(error, ValueError):
            # Forms and queries are read by whoever takes them: it is the log that does not say what it should.
            status, detail = 503, f"what the log holds cannot be read: {error}"
        else:
            status = 500
        return self.shown(request, "failed", "Not here", {"detail": detail, "hint": hint}, status)

    # -- changing something ------------------------------------------------------------------------

    async def replay(self, request: Request) -> Response:
        """Send a dead letter on again, for whoever has the token."""
        given = await letters.form_of(request, self.token)
        # In a thread, as appending may wait for a worker's transaction, and other pages should not.
        found = await asyncio.to_thread(letters.replay, self.live_log, self.writable, given)
        return self.shown(request, "replayed", "Dead letter", found, found["status"])

    async def judge(self, request: Request) -> Response:
        """Take a person's word on an answer, for whoever has the token."""
        given = await letters.form_of(request, self.token)
        found = await asyncio.to_thread(reviewing.judge, self.live_log, self.writable, given)
        return self.shown(request, "reviewed", "Review", found, found["status"])

    # -- for programs ------------------------------------------------------------------------------

    def metrics(self, request: Request) -> Response:
        """The log's metrics, up to the last look."""
        # Figures of a log that cannot be read any more look alive: their age
        # tells an alert that they are not.
        age_s = time.monotonic() - self.live_log.heard_s
        with self.live_log.lock:
            counted = self.live_log.counts.samples()
            text = exposed([*counted, Sample("metalogue_log_read_age_seconds", age_s)])
        return Response(text.encode(), headers={"content-type": CONTENT_TYPE})

    def livez(self, request: Request) -> Response:
        """That it runs."""
        # Not whether the log can be read: a restart would not bring a broker
        # back, and lose what was folded.
        return PlainTextResponse("ok\n")

    def readyz(self, request: Request) -> Response:
        """Whether the whole log was read."""
        ready = self.live_log.caught_up
        return PlainTextResponse("ok\n" if ready else "not yet\n", 200 if ready else 503)
