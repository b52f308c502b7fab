"""Hashed n-grams: vectors without a model, the same in every process and on every machine.

Words and the three-letter pieces of each count into buckets chosen by a checksum, with a sign,
damped by a root, and the vector has length 1. It sees shared words and spellings, no meaning: good
for tests and demonstrations. A text without letter or digit has the zero vector: its cosine is 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import copysign, fsum, sqrt
from zlib import crc32

DIMENSIONS = 256

_WORD = re.compile(r"[^\W_]+")
_WORD_WEIGHT = 2.0
_PIECE = 3


class HashedEmbedder:
    """Embeds by counting words and pieces of words."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        if dimensions < 1:
            raise ValueError(f"a vector has at least one dimension, not {dimensions}")
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        """``hashed-`` and the number of dimensions."""
        return f"hashed-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """One vector of length 1 for each text."""
        return [hashed(text, self._dimensions) for text in texts]

    async def close(self) -> None:
        """Nothing to release."""


@lru_cache(maxsize=4096)
def hashed(text: str, dimensions: int = DIMENSIONS) -> tuple[float, ...]:
    """The text's vector: pure."""
    counts = [0.0] * dimensions
    for word in _WORD.findall(text.casefold()):
        for bucket, weight in _spread(word, dimensions):
            counts[bucket] += weight
    # Damped, so that a word which comes ten times does not hide all others.
    damped = [copysign(sqrt(abs(count)), count) for count in counts]
    norm = sqrt(fsum(count * count for count in damped))
    return tuple(count / norm for count in damped) if norm else tuple(damped)


@lru_cache(maxsize=65_536)
def _spread(word: str, dimensions: int) -> tuple[tuple[int, float], ...]:
    """Where a word counts, and how much: itself, and its pieces between marks of its ends."""
    marked = f"<{word}>"
    pieces = [marked[at : at + _PIECE] for at in range(len(marked) - _PIECE + 1)]
    # All pieces together weigh as much for a long word as for a short one.
    share = 1.0 / sqrt(len(pieces)) if pieces else 0.0
    buckets: list[tuple[int, float]] = []
    for gram, weight in ((word, _WORD_WEIGHT), *((piece, share) for piece in pieces)):
        # Half of them count below zero, so that what falls into one bucket by chance cancels out.
        mark = crc32(gram.encode("utf-8", "surrogatepass"))
        buckets.append(((mark >> 1) % dimensions, weight if mark & 1 else -weight))
    return tuple(buckets)
