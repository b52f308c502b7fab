"""Connections to a server of ours: how many there are at most, and how long each may keep us waiting.

uvicorn hands a request on once its head is whole. Until then it waits for as long as it takes, and it opens
whatever comes in: whoever opens connections and says nothing leaves a process without descriptors. Here a
head has its time, so has a reader of what we send, and whoever comes when all places are taken is told so.
"""

from __future__ import annotations

import asyncio
import resource
from functools import cache
from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from asyncio import Transport

MOST: Final = 256
"""Connections that are served at once; fewer where a process may open few files."""
SHARE: Final = 4
"""Of the files that a process may open, one in so many may be a connection that is served."""
AT_ONCE: Final = 64
"""So many are accepted before the first of them is looked at."""
HEAD_S: Final = 10.0
"""Seconds for the head of a request, from the connection's begin or its first byte."""
STUCK_S: Final = 30.0
"""Seconds that what we send may wait for a reader."""


@cache
def most() -> int:
    """Connections that this process serves at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(1, min(MOST, soft // SHARE))


def refusal(status: str, why: str) -> bytes:
    """An answer that is sent past the application, and ends its connection."""
    head = ("content-type: text/plain; charset=utf-8", f"content-length: {len(why) + 1}")
    return "\r\n".join(
        (f"HTTP/1.1 {status}", *head, "retry-after: 10", "connection: close", "", f"{why}\n")
    ).encode("ascii")


LATE: Final = refusal("408 Request Timeout", "the head of a request did not come in time")
FULL: Final = refusal("503 Service Unavailable", "too many connections: try again later")


class Connection(H11Protocol):
    """One connection with its deadlines; ``surplus`` where it came when all places were taken."""

    surplus = False
    head: asyncio.TimerHandle | None = None
    reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a place, if there is one; far beyond that nobody is even told."""
        # Those that came too many are not counted, or a flood of them would keep all others out for
        # as long as they linger.
        served = sum(not getattr(each, "surplus", False) for each in self.connections)
        self.surplus = served >= most()
        super().connection_made(transport)
        if len(self.connections) > 2 * most():
            transport.abort()
        else:
            self._look()

    def data_received(self, data: bytes) -> None:
        """Hand it on; who is surplus is told so now, when there is a request to answer."""
        if self.surplus:
            self._end(FULL)
        else:
            super().data_received(data)
            self._look()

    def _look(self) -> None:
        """The time for a head runs while no request is being answered, however many bytes trickle in."""
        # There is no cycle before the first head, and its time runs as well.
        if not getattr(self.cycle, "response_complete", True):
            _cancel(self.head)
            self.head = None
        elif self.head is None:
            self.head = self.loop.call_later(HEAD_S, self._end, LATE)

    def _end(self, said: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(said)
            self.transport.close()

    def pause_writing(self) -> None:
        """The reader has its time too."""
        # Aborted and not closed: to close waits until all is written, and that is
        # what does not happen.
        super().pause_writing()
        self.reader = self.loop.call_later(STUCK_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It has read on."""
        _cancel(self.reader)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """The place is free."""
        _cancel(self.head)
        _cancel(self.reader)
        super().connection_lost(exc)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
