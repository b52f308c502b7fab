"""Whether replies take longer than they did when the endpoint was at its ease. Pure.

Slowness is told from the pace of whole rounds, a token each, so that a long reply is no slow one.
"""

from __future__ import annotations

import math

ROUND = 16
"""Replies whose middle pace is compared."""
OVERHEAD_TOKENS = 20
"""What a reply costs beside its tokens, in tokens."""
DRIFT = 1.05
"""By how much the best pace is forgotten each round: prompts change, and a slower model is no fault."""


class Latency:
    """The pace of the present round against the best one."""

    def __init__(self, tolerance: float = 2.0) -> None:
        self.tolerance = tolerance
        self.best = math.inf
        self._paces: list[float] = []

    def is_slow(self, seconds: float, tokens: int) -> bool:
        """Take one reply in. True once a round, where it went slower than is tolerated."""
        self._paces.append(seconds / (tokens + OVERHEAD_TOKENS))
        if len(self._paces) < ROUND:
            return False
        # The middle one, so that a single reply that stalled makes no slow round.
        pace = sorted(self._paces)[ROUND // 2]
        self._paces.clear()
        # Forgotten little by little: what was the best pace at night would else narrow the way all
        # day.
        self.best = min(self.best * DRIFT, pace)
        return pace > self.tolerance * self.best
