"""Vectors as they are kept: float16 in base64, small, and the same on every machine."""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import lru_cache

HALF_LIMIT = 65504.0
"""The largest finite float16."""


def pack(vector: Sequence[float]) -> str:
    """Base64 of little-endian float16. Raises ``ValueError`` for what float16 cannot hold."""
    for value in vector:
        # Infinity less itself is no number either, so that one comparison finds both.
        if value - value != 0.0:
            raise ValueError(f"{value} is not a finite number")
    try:
        return b64encode(struct.pack(f"<{len(vector)}e", *map(float, vector))).decode("ascii")
    except OverflowError as error:
        raise ValueError(f"beyond float16, which ends at {HALF_LIMIT:g}") from error


# Kept, because a memory's vectors are compared at each of its batches for as long as their lessons are live.
@lru_cache(maxsize=2_048)
def halves(packed: str) -> bytes:
    """The little-endian float16 of a packed vector. Raises ``ValueError`` if the text is none."""
    raw = b64decode(packed, validate=True)
    if len(raw) % 2:
        raise ValueError("a packed vector has an even number of bytes")
    return raw


def unpack(packed: str) -> tuple[float, ...]:
    """The numbers of a packed vector. Raises ``ValueError`` if the text is none."""
    raw = halves(packed)
    return struct.unpack(f"<{len(raw) // 2}e", raw)


def width(packed: str) -> int:
    """How many numbers a packed vector holds."""
    return len(b64decode(packed)) // 2


def as_kept(vector: Sequence[float]) -> tuple[float, ...]:
    """The vector at the precision in which it is kept: live and replayed numbers are equal."""
    # Decisions are made with what is kept. With the vector as it came, a replay would decide by
    # other numbers.
    return unpack(pack(vector))
