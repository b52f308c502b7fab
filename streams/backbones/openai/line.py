"""The line to one endpoint: the official client with its retries off, one request an attempt."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from streams.backbones.openai.faults import Fault, of_status
from streams.backbones.openai.options import Options, Site
from streams.backbones.openai.patience import asked_pause
from streams.backbones.port import SetupBroken

if TYPE_CHECKING:
    from openai import AsyncOpenAI

KEEP_S = (
    4.0  # common servers close an idle connection after 5 s: be first, or the next call is lost
)

NO_CONNECTION = ("ConnectError", "ClientConnector")  # as httpx and aiohttp name what they raise


def need_client() -> None:
    """Raises ``SetupBroken`` if the extra that carries the client is not installed."""
    if importlib.util.find_spec("openai") is None:
        detail = "the client is not installed: pip install 'metalogue[openai]'"
        raise SetupBroken("extra", "openai", detail)


class Line:
    """Sends bodies, brings back bytes or says why not. The client is loaded at the first one."""

    def __init__(self, site: Site, options: Options) -> None:
        self.site, self.options = site, options
        self._client: AsyncOpenAI | None = None
        self._closed = False

    async def complete(self, body: dict[str, Any]) -> bytes | Fault:
        """One chat completion, as the server wrote it."""
        return await self._send(lambda to: to.post("/chat/completions", cast_to=bytes, body=body))

    async def models(self) -> bytes | Fault:
        """The models that the endpoint offers, as it wrote them."""
        return await self._send(lambda to: to.get("/models", cast_to=bytes))

    async def close(self) -> None:
        """Hang up; closing twice is closing once."""
        client, self._client, self._closed = self._client, None, True
        if client is not None:
            await client.close()

    async def _send(self, sending: Callable[[AsyncOpenAI], Awaitable[bytes]]) -> bytes | Fault:
        """One attempt. Only our own clock makes a timeout: transports call much else one."""
        client = self._open()
        clock = asyncio.timeout(self.options.timeout_s)
        try:
            async with clock:
                return await sending(client)
        except Exception as error:
            if clock.expired():
                return Fault("timeout", f"no reply within {self.options.timeout_s:g} s")
            return _fault(error)

    def _open(self) -> AsyncOpenAI:
        if self._closed:
            raise RuntimeError(f"the backbone at {self.site.where} is closed")
        if self._client is None:
            self._client = _client(self.site, self.options)
        return self._client


def _client(site: Site, options: Options) -> AsyncOpenAI:
    """The official client over aiohttp: its own transport slows down with each connection."""
    import openai

    most = options.max_connections
    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
        max_connections=most, max_keepalive_connections=most, keepalive_expiry=KEEP_S
    )
    try:
        transport = openai.DefaultAioHttpClient(limits=limits)
    except RuntimeError:  # a client that came without it
        transport = openai.DefaultAsyncHttpxClient(limits=limits)
    return openai.AsyncOpenAI(
        api_key=site.key,
        base_url=site.url,
        max_retries=0,
        timeout=openai.Timeout(None, connect=options.connect_s),
        http_client=transport,
    )


def _fault(error: Exception) -> Fault:
    """What an exception of the client or its transport stands for; any other is a defect."""
    import aiohttp
    import openai

    if isinstance(error, openai.APIStatusError):
        pause = asked_pause(error.response.headers, datetime.now(UTC))
        return of_status(error.status_code, error.body, pause)
    if isinstance(error, (openai.APIError, aiohttp.ClientError, OSError)):
        return _lost(error)
    raise error


def _lost(error: BaseException) -> Fault:
    """No answer; free only where no connection came about."""
    free, root = False, error
    while root.__cause__ is not None:
        root = root.__cause__
        free = free or type(root).__name__.startswith(NO_CONNECTION)
    if isinstance(root, ConnectionRefusedError):
        return Fault("lost", "connection refused", free=free)
    if isinstance(root, socket.gaierror):
        return Fault("lost", "no such host", free=free)
    return Fault("lost", str(root) or type(root).__name__, free=free)
