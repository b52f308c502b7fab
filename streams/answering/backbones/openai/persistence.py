"""Asking until something can be recorded: attempts are counted, timed, spaced out and bounded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol, TypeVar

from streams.answering.backbones.openai.endpoint import EndpointState
from streams.answering.backbones.openai.faults import LOST, MOMENT, ONCE_MORE, Fault, Kind
from streams.answering.backbones.openai.options import Options
from streams.answering.backbones.openai.patience import pause_before
from streams.core.backbone import NotSent, Silence, Tried


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
            # What was not asked at all is no attempt of this call, and costs none of its patience.
            if not isinstance(outcome, Fault) or outcome.kind == "unasked":
                return outcome
            tally.note(outcome)
            met = tally.faults[outcome.kind]
            # Patience is per kind: two timeouts are paid for twice, while a busy endpoint costs nothing
            # to ask again.
            more = 1 if outcome.kind in ONCE_MORE else 0
            if met >= (self.options.max_attempts if outcome.kind in MOMENT else 1 + more):
                return outcome
            seconds = pause_before(
                met,
                seed,
                asked=outcome.pause,
                base_s=self.options.backoff_s,
                longest_s=self.options.longest_pause_s,
            )
            # The pause is outside the gate: a place kept by one that sleeps would be lost to the others.
            self.state.resting += 1
            try:
                await self.state.gate.sleep(seconds)
            finally:
                self.state.resting -= 1
            tally.seconds += seconds

    async def _attempt(
        self, send: Callable[[], Awaitable[T | Fault]], tally: Attempts
    ) -> T | Fault:
        state = self.state
        async with state.gate.turn(again=tally.attempts > 0) as began:
            # Only here, and not before the turn: what others found out while this one waited counts.
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
            # Without room a second attempt would only take the place of another call's first. Who is told to stop
            # while it waits for its turn sends none: the first is paid for, and its reply is still awaited.
            if not first.done() and self.state.gate.has_room:
                with suppress(NotSent):
                    return await self._sooner(first, send, tally)
            return await first
        finally:
            first.cancel()

    async def _sooner(
        self,
        first: asyncio.Future[T | Fault],
        send: Callable[[], Awaitable[T | Fault]],
        tally: Attempts,
    ) -> T | Fault:
        """The outcome of another attempt or of the first, whichever is sooner. Raises ``NotSent`` if none is sent."""
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
        elif outcome.kind in ("timeout", "busy"):
            # Too much was asked at once. It says nothing of whether the endpoint is there, so the
            # breaker neither opens nor closes by it.
            state.breaker.left(since)
            state.limiter.throttled(began)
            if outcome.kind == "busy" and outcome.pause:
                self.hold(outcome.pause)
        else:  # it is there, and did not like what it was asked
            state.breaker.replied()

    def hold(self, seconds: float) -> None:
        """Let nobody ask for so long, within reason."""
        # Some servers ask for hours, by mistake or by a clock that is wrong. Asked sooner they can
        # only refuse again, which costs nothing.
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
            # While the breaker is open one caller tries for all: whoever waits looks whether that
            # one found the endpoint back, instead of sitting out a wait of his own.
            again=(lambda: breaker.allows(monotonic())) if breaker.is_open else None,
            pause_s=tally.pause_s,
        )


def silence_of(faults: Mapping[Kind, int]) -> Silence:
    """What kind of silence a question met; its endpoint's own word tells most."""
    # Only a server's own word that it fails may count against the question; silence and refusals
    # are of the endpoint.
    return "error" if faults.get("failed") else "busy" if faults.get("busy") else "lost"
