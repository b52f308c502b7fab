"""Totals that several worlds of one command share: the worker's, the judge's, and those of side runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams.answering.calls import Totals
    from streams.answering.world import World


@dataclass(slots=True)
class Spending:
    """The totals of a command, and the worlds that spent of them. Without totals nothing is held back."""

    totals: Totals | None
    worlds: list[World] = field(default_factory=list["World"])
    begun_s: float = field(default_factory=time.monotonic)

    def add(self, world: World) -> World:
        """Count what this world spends, too."""
        self.worlds.append(world)
        return world

    def left(self) -> Totals | None:
        """What the next world may spend."""
        if self.totals is None:
            return None
        from streams.answering.calls import Totals

        callers, whole = [world.caller for world in self.worlds], self.totals
        # Calls that were begun and came to nothing were released by their world: only what was
        # asked counts.
        spent_calls = sum(each.calls_begun - each.released for each in callers)
        spent_tokens = sum(each.tokens for each in callers)
        spent_cost = sum(each.cost for each in callers)
        # From the beginning of the command: the judge has what time the worker has left.
        spent_s = time.monotonic() - self.begun_s
        return Totals(
            calls=None if whole.calls is None else max(0, whole.calls - spent_calls),
            tokens=None if whole.tokens is None else max(0, whole.tokens - spent_tokens),
            cost=None if whole.cost is None else max(0.0, whole.cost - spent_cost),
            seconds=None if whole.seconds is None else max(0.0, whole.seconds - spent_s),
        )
