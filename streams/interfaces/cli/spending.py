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
        return Totals(
            # Calls that were begun and came to nothing are given back by their world: only what
            # was asked counts.
            calls=_less(whole.calls, sum(each.calls_begun - each.released for each in callers)),
            tokens=_less(whole.tokens, sum(each.tokens for each in callers)),
            cost=None if whole.cost is None else max(0.0, whole.cost - sum(c.cost for c in callers)),
            seconds=None if whole.seconds is None
            # From the beginning of the command: the judge has what time the worker has left.
            else max(0.0, whole.seconds - (time.monotonic() - self.begun_s)),
        )  # fmt: skip


def _less(most: int | None, spent: int) -> int | None:
    return None if most is None else max(0, most - spent)
