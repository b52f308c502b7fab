"""The bootstrap interval of a mean, quick: what is drawn hangs on the number of items alone.

The same draws as ``handlers.learning.metrics.interval`` makes, kept as one matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from handlers.learning.metrics import RESAMPLES, quantile, resample


@lru_cache(maxsize=32)
def _places(size: int, resamples: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    """(resamples, size) places drawn with replacement."""
    return np.array([resample(0, turn, size) for turn in range(resamples)], dtype=np.int32)


def mean_interval(
    values: Sequence[float], *, resamples: int = RESAMPLES, level: float = 0.95
) -> tuple[float, float] | None:
    """Percentile bootstrap of the mean over items; unknown for none."""
    if not values:
        return None
    drawn = np.asarray(values, dtype=np.float64)[_places(len(values), resamples)]
    means: list[float] = sorted((drawn.sum(axis=1) / len(values)).tolist())
    tail = (1 - level) / 2
    return quantile(means, tail), quantile(means, 1 - tail)
