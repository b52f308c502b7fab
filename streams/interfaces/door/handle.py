"""A handle to a problem that was put on a log: its answer is awaited, its records are followed, it is judged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from schemas.answer import Answer
from schemas.problem import ReferenceAnswer
from schemas.record import Record
from streams.interfaces.door.errors import Error
from streams.interfaces.door.mailbox import Found

if TYPE_CHECKING:
    from streams.interfaces.door.client import Client

LOOK_S = 0.1
"""So often a log is looked at while something is awaited."""
AGAIN_S = 1.0
"""So long nobody looks after a log could not be reached."""
AWAY = frozenset({"log.unreachable", "log.busy"})
"""What passes by itself: who waits goes on waiting."""


class Handle:
    """A problem that was put on a log. ``episode`` names its episode, ``id`` the problem."""

    headers: Mapping[str, str]
    """What its application wants to find on the answer: of a problem that was known, as it was put first."""

    def __init__(self, client: Client, found: Found, future: asyncio.Future[Answer]) -> None:
        self.client, self.episode, self.id = client, found.episode, found.id
        self.headers = found.headers
        self._future = future

    def done(self) -> bool:
        """Whether the answer is here, or why there will be none."""
        return self._future.done()

    def when_done(self, told: Callable[[], object]) -> None:
        """Have somebody told once the answer is here, or why there will be none; at once where it is."""
        if self._future.done():
            told()
        else:
            self._future.add_done_callback(lambda _: told())

    async def answer(self) -> Answer:
        """The answer, once it is there; whoever stops waiting leaves the episode going on.

        Raises an ``Error`` where the episode was refused, parked, or cancelled.
        """
        # Shielded, since others may await the same future: one who gives up must not
        # cancel it for all.
        return await asyncio.shield(self._future)

    async def events(self, after: int = 0) -> AsyncIterator[Record]:
        """The episode's records as they are written, until it is closed or comes to no answer.

        From its first on, or from behind the ``offset`` of one that was seen: who was cut off goes on there.
        """
        while True:
            # Asked before the records are read: what was written in between would else be left out.
            is_over = self._future.done()
            try:
                found = await self.client.records(self.episode, after)
            except Error as error:
                # The log will be back, and what it holds of the episode with it.
                if error.code not in AWAY:
                    raise
                await asyncio.sleep(AGAIN_S)
                continue
            for record in found:
                after = record.offset
                yield record
            if is_over:
                return
            with suppress(TimeoutError, Error):
                await asyncio.wait_for(asyncio.shield(self._future), LOOK_S)

    async def feedback(
        self,
        *,
        verdict: bool | None = None,
        score: float | None = None,
        reference: ReferenceAnswer = None,
        passed: bool = False,
    ) -> None:
        """Say what the answer was worth: one of a verdict, a score in [0, 1], the right answer, or a pass."""
        await self.client.feedback(
            self.episode, verdict=verdict, score=score, reference=reference, passed=passed
        )

    async def cancel(self, *, reason: str | None = None) -> None:
        """Take the episode out: it is not worked on any more, here or after a restart.

        What it asked stays recorded; calls that are open are let go of, by whatever worker made them. Raises an
        ``Error`` where it has ended.
        """
        await self.client.cancel(self.episode, reason=reason)
