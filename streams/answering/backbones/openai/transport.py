"""The official client, made so that an endpoint can neither lead it elsewhere nor flood it.

No redirect is followed: prompt and key would go to a host that nobody named. A refusal is read here, before
the client would read all of it, and any body only up to a bound, counted as it is unpacked: a megabyte of
packed blanks can stand for gigabytes. Heads are bounded by aiohttp: 8 KiB a line, 128 lines.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from streams.answering.backbones.openai.faults import MOST_SHOWN, Fault, of_status
from streams.answering.backbones.openai.options import Options, Site, shown
from streams.answering.backbones.openai.patience import asked_pause
from streams.answering.backbones.openai.proxies import straight
from streams.answering.backbones.openai.reading import parse

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TALKATIVE = ("httpx", "httpx2")
"""Loggers that tell of every request, and what the server wrote on its first line."""
KEEP_S = (
    4.0  # common servers close an idle connection after 5 s: be first, or the next call is lost
)
MOST_BYTES = 64 << 20
"""Of one body, unpacked: a quarter of a million tokens, each streamed in a chunk of its own."""
MOST_TOLD = 64 << 10
"""Of what is said beside a refusal."""
TOLD_S = 2.0
"""Seconds that it may take to come, but never more than half of what a call may be silent for."""


class Response(Protocol):
    """The parts of a response that are looked at here."""

    @property
    def status_code(self) -> int:
        """Of HTTP."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By their names, whatever their case."""
        ...

    def aiter_bytes(self) -> AsyncGenerator[bytes]:
        """The body, unpacked, in pieces of a megabyte at most."""
        ...


class TooLong(Exception):
    """A body goes on beyond its bound."""


class Refused(Exception):
    """The endpoint answered with a status that is no success; ``fault`` is what it stands for."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.detail)
        self.fault = fault


Judge: TypeAlias = Callable[[int, object, Mapping[str, str]], Fault]
"""From a status, what was said beside it, and the headers to what that stands for."""


async def pieces(response: Response, most: int = MOST_BYTES) -> AsyncGenerator[bytes]:
    """A body as it comes in, unpacked. Raises ``TooLong`` beyond so many bytes."""
    size = 0
    async with aclosing(response.aiter_bytes()) as coming:
        async for piece in coming:
            size += len(piece)
            if size > most:
                raise TooLong
            yield piece


def client(site: Site, options: Options) -> AsyncOpenAI:
    """The official client over aiohttp: its own transport slows down with each connection."""
    import openai

    def judge(status: int, said: object, headers: Mapping[str, str]) -> Fault:
        return of_status(status, said, asked_pause(headers, datetime.now(UTC)), site.masked)

    for name in TALKATIVE:
        # What a server wrote on its first line may hold a key that it repeats, and nobody masks it
        # there.
        logging.getLogger(name).setLevel(logging.WARNING)
    most = options.max_connections
    limits = type(openai.DEFAULT_CONNECTION_LIMITS)(
        max_connections=most, max_keepalive_connections=most, keepalive_expiry=KEEP_S
    )
    ways: dict[str, Any] = {
        "follow_redirects": False,
        "event_hooks": {"response": [refusing(site, judge, options)]},
        "mounts": straight(site),
    }
    try:
        transport = openai.DefaultAioHttpClient(limits=limits, **ways)
    except RuntimeError:  # a client that came without it
        transport = openai.DefaultAsyncHttpxClient(limits=limits, **ways)
    return openai.AsyncOpenAI(
        api_key=site.key,
        base_url=site.url,
        # Retries of the client would be paid for and counted by nobody, and its own timeout ends
        # replies that a slow model is still at work on: attempts and clock are ours.
        max_retries=0,
        timeout=openai.Timeout(None, connect=options.connect_s),
        http_client=transport,
    )


def refusing(site: Site, judge: Judge, options: Options) -> Callable[[Response], Awaitable[None]]:
    """What a client does with each head that comes in."""
    told_s = min(TOLD_S, options.idle_s / 2, options.timeout_s / 2)

    async def refuse(response: Response) -> None:
        """Raises ``Refused`` for every status but success."""
        status = response.status_code
        if 200 <= status < 300:
            return
        raw = bytearray()
        try:
            # A time of its own: the call's would end first, and who was put off would pass for one that ran out of
            # time, which is recorded, although its status is long known.
            async with asyncio.timeout(told_s), aclosing(pieces(response, MOST_TOLD)) as coming:
                async for piece in coming:
                    raw += piece
        except Exception:
            # Too much, too slow, or it broke off: no part of it is looked at, and the status tells enough.
            raw.clear()
        if 300 <= status < 400:
            to = shown(site.masked(response.headers.get("location", ""))) or "no location"
            way = f"HTTP {status} sends us to {to}"[:MOST_SHOWN]
            detail = f"{way}; no redirect is followed: give the endpoint's own address"
            raise Refused(Fault("moved", detail, free=True))
        if status == 407:
            detail = f"the proxy of HTTP_PROXY wants a user and a password, HTTP {status}"
            raise Refused(Fault("proxy", detail, free=True))
        value = parse(bytes(raw))
        said = raw.decode("utf-8", "replace").strip() if value is None else value
        raise Refused(judge(status, said, response.headers))

    return refuse
