"""The line to one endpoint: the official client with its retries off, one request an attempt."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from streams.answering.backbones.openai.endpoint import EndpointState
from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.options import Options, Site
from streams.answering.backbones.openai.proxies import need_http_proxy
from streams.answering.backbones.openai.raised import fault_of
from streams.answering.backbones.openai.rates import hold_back
from streams.answering.backbones.openai.reading import is_whole
from streams.answering.backbones.openai.sse import says_end
from streams.answering.backbones.openai.transport import MOST_BYTES, TooLong, client, pieces
from streams.core.backbone import SetupBroken
from streams.support.extras import install

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream


LOOKS = 16
"""Rounds of the loop between the end of an attempt's time and the end of the attempt."""
LINGERS_S = 0.5
"""How long a stream that said its end may go on: as a rule it ends at once, and its connection is used again."""


def need_client() -> None:
    """Raises ``SetupBroken`` if the extra that carries the client is not installed."""
    if importlib.util.find_spec("openai") is None:
        detail = f"the client is not installed: {install('openai')}"
        raise SetupBroken("extra", "openai", detail)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A body as the server wrote it, and for how long it wants no further request."""

    raw: bytes
    hold_s: float | None = None

    @property
    def size(self) -> int:
        """Tokens, by the bytes: nothing has read them yet."""
        return len(self.raw) // 4


class ChatTransport:
    """Sends bodies, brings back bytes or says why not. The client is loaded at the first one."""

    def __init__(self, site: Site, options: Options, state: EndpointState) -> None:
        self.site, self.options, self.state = site, options, state
        self._client: AsyncOpenAI | None = None
        self._closed = False

    async def complete(
        self, body: dict[str, Any], timeout_s: float | None = None
    ) -> Arrived | Fault:
        """One chat completion, as the server wrote it, within a time of its own if it has one."""
        return await self._send(
            lambda to, how: to.post(
                "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=how
            ),
            timeout_s,
        )

    async def embeddings(self, body: dict[str, Any]) -> Arrived | Fault:
        """One batch of vectors, as the server wrote them."""
        return await self._send(
            lambda to, how: to.post(
                "/embeddings", cast_to=object, body=body, stream=True, stream_cls=how
            )
        )

    async def models(self) -> Arrived | Fault:
        """The models that the endpoint offers, as it wrote them."""
        return await self._send(
            lambda to, how: to.get("/models", cast_to=object, stream=True, stream_cls=how)
        )

    async def close(self) -> None:
        """Hang up; closing twice is closing once."""
        client, self._client, self._closed = self._client, None, True
        if client is not None:
            await client.close()

    async def _send(self, sending: Sending, timeout_s: float | None = None) -> Arrived | Fault:
        """One attempt. Only our own clock makes a timeout: transports call much else one.

        Raises ``SetupBroken`` where a proxy or certificate of the environment forbids a client.
        """
        if self._closed:
            raise RuntimeError(f"the backbone at {self.site.where} is closed")
        if self._client is None:
            need_http_proxy(self.site)
            try:
                self._client = client(self.site, self.options)
            except Exception as error:  # of the system, of the client or of its transport
                detail = f"no client can be made: {type(error).__name__}: {error}"
                raise SetupBroken("client", self.site.where, detail) from error
        # Only here: whoever spells a backbone and never asks it need not wait for the client to load.
        from openai import AsyncStream

        clock, found = Clock(self.options, timeout_s), bytearray()
        try:
            async with clock.limit:
                stream = await sending(self._client, AsyncStream[object])
                return await self._read(stream, found, clock)
        except Exception as error:
            # A reply that is all there was paid for, whatever becomes of its connection: some servers leave that
            # open, or break it off.
            if is_whole(found):
                return Arrived(bytes(found))
            # First of all: what the transport raises when our clock ends it looks like a connection
            # that broke.
            if clock.limit.expired():
                return Fault("timeout", clock.told)
            fault = fault_of(error, self.options.connect_s)
            if fault is None:
                detail = self.site.hidden(Fault("error", f"{type(error).__name__}: {error}")).detail
                raise SetupBroken("client", self.site.where, detail) from error
            return self.site.hidden(fault)
        finally:
            clock.close()

    async def _read(
        self, stream: AsyncStream[object], found: bytearray, clock: Clock
    ) -> Arrived | Fault:
        """The body, piece by piece: each shows that the endpoint is still at work."""
        came, ended = 0, False
        try:
            async with aclosing(pieces(stream.response)) as coming:
                async for piece in coming:
                    found += piece
                    came += 1
                    # Counted while it comes in, so that whoever watches can tell a long reply from
                    # an endpoint that hangs.
                    self.state.pieces += 1
                    clock.heard()
                    if not ended and says_end(found, len(piece)):
                        ended = True
                        clock.lingers()
        except TooLong:
            return Fault("junk", f"a reply of more than {MOST_BYTES >> 20} MiB")
        finally:
            self.state.pieces -= came
            await stream.close()
        return Arrived(bytes(found), hold_back(stream.response.headers))


Sending: TypeAlias = (
    "Callable[[AsyncOpenAI, type[AsyncStream[object]]], Awaitable[AsyncStream[object]]]"
)


class Clock:
    """The time that one attempt has: in all, and between two pieces where its reply is streamed.

    Before it ends an attempt it lets the loop go round a few times more: where a process was starved or
    stopped, a reply may lie unread since long before the time was over, and it was paid for.
    """

    def __init__(self, options: Options, timeout_s: float | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.timeout_s = options.timeout_s if timeout_s is None else timeout_s
        # Two ends: one for the whole attempt, and an earlier one that moves on with every piece.
        self.last = self.loop.time() + self.timeout_s
        self.idle_s = options.idle_s if options.stream else self.timeout_s
        self.limit = asyncio.timeout(None)
        self.heard()
        self._next: asyncio.Handle = self.loop.call_at(self.until, self._due, 0)

    def heard(self) -> None:
        """Something came: the silence begins anew."""
        self.until = min(self.last, self.loop.time() + self.idle_s)

    def lingers(self) -> None:
        """All has come: what is left of the time is short."""
        self.last = min(self.last, self.loop.time() + LINGERS_S)
        self.heard()
        self._next.cancel()
        self._next = self.loop.call_at(self.until, self._due, 0)

    def _due(self, looked: int) -> None:
        if self.loop.time() < self.until:
            self._next = self.loop.call_at(self.until, self._due, 0)
        elif looked < LOOKS:
            self._next = self.loop.call_soon(self._due, looked + 1)
        else:
            self.limit.reschedule(self.until)

    def close(self) -> None:
        """End nothing any more."""
        self._next.cancel()

    @property
    def told(self) -> str:
        """Which of the two ran out."""
        if self.loop.time() >= self.last:
            return f"no reply within {self.timeout_s:g} s"
        return f"nothing more came for {self.idle_s:g} s"
