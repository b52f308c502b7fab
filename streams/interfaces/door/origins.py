"""Which pages of a browser may ask, and that what is posted is JSON.

A page from elsewhere may send a form to this door without asking first. It cannot send JSON so, and its origin
stands in a header that it cannot change: both are looked at before anything is read.
"""

from __future__ import annotations

from collections.abc import Sequence
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
            refusal = self._refusal(scope["method"], headers)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, method: str, headers: dict[bytes, str]) -> JSONResponse | None:
        origin = headers.get(b"origin")
        if origin is not None and origin not in self.listed:
            host = urlsplit(origin).netloc
            if not host or host != headers.get(b"host") or not self.hosts.answered(host):
                return _refused(403, "this origin is not let in")
        kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
        has_body = headers.get(b"content-length", "0") != "0" or b"transfer-encoding" in headers
        if method == "POST" and has_body and kind != "application/json":
            return _refused(415, "a body is application/json here")
        return None


def _refused(status: int, why: str) -> JSONResponse:
    said = {"message": why, "type": "refused", "param": None, "code": None}
    return JSONResponse({"error": said}, status)
