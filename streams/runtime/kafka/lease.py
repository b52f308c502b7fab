"""The lease: asking costs money, so nobody asks who may have been expelled without noticing.

Never needed for correctness (the fence is): a frozen worker that wakes up waits here for a heartbeat
that succeeds, or hears of a newer claim and stops.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from handlers.limits import Reservation
from schemas.asking import Ask
from schemas.events.base import AnswerEvent
from streams.answering.world import World
from streams.core.drive import Run

POLL_S = 0.02


class Lease:
    """When we last asked the group's coordinator something that it granted a member; another thread renews it."""

    def __init__(self, session_s: float) -> None:
        self.session_s = session_s
        self.renewed = time.monotonic()
        self.dealt: float | None = None
        """When we last asked for our part of the group's work, and were given it: it counts once we act on it."""
        self.waits = 0

    def renew(self, asked: float) -> None:
        """A heartbeat sent at a moment was granted, or a place in the group: its answer may have come much later."""
        self.renewed = max(self.renewed, asked)

    @property
    def fresh(self) -> bool:
        """Whether the last heartbeat that was granted was sent less than half a session ago."""
        return time.monotonic() - self.renewed < self.session_s / 2

    async def hold(self, ends: Callable[[], bool]) -> None:
        """Wait until it is fresh, or the worker ends."""
        if self.fresh:
            return
        self.waits += 1
        while not self.fresh and not ends():  # noqa: ASYNC110 - another thread renews it
            await asyncio.sleep(POLL_S)

    async def renewed_after(self, moment: float) -> None:
        """Wait until a heartbeat is granted that was sent after a moment."""
        while self.renewed <= moment:  # noqa: ASYNC110 - another thread renews it
            await asyncio.sleep(POLL_S)


class LeasedWorld:
    """A world that is only asked under a fresh lease."""

    # What a world knows is set on the world itself: here nobody would ever look.
    __slots__ = ("asking", "lease", "world")

    def __init__(self, world: World, lease: Lease) -> None:
        self.world, self.lease = world, lease
        self.asking = 0
        """Questions that the world has not answered yet."""

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The world's answer."""
        if not self.lease.fresh:
            await self.lease.hold(lambda: self.world.draining)
        self.asking += 1
        try:
            return await self.world.answer(run, question, asked, address, reserved)
        finally:
            self.asking -= 1
