"""Which pages of a browser may ask, and that what is posted is JSON.

A page from elsewhere may send a form to this door without asking first. It cannot send JSON so, and its origin
stands in a header that it cannot change: both are looked at before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from streams.support.web.hosts import Hosts


class Origins:
    """Lets in what no browser sent, what our own origin sent, and origins that the operator listed."""

    def __init__(self, app: ASGIApp, hosts: Hosts, listed: Sequence[str] = ()) -> None:
        self.app, self.hosts, self.listed = app, hosts, frozenset(listed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            if not self._lets_in(headers):
                await refused(403, "this origin is not let in")(scope, receive, send)
                return
            kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
            length, chunked = headers.get(b"content-length", "0"), b"transfer-encoding" in headers
            has_body = length != "0" or chunked
            # Forms of other pages cannot be of this type, unless the browser has asked us first.
            if scope["method"] == "POST" and has_body and kind != "application/json":
                await refused(415, "a body is application/json here")(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _lets_in(self, headers: dict[bytes, str]) -> bool:
        # Programs send no origin; browsers send one with whatever could change something.
        origin = headers.get(b"origin")
        if origin is None or origin in self.listed:
            return True
        # Our own is where the request went, provided that this host is ours: both could be a
        # name that was rebound.
        host = urlsplit(origin).netloc
        return bool(host) and host == headers.get(b"host") and self.hosts.answered(host)


CODES: Mapping[int, str] = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "request_too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
}
"""Codes of what HTTP itself is about: ours, for those of Python's library change with its versions."""


def code_of(status: int) -> str:
    """The code of an error that HTTP itself is about."""
    return CODES.get(status, f"http_{status}")


def refused(status: int, why: str) -> JSONResponse:
    """A refusal in the form that OpenAI's clients read."""
    said = {"message": why, "type": "refused", "param": None, "code": code_of(status)}
    return JSONResponse({"error": said}, status)
