"""The port that every embedder implements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from schemas.usage import add


class Embedder(Protocol):
    """A source of vectors: equal texts get equal vectors in whatever batch, all of one length."""

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


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of vectors at an endpoint. ``tokens`` are unknown where it did not state them.

    ``free`` says that the attempts which brought nothing can have cost nothing.
    """

    # Every attempt counts, since one that broke off may be charged as well.
    attempts: int = 0
    tokens: int | None = 0
    seconds: float = 0.0
    free: bool = True

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            self.attempts + other.attempts,
            add(self.tokens, other.tokens),
            self.seconds + other.seconds,
            self.free and other.free,
        )


@runtime_checkable
class Billing(Protocol):
    """An embedder whose requests are counted, each once."""

    def bill(self, texts: Sequence[str]) -> Bill | None:
        """What was spent on requests that began with one of these texts, and not billed yet; none where
        no endpoint is asked at all."""
        ...
