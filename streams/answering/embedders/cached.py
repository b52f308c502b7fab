"""Any embedder, asked once for each text and for many texts at a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeAlias

from streams.answering.embedders.port import Bill, Billing, Embedder
from streams.core.backbone import Endpoint, Unreachable

Vector: TypeAlias = tuple[float, ...]

TOGETHER = 32
"""Texts of one batch."""
KEPT = 20_000
"""Vectors in memory; those unused for longest go first."""


class Cached:
    """An embedder that batches requests of one turn of the event loop and asks for no known text again."""

    def __init__(self, inner: Embedder, *, together: int = TOGETHER, kept: int = KEPT) -> None:
        self.inner, self.together, self.kept = inner, together, kept
        self._vectors: OrderedDict[str, asyncio.Future[Vector]] = OrderedDict()
        self._waiting: list[str] = []
        self._batches: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        """The inner embedder's."""
        return self.inner.name

    @property
    def dimensions(self) -> int:
        """The inner embedder's."""
        return self.inner.dimensions

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, in order."""
        loop = asyncio.get_running_loop()
        asked: list[asyncio.Future[Vector]] = []
        for text in texts:
            # A future and not a vector is kept: who asks for a text that is under way waits for it
            # instead of asking a second time.
            if text in self._vectors:
                self._vectors.move_to_end(text)
            else:
                self._vectors[text] = loop.create_future()
                if not self._waiting:
                    # Sent at the end of this turn of the loop, with whatever other episodes ask in it.
                    loop.call_soon(self._go)
                self._waiting.append(text)
            asked.append(self._vectors[text])
        # Shielded, since others may wait for the same vector when one who asked is cancelled.
        return list(await asyncio.gather(*map(asyncio.shield, asked)))

    def why(self) -> str | None:
        """Why the inner embedder's calls wait, if it is one that waits."""
        return self.inner.why() if isinstance(self.inner, Endpoint) else None

    def drain(self) -> None:
        """Have the inner embedder let go of what only waits."""
        if isinstance(self.inner, Endpoint):
            self.inner.drain()

    def watch(self, look: Callable[[], object]) -> None:
        """Have the inner embedder call ``look`` before each batch goes out."""
        if isinstance(self.inner, Endpoint):
            self.inner.watch(look)

    def bill(self, texts: Sequence[str]) -> Bill | None:
        """The inner embedder's, if it keeps one: what is known already was billed before."""
        return self.inner.bill(texts) if isinstance(self.inner, Billing) else None

    async def close(self) -> None:
        """Drop what waits, and close the inner embedder."""
        for batch in self._batches:
            batch.cancel()
        await asyncio.gather(*self._batches, return_exceptions=True)
        await self.inner.close()

    def _go(self) -> None:
        """Send what waits, in batches."""
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), self.together):
            task = asyncio.create_task(self._batch(waiting[start : start + self.together]))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _batch(self, texts: list[str]) -> None:
        futures = [self._vectors[text] for text in texts]
        try:
            # Whatever happens, every future of the batch gets its end: one that never did would
            # hold its episode for ever.
            found = await self._each(texts)
        except BaseException as error:
            for text, future in zip(texts, futures, strict=True):
                self._fail(text, future, error)
            return
        for text, future, vector in zip(texts, futures, found, strict=True):
            if isinstance(vector, Unreachable):
                self._fail(text, future, vector)
            else:
                future.set_result(vector)
        # Only behind the batch, so that none of its own vectors is dropped before whoever waits has
        # it.
        while len(self._vectors) > self.kept:
            self._vectors.popitem(last=False)

    async def _each(self, texts: list[str]) -> list[Vector | Unreachable]:
        """A batch that gets no reply is asked for in halves: one text may be to blame, and not the others."""
        try:
            return [*await self.inner.embed(texts)]
        except Unreachable as error:
            if len(texts) == 1:
                return [error]
        half = len(texts) // 2
        return [*await self._each(texts[:half]), *await self._each(texts[half:])]

    def _fail(self, text: str, future: asyncio.Future[Vector], error: BaseException) -> None:
        """Tell those who wait; the next who asks for this text tries anew."""
        self._vectors.pop(text, None)
        if isinstance(error, asyncio.CancelledError):
            future.cancel()
        else:
            future.set_exception(error)
            future.exception()  # seen, even if everybody who waited has left
