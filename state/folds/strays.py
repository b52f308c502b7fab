"""Records of learned kinds that stand where no policy, worker or command puts them: they count for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from schemas.events.base import Event

# A policy with a mistake may leave one for each episode; the first few show where it is.
FIRST = 5
"""So many are kept by name."""
Noted = Callable[[str], None]


@dataclass(slots=True)
class Strays:
    """How many were passed over, and the first of them. ``told`` gets a line for each of those."""

    told: Noted | None = None
    count: int = 0
    first: list[str] = field(default_factory=list[str])

    def add(self, episode: str, address: str, event: Event) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < FIRST:
            note = f"{episode} at {address}: {event.kind} was passed over: no policy put it there"
            self.first.append(note)
            if self.told is not None:
                self.told(note)
