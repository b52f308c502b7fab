"""Where calls to one model wait their turn: in order, and all while its endpoint asks for a pause."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from streams.answering.backbones.limiter import Limiter
from streams.core.backbone import NotSent


class ConnectionLimit:
    """The connections of one endpoint, which the gates of all its models share."""

    def __init__(self, most: int) -> None:
        self.most, self.inside = most, 0
        self._gates: deque[Callable[[], None]] = deque()

    def join(self, admit: Callable[[], None]) -> None:
        """One more gate; ``admit`` lets in who waits there."""
        self._gates.append(admit)

    def leave(self) -> None:
        """A connection is free: the gates have it in turn."""
        self.inside -= 1
        # The first gate takes all that is free. Turned round each time, a busy model cannot keep the
        # other models of its endpoint out for good.
        self._gates.rotate()
        for admit in tuple(self._gates):
            admit()


class Gate:
    """Lets as many calls in as limiter and room allow; the first to come is the first to go."""

    def __init__(self, limiter: Limiter, room: ConnectionLimit | None = None) -> None:
        self.limiter = limiter
        self.room = room or ConnectionLimit(limiter.most)
        self.inside = 0
        self.stopped = False
        self.look: Callable[[], object] | None = None
        """Called before a call goes in, at the last moment at which it can still be stopped."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._pause: asyncio.TimerHandle | None = None
        self._stop: asyncio.Event | None = None
        self.room.join(self._admit)

    @property
    def waiting(self) -> int:
        """Calls that wait for their turn."""
        return len(self._waiting)

    @property
    def paused_until(self) -> float | None:
        """By the loop's clock, until when nobody is let in."""
        return None if self._pause is None else self._pause.when()

    @property
    def has_room(self) -> bool:
        """Whether one more call could go in now, before nobody."""
        return not self.stopped and not self._waiting and self._open()

    @asynccontextmanager
    async def turn(self, *, again: bool = False) -> AsyncGenerator[int]:
        """A place for one call: the limiter's round. ``again`` goes before newcomers.

        Raises ``NotSent`` once the gate is stopped.
        """
        if self.stopped:
            raise NotSent
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Who was refused goes before newcomers, or under load the oldest episodes would never end.
        (self._waiting.appendleft if again else self._waiting.append)(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            # It may have been let in and cancelled in the same round of the loop: then the place is
            # its own already, and nobody else would ever give it back.
            if place.done() and not place.cancelled() and place.exception() is None:
                self._leave()
            raise
        try:
            # Only now, after a wait that may have taken long: by now another worker may have
            # claimed the log, or this one been told to stop, and a call that goes out is paid for.
            if self.look is not None:
                self.look()
            if self.stopped:
                raise NotSent
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

    async def sleep(self, seconds: float) -> None:
        """Wait outside before coming again. Raises ``NotSent`` once the gate is stopped."""
        self._stop = self._stop or asyncio.Event()
        if self.stopped:
            raise NotSent
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return
        raise NotSent

    def stop(self) -> None:
        """Send everybody away who waits, inside the gate or out, and let nobody in any more."""
        self.stopped = True
        if self._stop is not None:
            self._stop.set()
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_exception(NotSent())

    def _reopen(self) -> None:
        # Called by the loop's clock alone, and not by whoever paused: a longer pause may have come since.
        self._pause = None
        self._admit()

    def _leave(self) -> None:
        self.inside -= 1
        self.room.leave()

    def _admit(self) -> None:
        while self._waiting and self._open():
            place = self._waiting.popleft()
            if not place.done():
                self.inside += 1
                self.room.inside += 1
                place.set_result(None)

    def _open(self) -> bool:
        free = self.inside < self.limiter.limit and self.room.inside < self.room.most
        return free and self._pause is None
