"""A page's `fetch`: from the door's own origin and a listed one it is answered, from another it is not."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.streams.dashboard.conftest import browser
from tests.streams.door.served import served
from tests.surroundings import Serve

__all__ = ["browser"]

pytestmark = [pytest.mark.live, pytest.mark.slow]
ASK = """async (url) => {
  try {
    const said = await fetch(url + "/v1/chat/completions", {
      method: "POST",
      headers: {"content-type": "application/json", "idempotency-key": "k"},
      body: JSON.stringify({model: "cot", messages: [{role: "user", content: "What is 17 + 25?"}]}),
    });
    const body = await said.json();
    return {status: said.status, content: body.choices?.[0].message.content ?? null,
            episode: said.headers.get("metalogue-episode")};
  } catch (error) { return {refused: error.name}; }
}"""


class Empty(BaseHTTPRequestHandler):
    """An empty page, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html>")

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def origin() -> Generator[str]:
    """An origin of its own, served for real: what a browser is only told of counts as further away."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def fetched(browser: Browser, page_url: str, door_url: str) -> dict[str, Any]:
    """What a page gets of the door."""
    page = browser.new_page()
    page.goto(page_url)
    found: dict[str, Any] = page.evaluate(ASK, door_url)
    return found


def test_pages_ask_from_where_they_may(request: pytest.FixtureRequest, serve: Serve) -> None:
    endpoint = serve()
    with origin() as listed, origin() as other, served(origins=(listed,)) as here:
        # Only now: while its driver is there, the event loop of this thread is taken.
        browser: Browser = request.getfixturevalue("browser")
        said = fetched(browser, f"{here.url}/openapi.json", here.url)
        assert (said["status"], said["content"]) == (200, "42")
        assert fetched(browser, listed, here.url) == said
        assert fetched(browser, other, here.url) == {"refused": "TypeError"}
    assert len(endpoint.asked) == 1
