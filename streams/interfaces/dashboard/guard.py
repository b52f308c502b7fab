"""Guards of the dashboard: which hosts it answers, what a browser may load, and which token may change anything."""

from __future__ import annotations

import hmac
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from streams.support.web.bodies import Refused
    from streams.support.web.hosts import Hosts

POLICY: Final = "content-security-policy"
HEADERS: Final = {
    POLICY: "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
FRESH: Final = {"cache-control": "no-store"}


def alone(style: str) -> dict[str, str]:
    """Headers of a page that carries its own style and nothing else: just that style is let in."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"
    )
    return {POLICY: policy}


def may_change(token: str | None, given: str) -> bool:
    """Whether what was given is the token; nothing is, where none is set."""
    # In constant time, as the time that a comparison takes would tell how much of a guess is right.
    return bool(token) and hmac.compare_digest(str(token).encode(), given.encode())


class Guard:
    """Answers only for hosts that were meant, and tells browsers what they may load."""

    # A page of a stranger may give its own name the address of this machine (DNS rebinding): its
    # scripts would then read what only this machine can reach. The host that a browser names is the
    # one thing that such a page cannot choose, so it is looked at before anything is answered.

    def __init__(self, app: ASGIApp, hosts: Hosts, refused: Refused | None = None) -> None:
        self.app, self.hosts, self.refused = app, hosts, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A page may bring a stricter policy of its own, such as a drawing: that one stands.
                known = {name for name, _ in message["headers"]}
                extra = ((n.encode(), v.encode()) for n, v in (HEADERS | FRESH).items())
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in extra if name not in known),
                ]
            await send(message)

        said = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(said) != 1 or not self.hosts.answered(said[0]):
            from streams.support.web.bodies import plain

            refusal = (self.refused or plain)(421, "not a name that is answered here")
            await refusal(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)
