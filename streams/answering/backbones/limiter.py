"""How many calls an endpoint bears at once: found out quickly, then one more a round, less on refusal.

Slow start and additive increase, multiplicative decrease, as in TCP (RFC 5681). Pure: no clock, no
loop; ``gate`` waits.
"""

from __future__ import annotations

FIRST = 8
EASED = 0.9
"""What is left of the window when replies have become slow."""


class Limiter:
    """A bound on calls in flight, between ``least`` and ``most``.

    It begins at ``first`` and doubles each round until the endpoint first refuses; from there on each
    round of replies adds one. It grows only while it is what holds calls back. Calls that were under way
    together are refused together; ``round`` makes them one refusal: a call notes it when it starts and
    hands it back when it is throttled.
    """

    def __init__(
        self, most: int, *, first: int | None = None, least: int = 1, cut: float = 0.75
    ) -> None:
        if not (1 <= least <= most and 0 < cut < 1):
            raise ValueError(f"not 1 <= least <= most and 0 < cut < 1: {least}, {most}, {cut}")
        self.least, self.most, self.cut = least, most, cut
        self.round = 0
        self._window = float(min(most, max(least, FIRST if first is None else first)))
        self._doubles = True

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return int(self._window)

    def succeeded(self, inside: int | None = None) -> None:
        """The endpoint answered one of ``inside`` calls; too few of them prove nothing about more."""
        # Without this a quiet hour would open the window wide, and the next rush would be refused
        # as a whole.
        if inside is not None and inside < self.limit:
            return
        # One for each reply doubles the window in a round; its share for each reply adds one.
        step = 1.0 if self._doubles else 1.0 / self._window
        self._window = min(float(self.most), self._window + step)

    def throttled(self, since: int) -> None:
        """The endpoint refused a call that had started in round ``since``."""
        if since == self.round:
            self._narrow(self.cut)
            self.round += 1

    def eased(self) -> None:
        """The endpoint answers, but more slowly than it did: a little less at once."""
        self._narrow(EASED)

    def _narrow(self, share: float) -> None:
        self._doubles = False
        self._window = max(float(self.least), self._window * share)
