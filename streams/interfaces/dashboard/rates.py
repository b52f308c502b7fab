"""How fast counts grow: the difference over the last few seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

SPAN_S = 10.0


class Rates:
    """Counts as they were seen, newest last; of each, what came per second lately."""

    def __init__(self, span_s: float = SPAN_S) -> None:
        self.span_s = span_s
        self.seen: deque[tuple[float, Mapping[str, int]]] = deque()

    def see(self, at: float, counts: Mapping[str, int]) -> None:
        """Note the counts of this moment."""
        # One look from before the span stays: a rate over fewer seconds than the
        # span would jump about.
        self.seen.append((at, dict(counts)))
        while len(self.seen) > 2 and self.seen[1][0] <= at - self.span_s:
            self.seen.popleft()

    def of(self, name: str) -> float | None:
        """A second's growth; none before there were two looks."""
        if len(self.seen) < 2:
            return None
        (before, old), (now, new) = self.seen[0], self.seen[-1]
        return (new.get(name, 0) - old.get(name, 0)) / max(now - before, 1e-9)
