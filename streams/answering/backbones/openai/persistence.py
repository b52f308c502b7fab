"""Asking until something can be recorded: attempts are counted, timed, spaced out and bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol, TypeVar

from streams.answering.backbones.openai.endpoint import EndpointState
from streams.answering.backbones.openai.faults import LOST, MOMENT, ONCE_MORE, Fault, Kind
from streams.answering.backbones.openai.options import Options
from streams.answering.backbones.openai.patience import pause_before
from streams.core.backbone import Silence, Tried


class Sized(Protocol):
    """The part of an attempt that the pace depends on: how many tokens came."""

    @property
    def size(self) -> int:
        """Tokens, as the server counts them or as the text is long."""
        ...


T = TypeVar("T", bound=Sized)


@dataclass(slots=True)
class Attempts:
    """The cost of one call in attempts and in pauses between them, without its wait for a turn."""

    attempts: int = 0
    seconds: float = 0.0
    free: bool = True  # whether the failed attempts can have cost nothing
    faults: Counter[Kind] = field(default_factory=Counter[Kind])
    pause_s: float | None = None  # what the last fault's server asked for

    def note(self, fault: Fault) -> None:
        """One more attempt without a reply."""
        self.faults[fault.kind] += 1
        self.free = self.free and fault.free
        self.pause_s = fault.pause


class Persistence:
    """Repeats what is worth repeating at one endpoint."""

    def __init__(self, options: Options, state: EndpointState) -> None:
        self.options, self.state = options, state

    async def ask(
        self, send: Callable[[], Awaitable[T | Fault]], tally: Attempts, seed: int
    ) -> T | Fault:
        """A result, or the fault that ended our patience. Raises ``NotSent`` once the gate is stopped."""
        while True:
            outcome = await self._attempt(send, tally)
            if not isinstance(outcome, Fault):
                return outcome
            if outcome.kind == "unasked":
                return outcome
            tally.note(outcome)
            if tally.faults[outcome.kind] >= self._attempts(outcome.kind):
                return outcome
            await self._wait(outcome, tally, seed)

    async def _attempt(
        self, send: Callable[[], Awaitable[T | Fault]], tally: Attempts
    ) -> T | Fault:
        state = self.state
        async with state.gate.turn(again=tally.attempts > 0) as began:
            if not state.breaker.allows(monotonic()):
                return Fault("unasked", state.trouble, free=True)
            since = state.breaker.began()
            started = monotonic()
            tally.attempts += 1
            try:
                outcome = await self._sent(send, tally)
            except BaseException:
                state.breaker.left(since)
                raise
            took = monotonic() - started
            tally.seconds += took
            self._learn(outcome, began, since, took)
        return outcome

    async def _sent(self, send: Callable[[], Awaitable[T | Fault]], tally: Attempts) -> T | Fault:
        """The outcome of one attempt, or of the sooner of two where hedging is on and there is room."""
        if not self.options.hedge_s:
            return await send()
        first = asyncio.ensure_future(send())
        try:
            await asyncio.wait((first,), timeout=self.options.hedge_s)
            if first.done() or not self.state.gate.has_room:
                return await first
            return await self._sooner(first, send, tally)
        finally:
            first.cancel()

    async def _sooner(
        self,
        first: asyncio.Future[T | Fault],
        send: Callable[[], Awaitable[T | Fault]],
        tally: Attempts,
    ) -> T | Fault:
        async with self.state.gate.turn():
            tally.attempts += 1
            tally.free = False  # the one that is not waited for may be charged as well
            second = asyncio.ensure_future(send())
            try:
                done, others = await asyncio.wait(
                    (first, second), return_when=asyncio.FIRST_COMPLETED
                )
                sooner = done.pop().result()
                return await others.pop() if isinstance(sooner, Fault) and others else sooner
            finally:
                second.cancel()

    def _learn(self, outcome: Sized | Fault, began: int, since: int, seconds: float) -> None:
        """Widen or narrow the way for all, before this place is free again."""
        state = self.state
        if not isinstance(outcome, Fault):
            state.breaker.replied()
            state.limiter.succeeded(state.gate.inside)
            if state.latency.is_slow(seconds, outcome.size):
                state.limiter.eased()
            return
        state.trouble = outcome.detail
        if outcome.kind in LOST:
            state.breaker.failed(since, monotonic())
        elif outcome.kind == "timeout":
            state.breaker.left(since)
            state.limiter.throttled(began)
        else:
            self._refused(outcome, began, since)

    def _refused(self, fault: Fault, began: int, since: int) -> None:
        """The endpoint is there: it put us off, or did not like what it was asked."""
        if fault.kind != "busy":
            self.state.breaker.replied()
            return
        self.state.breaker.left(since)
        self.state.limiter.throttled(began)
        if fault.pause:
            self.hold(fault.pause)

    def hold(self, seconds: float) -> None:
        """Let nobody ask for so long, within reason."""
        self.state.gate.pause(min(seconds, self.options.longest_pause_s))

    def tried(self, tally: Attempts) -> Tried:
        """What a call took that got no reply, and what its endpoint did for others."""
        breaker = self.state.breaker
        return Tried(
            attempts=tally.attempts,
            seconds=tally.seconds,
            free=tally.free,
            silence=silence_of(tally.faults),
            answered=breaker.answered,
            failures=breaker.failures,
            again=(lambda: breaker.allows(monotonic())) if breaker.is_open else None,
            pause_s=tally.pause_s,
        )

    def _attempts(self, kind: Kind) -> int:
        if kind in MOMENT:
            return self.options.max_attempts
        return 2 if kind in ONCE_MORE else 1

    async def _wait(self, fault: Fault, tally: Attempts, seed: int) -> None:
        seconds = pause_before(
            tally.faults[fault.kind],
            seed,
            asked=fault.pause,
            base_s=self.options.backoff_s,
            longest_s=self.options.longest_pause_s,
        )
        self.state.resting += 1
        try:
            await self.state.gate.sleep(seconds)
        finally:
            self.state.resting -= 1
        tally.seconds += seconds


def silence_of(faults: Mapping[Kind, int]) -> Silence:
    """What kind of silence a question met; its endpoint's own word tells most."""
    return "error" if faults.get("failed") else "busy" if faults.get("busy") else "lost"
