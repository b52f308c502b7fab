"""An HTTP door over a real socket, on a log of its own, for tests: who is served, and how he asks."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import httpx2 as httpx
import metalogue
import openai
import uvicorn
from metalogue import Engine

from streams.interfaces.dashboard.serve import Server
from streams.interfaces.door.access import access_of
from streams.interfaces.door.http.app import app_of
from streams.interfaces.door.service import Offer, Service
from streams.support.web.connections import Connection
from streams.support.web.hosts import Hosts
from tests.pace import soon

LOG = "sqlite:a.db"
ASKED = [{"role": "user", "content": "What is 17 + 25?"}]
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Here:
    """A door that is served."""

    url: str
    end: Callable[[], None] = lambda: None
    """Tell it to end, and return while those who wait are told."""

    def client(self, token: str = "none") -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=token, max_retries=0, timeout=60)

    def http(self, token: str | None = None) -> httpx.Client:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)


@contextmanager
def served(
    *,
    tokens: str | None = None,
    patience_s: float = 60.0,
    origins: tuple[str, ...] = (),
    max_pending: int = 100,
    offers: Mapping[str, str] = MappingProxyType({}),
    policies: Sequence[str] = ("mc2", "cot"),
) -> Generator[Here]:
    """A door on loopback, in a thread of its own, over an engine on the log."""
    offer = Offer(policies=policies, backbones=sorted(offers), patience_s=patience_s)
    engine = Engine(LOG, backbone="openai", offers=offers, policy="mc2", max_pending=max_pending)
    app = app_of(Service(engine, offer, access_of(tokens)), Hosts.of("127.0.0.1"), origins)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="error", http=Connection, timeout_graceful_shutdown=1)
    stopping = metalogue.Error("the server is stopping", code="stopping")
    server = Server(config, lambda: None, lambda: engine.give_up(stopping))

    async def work() -> None:
        async with engine:
            await server.serve([listening])

    def end() -> None:
        server.should_exit = True

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    deadline = time.monotonic() + soon(30.0)
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    try:
        yield Here(f"http://127.0.0.1:{listening.getsockname()[1]}", end)
    finally:
        end()
        thread.join()


def ask(client: openai.OpenAI, model: str = "cot", **more: Any) -> Any:
    return client.chat.completions.create(model=model, messages=ASKED, **more)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
