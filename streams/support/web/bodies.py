"""Bodies of requests: they are read only where one is expected, no further than allowed, and in time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Refused: TypeAlias = Callable[[int, str], ASGIApp]
    """The answer to what is refused, by its status and why."""

BODY_S: Final = 20.0
"""Seconds for a whole body."""
LINGER_S: Final = 5.0
"""Seconds for which what still comes is thrown away once it was answered: closed at once, a connection is
reset, and the answer may be lost with it."""


def plain(status: int, why: str) -> ASGIApp:
    """A refusal as a line of text."""
    return PlainTextResponse(f"{why}\n", status)


class Bodies:
    """Takes bodies of at most so many bytes by POST. Whoever reads one is told by an ``HTTPException``."""

    def __init__(self, app: ASGIApp, most_bytes: int, refused: Refused | None = None) -> None:
        self.app, self.most_bytes, self.refused = app, most_bytes, refused or plain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Refused by what is announced, where that says enough: nobody has to send
        # a body for nothing.
        said = dict(scope["headers"])
        chunked = b"transfer-encoding" in said
        length = None if chunked else int(said.get(b"content-length", b"0"))
        app: ASGIApp = self.app
        if length != 0 and scope["method"] != "POST":
            app = self.refused(400, "a body is taken by POST alone")
        elif length is not None and length > self.most_bytes:
            app = self.refused(413, _too_much(self.most_bytes))
        # Also around a refusal, whose sender may still be sending.
        body = _Body(receive, send, self.most_bytes, announced=length)
        await app(scope, body.receive, body.send)


class _Body:
    """One request's body as it comes."""

    def __init__(
        self, receive: Receive, send: Send, most_bytes: int, *, announced: int | None
    ) -> None:
        self._receive, self._send, self.most_bytes = receive, send, most_bytes
        self.whole, self.taken = announced == 0, 0
        # One deadline for all parts: with one for each, a byte now and then would hold a
        # connection for ever.
        self.deadline = asyncio.get_running_loop().time() + BODY_S

    async def receive(self) -> Message:
        """A part of the body while there is one, then word that the client has gone."""
        if self.whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body of the request did not come in time") from None
        self.taken += len(message.get("body", b""))
        self.whole = not message.get("more_body", False)
        # Counted as it comes: what was announced may be a lie, and a body in chunks
        # announces nothing.
        if self.taken > self.most_bytes:
            raise HTTPException(413, _too_much(self.most_bytes))
        return message

    async def send(self, message: Message) -> None:
        """Answer; the end of an answer waits a little for the rest of what it answers."""
        last = message["type"] == "http.response.body" and not message.get("more_body")
        if last and not self.whole:
            await self._send({**message, "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    while (await self._receive()).get("more_body"):
                        pass
            message = {"type": "http.response.body"}
        await self._send(message)


def _too_much(most_bytes: int) -> str:
    return f"a body has at most {most_bytes:,} bytes here"
