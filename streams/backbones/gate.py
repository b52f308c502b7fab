"""Where calls to one endpoint wait their turn: in order, and all while it asks for a pause."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from streams.backbones.limiter import Limiter


class Gate:
    """Lets as many calls in as the limiter allows; the first to come is the first to go."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._pause: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(self, *, again: bool = False) -> AsyncGenerator[int]:
        """A place for one call: the limiter's round. ``again`` goes before newcomers."""
        await self._enter(again)
        try:
            yield self.limiter.round
        finally:
            self._leave()

    def pause(self, seconds: float) -> None:
        """Let nobody in for that long; a shorter pause never shortens a longer one."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        if self._pause is not None:
            if self._pause.when() >= until:
                return
            self._pause.cancel()
        self._pause = loop.call_at(until, self._reopen)

    def _reopen(self) -> None:
        self._pause = None
        self._admit()

    async def _enter(self, again: bool) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if again else self._waiting.append)(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        self.inside -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._open():
            place = self._waiting.popleft()
            if not place.done():
                self.inside += 1
                place.set_result(None)

    def _open(self) -> bool:
        return self.inside < self.limiter.limit and self._pause is None
