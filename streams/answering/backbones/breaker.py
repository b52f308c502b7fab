"""When an endpoint is not asked any more: after failures in a row, until one call finds it back.

Closed, open, half-open (Nygard, Release It!). Pure: the time comes in.
"""

from __future__ import annotations


class Breaker:
    """Opens after ``trips`` failures without a reply between them; then one call at a time may try.

    Each try that fails doubles the wait for the next, up to ``longest_s``. A call notes ``round`` when
    it starts: what began before the breaker opened is no try.
    """

    def __init__(self, trips: int = 5, *, first_s: float = 1.0, longest_s: float = 30.0) -> None:
        self.trips, self.first_s, self.longest_s = trips, first_s, longest_s
        self.round = self.failures = self.answered = 0
        self.until_s: float | None = None
        self._wait_s = first_s
        self._trying = False

    @property
    def is_open(self) -> bool:
        """Whether calls are held back."""
        return self.until_s is not None

    def allows(self, now_s: float) -> bool:
        """Whether a call may be made now."""
        return self.until_s is None or (now_s >= self.until_s and not self._trying)

    def began(self) -> int:
        """A call is made; the round to hand back when it ends."""
        self._trying = self.is_open
        return self.round

    def replied(self) -> None:
        """The endpoint said something sensible."""
        # Whether others are answered decides whether a question is to blame that never is, so
        # replies are counted here, where failures are.
        self.answered += 1
        self.failures, self.until_s, self._wait_s = 0, None, self.first_s
        self._trying = False

    def failed(self, since: int, now_s: float) -> None:
        """A call of round ``since`` got nothing, or the endpoint's word that it fails."""
        self.failures += 1
        # What began before the breaker opened is late news of the same outage: counted again it
        # would double the wait once for every call that was under way.
        if since != self.round or self.failures < self.trips:
            return
        self.until_s = now_s + self._wait_s
        self._wait_s = min(2 * self._wait_s, self.longest_s)
        self.round += 1
        self._trying = False

    def left(self, since: int) -> None:
        """A call of round ``since`` ended without telling anything: another one may try."""
        if since == self.round:
            self._trying = False
