"""Calls to models: they stay within a worker's totals, are repeated until there is a reply, and are priced."""

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
        self._begin()
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
            if isinstance(error, Exception) and not isinstance(error, (BackboneError, Paused)):
                raise SetupBroken("backbone", backbone.name, describe(error)) from error
            raise
        if self.prices:
            reply = self._priced(backbone, reply)
        if self.totals is not None:
            self._book(backbone, request, reply)
        return reply

    def _begin(self) -> None:
        """Book a call before it is made. Raises ``Draining`` when a total does not cover it."""
        self.calls_begun += 1
        if self.totals is None:
            return
        self.exhausted = self._over(self.totals)
        if self.exhausted is not None:
            self.released += 1
            self.draining = True
            raise Draining

    def _over(self, totals: Totals) -> str | None:
        so_far = {
            "calls": (totals.calls, self.calls_begun - 1 - self.released),
            "tokens": (totals.tokens, self.tokens),
            "cost": (totals.cost, self.cost),
            "seconds": (totals.seconds, time.monotonic() - self.begun_s),
        }
        over = (
            name for name, (most, spent) in so_far.items() if most is not None and spent >= most
        )
        return next(over, None)

    def _priced(self, backbone: Backbone, reply: ModelReply) -> ModelReply:
        """Return the reply with its cost: unknown if tokens are, or if a failed attempt may have been charged."""
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if reply.cost is not None or not reply.free:
            return reply
        price = price_for(self.prices, backbone.name) or self.prices.get(reply.model)
        if price is None or prompt is None or completion is None:
            return reply
        return replace(reply, cost=price.of(prompt, completion, reply.cached_tokens or 0))

    def _book(self, backbone: Backbone, request: ModelRequest, reply: ModelReply) -> None:
        """Add a reply to the totals. An unknown amount counts as the most that it usually can be."""
        prompt, completion = most_of(request, reply)
        known = add(reply.prompt_tokens, reply.completion_tokens)
        self.tokens += prompt + completion if known is None else known
        if reply.cost is not None:
            self.cost += reply.cost
        elif (price := price_for(self.prices, backbone.name)) is not None:
            self.cost += price.of(prompt, completion) * reply.attempts

    def billed(self, embedder: str, bill: Bill, texts: Sequence[str]) -> Embedding:
        """Price what vectors took and book it on the totals, as for a reply."""
        price, tokens = price_for(self.prices, embedder), normalise.count(bill.tokens)
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
            else:
                self._is_back(error.where)
                return told

    def _give_up(self, error: Unreachable, trying: RetryState) -> None:
        """Raises ``Stuck`` where the question is to blame rather than the endpoint."""
        now, answered = time.monotonic(), error.tried.answered
        before, whose = self.given_up.get(error.where, (-1, ""))
        goes_too = before == answered and whose == trying.episode
        if not goes_too and not trying.is_stuck(now, self.patience):
            if before == answered or not trying.is_stuck_alone(now, self.patience):
                return
            self.given_up[error.where] = answered, trying.episode
        raise Stuck(trying.told(now)) from error

    def _is_back(self, where: str) -> None:
        """Say once that an endpoint answers again."""
        since_s = self.out_of_reach.pop(where, None)
        if since_s is not None:
            away_s = time.monotonic() - since_s
            _log.warning(
                "%s: answers again after %.0f s, and calls that waited go on", where, away_s
            )

    async def _wait(self, error: Unreachable, seconds: float) -> None:
        """Wait before asking an endpoint again, and say so once. Raises ``Draining``."""
        if error.where not in self.out_of_reach:
            self.out_of_reach[error.where] = time.monotonic()
            _log.warning("%s; asked again until it answers [model.unreachable]", error)
        again = error.tried.again
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
    return sorted({each for each in said if each is not None})


def most_of(request: ModelRequest, reply: ModelReply) -> tuple[int, int]:
    """Prompt and completion tokens that a call took at most, as a rule."""
    characters = sum(len(text) for _, text in request.messages)
    prompt = prompt_estimate(characters, len(request.messages))
    return prompt, request.sampling.max_tokens or prompt_estimate(len(reply.text), 1)
