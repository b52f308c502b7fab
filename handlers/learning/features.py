"""Features of a report: its embedding, projected by fixed signs, at length 1.

Source: Meta-Reasoner App. B (features from an embedding model); the projection is ours: signs from a
hash, so that every machine has the same.
"""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from handlers.learning.linucb import Vector, total
from schemas.identity import hash01


@lru_cache(maxsize=8)
def signs(dims: int, width: int) -> NDArray[np.float64]:
    """``width`` × ``dims`` signs: of feature ``row`` at the embedding's ``column``."""
    drawn = [
        [1.0 if hash01(0, row, column) < 0.5 else -1.0 for row in range(dims)]
        for column in range(width)
    ]
    return np.array(drawn)


@lru_cache(maxsize=64)
def features(embedding: str, dims: int | None) -> Vector:
    """x of a packed embedding: ``dims`` numbers, or all of them; ‖x‖ = 1, or 0 for a zero vector.

    A report is scored and then credited: its x is made once, and nobody may change it.
    """
    x = np.frombuffer(b64decode(embedding, validate=True), dtype="<f2").astype(np.float64)
    # Signs of ±1 keep angles nearly as they are, and need neither a matrix on disk
    # nor a random source.
    if dims is not None:
        x = (signs(dims, len(x)) * x[:, None]).sum(axis=0)
    length = float(np.sqrt(total(x * x)))
    x = x / length if length else x
    # The array is shared through the cache: whoever wrote into it would change every later score.
    x.flags.writeable = False
    return x
