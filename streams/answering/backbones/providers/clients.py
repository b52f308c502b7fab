"""The library's clients, each over a transport of ours: no redirect, no flood, no retry, no variable read.

For Anthropic and Gemini that is a client of httpx, for Azure one of httpx2, both with the same two hooks; Bedrock's
client has a transport of its own, which follows no redirect of HTTP either, and works in threads.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.options import Options
from streams.answering.backbones.openai.proxies import is_here, straight
from streams.answering.backbones.openai.rates import hold_back
from streams.answering.backbones.openai.transport import (
    KEEP_S,
    MOST_BYTES,
    TALKATIVE,
    Refused,
    TooLong,
    refusing,
)
from streams.answering.backbones.providers.access import Access, region_of
from streams.answering.backbones.providers.kinds import AZURE, BEDROCK
from streams.answering.backbones.providers.refusals import judged

if TYPE_CHECKING:
    from any_llm import AnyLLM

QUIET = (*TALKATIVE, "any_llm", "anthropic", "botocore", "boto3", "urllib3", "google_genai")
"""Loggers that tell of every request, or that warn of what we know."""
BEHIND_S = 60.0
"""How much later than our clock that of Bedrock's client runs out, which ends the thread of a call."""


@dataclass(slots=True)
class Wire:
    """Everything that one call saw on the wire."""

    answered: bool = False
    body: bytearray = field(default_factory=bytearray)
    hold_s: float | None = None


_WIRE: ContextVar[Wire] = ContextVar("wire")
"""Of the call that is under way: a client has one hook for all of its calls."""


@dataclass(frozen=True, slots=True)
class Client:
    """The library's client of one provider, and how it is closed."""

    library: AnyLLM
    close: Callable[[], Awaitable[None]]
    http: object = None
    """What it asks over, where that is ours."""
    wire: ContextVar[Wire] = _WIRE


def open_client(access: Access, options: Options, environ: Mapping[str, str]) -> Client:
    """Load the library and make the client. It takes seconds."""
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    if access.provider.name == BEDROCK:
        return _bedrock(access, options, environ)
    from any_llm import AnyLLM

    http, site = _transport(access, options), access.site
    ways: dict[str, Any] = {"http_client": http}
    if access.provider.name == "gemini":
        shape = {"httpx_async_client": http, "base_url": site.url}
        shape["api_version"] = "v1beta"  # the documented one, and the one that has all models
        # Or else a variable makes it a client of Vertex, and takes the key elsewhere.
        ways = {"http_options": shape, "vertexai": False}
    library = AnyLLM.create(
        access.provider.library,
        api_key=site.key,
        api_base=site.url,
        unified_exceptions=True,
        max_retries=0,
        **ways,
    )

    async def close() -> None:
        await http.aclose()

    return Client(library, close, http)


def _transport(access: Access, options: Options) -> Any:
    """A client of httpx, or of httpx2 for Azure, whose client takes no other."""
    http: Any
    if access.provider.name == AZURE:
        import httpx2 as http
    else:
        import httpx as http
    most, patience = options.max_connections, http.Timeout(None, connect=options.connect_s)

    def judge(status: int, said: object, headers: Mapping[str, str]) -> Fault:
        now, masked = datetime.now(UTC), access.site.masked
        return judged(access.provider, status, said, headers, now, masked)

    # The libraries set timeouts of their own on each request, which would end a long reply unheard.
    class Patient(http.AsyncClient):  # type: ignore[misc]
        """Only our clock ends a request that is connected, whatever a library would have."""

        def build_request(self, *words: Any, **ways: Any) -> Any:
            built: Any = http.AsyncClient.build_request(
                self, *words, **(ways | {"timeout": patience})
            )
            return built

    return Patient(
        follow_redirects=False,
        event_hooks={"response": [refusing(access.site, judge, options), _noting(http)]},
        # Nothing packed is asked for: a bound on the body is worth little where it is counted unpacked
        # only after the library has read it.
        headers={"accept-encoding": "identity"},
        limits=http.Limits(
            max_connections=most, max_keepalive_connections=most, keepalive_expiry=KEEP_S
        ),
        mounts=straight(access.site),
        timeout=patience,
    )


def _noting(http: Any) -> Callable[[Any], Awaitable[None]]:
    """What a client does with each reply that comes in, before it is read."""

    class Bounded(http.AsyncByteStream):  # type: ignore[misc]
        """A body as it comes in, noted for the call that it came for."""

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            wire = _WIRE.get(Wire())
            async for piece in self.inner:
                wire.body += piece
                if len(wire.body) > MOST_BYTES:
                    raise TooLong
                yield piece

        async def aclose(self) -> None:
            await self.inner.aclose()

    async def note(response: Any) -> None:
        wire = _WIRE.get(Wire())
        wire.answered, wire.hold_s = True, hold_back(response.headers)
        # Refused unread: some servers pack all the same, and a megabyte can unpack to gigabytes.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise Refused(Fault("junk", "a packed body, which nobody asked for"))
        response.stream = Bounded(response.stream)

    return note


def _bedrock(access: Access, options: Options, environ: Mapping[str, str]) -> Client:
    # Its own configuration files may name another endpoint, and its own retries would repeat a paid call
    # that nobody counts: both are switched off.
    from any_llm import AnyLLM
    from botocore.config import Config  # type: ignore[import-untyped]

    here = is_here(urlsplit(access.site.url).hostname or "")
    config: Any = Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=options.connect_s,
        read_timeout=options.timeout_s + BEHIND_S,
        max_pool_connections=options.max_connections,
        ignore_configured_endpoint_urls=True,
        proxies={} if here else None,
    )
    ways: dict[str, Any] = {
        "region_name": region_of(environ) or "us-east-1",
        "config": config,
        **access.signing,
    }
    library: Any = AnyLLM.create(
        access.provider.library,
        api_key=None if access.signing else access.site.key,
        api_base=access.site.url,
        unified_exceptions=True,
        **ways,
    )

    async def close() -> None:
        library.client.close()

    return Client(library, close)
