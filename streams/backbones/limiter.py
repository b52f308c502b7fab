"""How many calls an endpoint bears at once: one more a round while it answers, half on refusal.

Additive increase, multiplicative decrease, as in TCP. Pure: no clock, no loop; ``gate`` waits.
"""

from __future__ import annotations


class Limiter:
    """A bound on calls in flight, between ``least`` and ``most``, that starts at ``most``.

    Calls that were under way together are refused together; ``round`` makes them one refusal: a
    call notes it when it starts and hands it back when it is throttled.
    """

    def __init__(self, most: int, *, least: int = 1, cut: float = 0.5) -> None:
        if not (1 <= least <= most and 0 < cut < 1):
            raise ValueError(f"not 1 <= least <= most and 0 < cut < 1: {least}, {most}, {cut}")
        self.least, self.most, self.cut = least, most, cut
        self.round = 0
        self._window = float(most)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._window)

    def succeeded(self) -> None:
        """The endpoint answered: a full round of answers makes room for one call more."""
        self._window = min(float(self.most), self._window + 1.0 / self._window)

    def throttled(self, since: int) -> None:
        """The endpoint refused a call that had started in round ``since``."""
        if since == self.round:
            self._window = max(float(self.least), self._window * self.cut)
            self.round += 1
