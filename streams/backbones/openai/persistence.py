"""Asking until something can be recorded: attempts are counted, timed, spaced out and bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from streams.backbones.gate import Gate
from streams.backbones.limiter import Limiter
from streams.backbones.openai.faults import MOMENT, ONCE_MORE, Fault, Kind
from streams.backbones.openai.options import Options
from streams.backbones.openai.patience import pause_before

T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    """What one call took: its attempts and the pauses between them, but not its wait for a turn."""

    attempts: int = 0
    seconds: float = 0.0
    free: bool = True  # whether the failed attempts can have cost nothing
    faults: Counter[Kind] = field(default_factory=Counter[Kind])

    def note(self, fault: Fault) -> None:
        """One more attempt without a reply."""
        self.faults[fault.kind] += 1
        self.free = self.free and fault.free


class Persistence:
    """Repeats what is worth repeating, within one endpoint's gate."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.limiter = Limiter(options.max_connections)
        self.gate = Gate(self.limiter)

    async def ask(
        self, send: Callable[[], Awaitable[T | Fault]], tally: Tally, seed: int
    ) -> T | Fault:
        """A result, or the fault that ended our patience."""
        while True:
            outcome = await self._attempt(send, tally)
            if not isinstance(outcome, Fault):
                return outcome
            tally.note(outcome)
            if tally.faults[outcome.kind] >= self._attempts(outcome.kind):
                return outcome
            await self._wait(outcome, tally, seed)

    async def _attempt(self, send: Callable[[], Awaitable[T | Fault]], tally: Tally) -> T | Fault:
        async with self.gate.turn(again=tally.attempts > 0) as began:
            started = monotonic()
            tally.attempts += 1
            outcome = await send()
            tally.seconds += monotonic() - started
            self._learn(outcome, began)
        return outcome

    def _learn(self, outcome: object, began: int) -> None:
        """Widen or narrow the way for all, before this place is free again."""
        if not isinstance(outcome, Fault):
            self.limiter.succeeded()
        elif outcome.kind == "busy":
            self.limiter.throttled(began)
            if outcome.pause:
                self.gate.pause(min(outcome.pause, self.options.longest_pause_s))

    def _attempts(self, kind: Kind) -> int:
        if kind in MOMENT:
            return self.options.max_attempts
        return 2 if kind in ONCE_MORE else 1

    async def _wait(self, fault: Fault, tally: Tally, seed: int) -> None:
        seconds = pause_before(
            tally.faults[fault.kind],
            seed,
            asked=fault.pause,
            base_s=self.options.backoff_s,
            longest_s=self.options.longest_pause_s,
        )
        await asyncio.sleep(seconds)
        tally.seconds += seconds
