"""An outage is told in one line when it begins and one when it ends, whatever happens between."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why nothing can be done just now, and since when by ``time.monotonic``."""

    what: str
    since_s: float

    def told(self, now_s: float) -> str:
        """Say what the trouble is and for how long it has lasted."""
        return f"{self.what} for {now_s - self.since_s:.0f} s"


def waiting(number: int, noun: str) -> str:
    """How many wait, as a clause."""
    return f"1 {noun} waits" if number == 1 else f"{number:,} {noun}s wait"


class Outage:
    """Whether something is away, told of what was found at each look."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.since_s: float | None = None

    def look(self, found: Trouble | None, now_s: float, waits: str) -> str | None:
        """The line for people, if it went or came back since the last look; ``waits`` says what waits."""
        if found is None:
            if self.since_s is None:
                return None
            away_s, self.since_s = now_s - self.since_s, None
            return f"{self.where}: back after {away_s:.0f} s; {waits}"
        if self.since_s is not None:
            return None
        self.since_s = found.since_s
        since = time.strftime("%H:%M:%S", time.localtime(time.time() - (now_s - found.since_s)))
        return f"{self.where}: {found.what} since {since}; {waits}, and work goes on by itself"
