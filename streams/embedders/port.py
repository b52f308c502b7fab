"""The port that every embedder implements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """A source of vectors: equal texts get equal vectors, all of one length."""

    @property
    def name(self) -> str:
        """Kind and model, such as ``hashed-256``; part of what a memory was made with."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """One vector for each text, in order. Raises what the backbone port's errors say."""
        ...

    async def close(self) -> None:
        """Release connections and models."""
        ...
