"""Calls to models: they stay within a worker's totals, are repeated until there is a reply, and are priced.

Theory of operation. A backbone makes the attempts of one call and gives up after some; the ``Caller`` decides what
becomes of the question then. It asks an endpoint that is away until it is back, for an outage must not cost
an answer. It gives a question up (``Stuck``) only where the endpoint answers others and never this one, since
waiting on would then hold an episode for ever. A call in flight counts against the total of calls from its
beginning, or many at once could all find room for one; its tokens and its cost are known with its reply.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from handlers.limits import prompt_estimate
from schemas.price import Price
from schemas.usage import Embedding, add
from streams.answering.backbones.prices import price_for
from streams.answering.embedders.port import Bill
from streams.answering.retries import Patience, RetryState
from streams.core import normalise
from streams.core.backbone import (
    Backbone,
    BackboneError,
    Endpoint,
    ModelReply,
    ModelRequest,
    NotSent,
    SetupBroken,
    Stuck,
    Unreachable,
)
from streams.core.defects import describe
from streams.core.drive import Paused

WAITS_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits between rounds at an unreachable endpoint; the last one repeats."""
GLANCE_S = 0.1
"""How long such a wait overlooks that the worker was told to stop, or that the endpoint is back."""

NO_REPLY = (NotSent, Unreachable)
"""Errors that end a round without a reply."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Draining(Paused):
    """The worker is stopping: nothing new is asked, the episode stays open."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals that all episodes of one worker may spend together; ``None`` means unlimited."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


@dataclass(slots=True, kw_only=True)
class Caller:
    """A caller makes the calls of one worker. ``calls_begun`` counts them, ``released`` those without a reply."""

    patient: bool = True
    totals: Totals | None = None
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    patience: Patience = field(default_factory=Patience)
    draining: bool = False
    exhausted: str | None = None
    """The total that is spent, once one is."""
    calls_begun: int = 0
    released: int = 0
    tokens: int = 0
    cost: float = 0.0
    begun_s: float = field(default_factory=time.monotonic)
    out_of_reach: dict[str, float] = field(default_factory=dict[str, float])
    given_up: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """For each endpoint, its answers when a question was last given up without others, and whose it was."""

    async def call(self, backbone: Backbone, request: ModelRequest, episode: str) -> ModelReply:
        """The reply, priced. Raises ``SetupBroken``, ``Draining``, ``Stuck``, or ``Unreachable`` if impatient.

        What it had reserved of the totals is free again if none comes.
        """
        self.calls_begun += 1
        if self.totals is not None:
            self._begin(self.totals)
        began_s = time.monotonic()
        try:
            try:
                reply = await backbone.complete(request)
            except NO_REPLY as error:
                trying = RetryState(began_s, episode)
                reply = await self._again(partial(backbone.complete, request), error, trying)
                reply = trying.with_failed(reply)
        except BaseException as error:
            self.released += 1
            # An error that nobody foresaw would meet every problem alike, so it is the set-up's:
            # none of them is charged for it.
            if isinstance(error, Exception) and not isinstance(error, (BackboneError, Paused)):
                raise SetupBroken("backbone", backbone.name, describe(error)) from error
            raise
        # Unknown is not zero: without the tokens, or where a failed attempt may have been charged, a
        # guess would pass for a known cost in every sum.
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if self.prices and reply.cost is None and reply.free:
            price = price_for(self.prices, backbone.name) or self.prices.get(reply.model)
            if price is not None and prompt is not None and completion is not None:
                cost = price.of(prompt, completion, reply.cached_tokens or 0)
                reply = replace(reply, cost=cost)
        if self.totals is not None:
            # What a reply does not tell is booked as the most that it usually can be: a limit that an
            # endpoint's silence could stretch would be none.
            most_prompt, most_completion = most_of(request, reply)
            known = add(prompt, completion)
            self.tokens += most_prompt + most_completion if known is None else known
            if reply.cost is not None:
                self.cost += reply.cost
            elif (price := price_for(self.prices, backbone.name)) is not None:
                self.cost += price.of(most_prompt, most_completion) * reply.attempts
        return reply

    def _begin(self, totals: Totals) -> None:
        """Book a call before it is made. Raises ``Draining`` when a total does not cover it."""
        so_far = {
            "calls": (totals.calls, self.calls_begun - 1 - self.released),
            "tokens": (totals.tokens, self.tokens),
            "cost": (totals.cost, self.cost),
            "seconds": (totals.seconds, time.monotonic() - self.begun_s),
        }
        over = [
            name for name, (most, spent) in so_far.items() if most is not None and spent >= most
        ]
        self.exhausted = over[0] if over else None
        if self.exhausted is not None:
            self.released += 1
            # The whole worker stops: what no call may be spent on, the next call may not either.
            self.draining = True
            raise Draining

    def billed(self, embedder: str, bill: Bill, texts: Sequence[str]) -> Embedding:
        """Price what vectors took and book it on the totals, as for a reply."""
        price, tokens = price_for(self.prices, embedder), normalise.count(bill.tokens)
        # As for replies: what is not told counts as the most that it can be towards the totals, and
        # stays unknown on the record.
        most = prompt_estimate(sum(map(len, texts)), len(texts)) if tokens is None else tokens
        cost = 0.0 if bill.attempts == 0 else None
        if price is not None and bill.attempts:
            cost = price.of(most, 0) if tokens is not None and bill.free else None
            self.cost += price.of(most, 0) * bill.attempts if cost is None else cost
        self.tokens += most
        seconds = normalise.amount(bill.seconds)
        return Embedding(attempts=bill.attempts, tokens=tokens, cost=cost, seconds=seconds)

    async def told(self, ask: Callable[[], Awaitable[T]], episode: str) -> T:
        """Ask an endpoint until it answers, and return its answer. Raises as ``call`` does."""
        began_s = time.monotonic()
        try:
            return await ask()
        except NO_REPLY as error:
            return await self._again(ask, error, RetryState(began_s, episode))

    async def _again(
        self, ask: Callable[[], Awaitable[T]], error: NotSent | Unreachable, trying: RetryState
    ) -> T:
        """Ask again, after a first round without a reply, until there is one."""
        while True:
            if isinstance(error, NotSent):
                raise Draining from error
            if not self.patient:
                raise error
            trying.failed(error)
            self._give_up(error, trying)
            await self._wait(error, WAITS_S[min(trying.rounds, len(WAITS_S)) - 1])
            try:
                told = await ask()
            except NO_REPLY as again:
                error = again
                continue
            # Whoever finds it back first says so, once for all calls that waited.
            since_s = self.out_of_reach.pop(error.where, None)
            if since_s is not None:
                away_s = time.monotonic() - since_s
                said = "%s: answers again after %.0f s, and calls that waited go on"
                _log.warning(said, error.where, away_s)
            return told

    def _give_up(self, error: Unreachable, trying: RetryState) -> None:
        """Raises ``Stuck`` where the question is to blame rather than the endpoint."""
        now, answered = time.monotonic(), error.tried.answered
        # Where an endpoint answers nobody, one episode is given up to find out whether it was to blame. All
        # its questions go, and no other episode's, until the endpoint has answered something again: or an
        # outage would park the whole worker's episodes one after the other.
        before, whose = self.given_up.get(error.where, (-1, ""))
        goes_too = before == answered and whose == trying.episode
        if not goes_too and not trying.is_stuck(now, self.patience):
            if before == answered or not trying.is_stuck_alone(now, self.patience):
                return
            self.given_up[error.where] = answered, trying.episode
        raise Stuck(trying.told(now)) from error

    async def _wait(self, error: Unreachable, seconds: float) -> None:
        """Wait before asking an endpoint again, and say so once. Raises ``Draining``."""
        # Once for each endpoint: in an outage thousands of calls wait, and each would say the same.
        if error.where not in self.out_of_reach:
            self.out_of_reach[error.where] = time.monotonic()
            _log.warning("%s; asked again until it answers [model.unreachable]", error)
        again = error.tried.again
        # In short looks and not in one sleep: a worker that is told to stop must not wait for this, and an
        # endpoint that another call found back is asked at once.
        for _ in range(round(seconds / GLANCE_S)):
            if self.draining:
                raise Draining from error
            await asyncio.sleep(GLANCE_S)
            if again is not None and again():
                return

    def drain(self, asked: Iterable[object]) -> None:
        """Ask nothing new, and let go of the calls that only wait."""
        self.draining = True
        for each in asked:
            if isinstance(each, Endpoint):
                each.drain()


def why(asked: Iterable[object]) -> list[str]:
    """Reasons why calls wait, one for each endpoint and model."""
    said = [each.why() for each in asked if isinstance(each, Endpoint)]
    # Roles share endpoints, and each wait is told once.
    return sorted({each for each in said if each is not None})


def most_of(request: ModelRequest, reply: ModelReply) -> tuple[int, int]:
    """Prompt and completion tokens that a call took at most, as a rule."""
    characters = sum(len(text) for _, text in request.messages)
    prompt = prompt_estimate(characters, len(request.messages))
    return prompt, request.sampling.max_tokens or prompt_estimate(len(reply.text), 1)
