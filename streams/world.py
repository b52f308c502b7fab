"""The world: routes each question to who can answer it, and normalises what comes back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from handlers.answers.grade import CHECKERS, Grade
from handlers.learning.recall import Hit, select
from handlers.limits import UNBOUNDED, Ledger, Reservation
from schemas.asking import Ask
from schemas.events.base import AnswerEvent
from schemas.events.episode import Checked, Completed, Embedded, Recalled
from schemas.identity import call_seed
from schemas.memory import Memory
from schemas.problem import Limits
from schemas.questions import Check, Complete, Embed, Recall, Sampling, UseTool
from schemas.vectors import pack, unpack
from streams import normalise
from streams.backbones.port import Backbone, ModelReply, ModelRequest, Unreachable
from streams.drive import Paused, Run
from streams.embedders.port import Embedder
from streams.tools import NO_TOOLS, Tools, called
from streams.twins import luck

if TYPE_CHECKING:
    from state.mirror import Mirrors

PATIENCE_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits between attempts at an unreachable endpoint; the last one repeats."""
GLANCE_S = 0.1
"""How long such a wait overlooks that the worker was told to stop."""

PLAIN_ITEMS = 64
"""Up to so many memory items are recalled without the mirror, and without loading NumPy."""

_log = logging.getLogger(__name__)

R = TypeVar("R")


class Draining(Paused):
    """The worker is stopping: nothing new is asked, the episode stays open."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What all episodes of one worker may spend together; left out means unlimited."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class References(Protocol):
    """Labels of problems, for learners: whoever solves is never told what they say."""

    async def grade(self, question: Check) -> Grade:
        """What the problem's label says of an answer."""
        ...


class World:
    """Backbones by role (``*`` for the rest), one embedder, and memory as each run pins it.

    With ``patient`` an unreachable endpoint is asked again until it answers; without, ``Unreachable``
    is raised. After ``drain`` every new question raises ``Draining``.
    """

    def __init__(
        self,
        backbones: Mapping[str, Backbone],
        embedder: Embedder,
        *,
        patient: bool = True,
        totals: Totals | None = None,
    ) -> None:
        self.backbones, self.embedder, self.patient = dict(backbones), embedder, patient
        self.draining = False
        self.out_of_reach: set[str] = set()
        self.totals, self.spent = totals, Ledger.of(Limits())
        self.begun_s = time.monotonic()
        self.simulated = any(backbone.simulated for backbone in self.backbones.values())
        """Whether any role is answered by no model."""
        self.description = self._described()
        """Which backbone answers which role, for people."""
        self.calls_begun = 0
        self.mirrors: Mirrors | None = None
        self.tools: Tools = NO_TOOLS
        self.references: References | None = None
        self.exhausted: str | None = None
        """Which total is spent, once one is."""

    def _described(self) -> str:
        named = (
            (f"{role}=" if role != "*" else "") + backbone.name
            for role, backbone in sorted(self.backbones.items())
        )
        return ", ".join(named) + (" (SIMULATED)" if self.simulated else "")

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The answer to record. Raises ``SetupBroken``, ``Draining``, or ``Unreachable`` if impatient."""
        if self.draining:
            raise Draining
        if isinstance(question, Complete):
            return await self._complete(run, question, asked, address, reserved)
        match question:
            case Recall():
                return await self._recall(run, question, asked)
            case Embed():
                vectors = await self.embedder.embed(question.texts)
                return Embedded(
                    asked=asked,
                    embedder=self.embedder.name,
                    dimensions=self.embedder.dimensions,
                    vectors=tuple(pack(vector) for vector in vectors),
                )
            case Check():
                return await self._checked(question, asked)
            case UseTool():
                return await called(self.tools, question, asked)
            case _:
                raise TypeError(f"nobody here answers a {type(question).__name__}")

    async def _complete(
        self, run: Run, question: Complete, asked: str, address: str, reserved: Reservation
    ) -> Completed:
        backbone = self.backbones.get(question.role) or self.backbones["*"]
        request = ModelRequest(
            messages=question.messages(),
            sampling=capped(question.sampling, reserved.max_tokens),
            seed=call_seed(run.seed, luck(run.journal, address)),
            draw=question.draw,
            schema=question.template.schema,
        )
        self._count_call()
        try:
            reply = await backbone.complete(request)
        except Unreachable as error:
            reply = await self._ask_again(backbone, request, error)
        answer = completed(asked, reply)
        if self.totals is not None:
            self.spent.settle(UNBOUNDED, answer.tokens, answer.cost, None)
        return answer

    def _count_call(self) -> None:
        """Book a call before it is made. Raises ``Draining`` when a total does not cover it."""
        self.calls_begun += 1
        if self.totals is None:
            return
        self.exhausted = self._over(self.totals)
        if self.exhausted is not None:
            self.draining = True
            raise Draining

    def _over(self, totals: Totals) -> str | None:
        so_far = {
            "calls": (totals.calls, self.calls_begun - 1),
            "tokens": (totals.tokens, self.spent.spent_tokens),
            "cost": (totals.cost, self.spent.spent_cost),
            "seconds": (totals.seconds, time.monotonic() - self.begun_s),
        }
        over = (
            name for name, (most, spent) in so_far.items() if most is not None and spent >= most
        )
        return next(over, None)

    async def _ask_again(
        self, backbone: Backbone, request: ModelRequest, error: Unreachable
    ) -> ModelReply:
        for attempt in count():
            if not self.patient:
                raise error
            await self._wait(error, PATIENCE_S[min(attempt, len(PATIENCE_S) - 1)])
            try:
                reply = await backbone.complete(request)
            except Unreachable as again:
                error = again
            else:
                self.out_of_reach.discard(error.where)
                return reply
        raise AssertionError("counting has no end")

    async def _wait(self, error: Unreachable, seconds: float) -> None:
        """Wait before asking an endpoint again, and say so once. Raises ``Draining``."""
        if error.where not in self.out_of_reach:
            self.out_of_reach.add(error.where)
            _log.warning("%s; asked again until it answers [model.unreachable]", error)
        for _ in range(round(seconds / GLANCE_S)):
            if self.draining:
                raise Draining from error
            await asyncio.sleep(GLANCE_S)

    async def _recall(self, run: Run, question: Recall, asked: str) -> Recalled:
        query = (await self.embedder.embed((question.query,)))[0]
        rounded = tuple(unpack(pack(query)))
        items = self._select(run.memory, question, rounded)
        return Recalled(
            asked=asked,
            memory_version=run.memory.number,
            items=tuple((item.id, item.text_digest, similarity) for item, similarity in items),
        )

    async def _checked(self, question: Check, asked: str) -> Checked:
        """By the domain's checker; where it has none, a learner's question is answered by the label."""
        if question.domain in CHECKERS or not question.subject or self.references is None:
            return checked(question, asked)
        grade = await self.references.grade(question)
        return Checked(asked=asked, outcome=grade.outcome, checker=grade.grader)

    async def during(self, work: Awaitable[R]) -> R:
        """Await some work, and close whatever comes of it."""
        try:
            return await work
        finally:
            await self.close()

    def _select(self, memory: Memory, question: Recall, query: tuple[float, ...]) -> list[Hit]:
        """By the plain rule; in a large memory through its mirror, which says the same sooner."""
        if len(memory.items) <= PLAIN_ITEMS:
            return select(memory, question, query)
        if self.mirrors is None:
            from state.mirror import Mirrors

            self.mirrors = Mirrors()
        return self.mirrors.select(memory, question, query)

    async def close(self) -> None:
        """Release what the backbones hold."""
        for backbone in set(self.backbones.values()):
            await backbone.close()


def capped(sampling: Sampling, max_tokens: int | None) -> Sampling:
    """The sampling with its cap on completion tokens lowered to what is reserved."""
    if max_tokens is None or max_tokens == sampling.max_tokens:
        return sampling
    return Sampling(
        sampling.temperature, sampling.top_p, max_tokens, sampling.stop, sampling.logprobs
    )


def checked(question: Check, asked: str) -> Checked:
    """What the domain's own checker says of an answer; unknown where the domain has none."""
    check = CHECKERS.get(question.domain)
    if check is None:
        return Checked(asked=asked, outcome="unknown", checker="none")
    grade = check(question.problem, question.answer)
    return Checked(asked=asked, outcome=grade.outcome, checker=grade.grader)


def completed(asked: str, reply: ModelReply) -> Completed:
    """A model's reply as an event, whatever it holds."""
    text, cut = normalise.text(reply.text)
    said: dict[str, Any] = {
        "asked": asked,
        "text": text,
        "finish": normalise.text(reply.finish, 40)[0],
        "model": normalise.text(reply.model, 200)[0],
        "attempts": reply.attempts,
        "prompt_tokens": normalise.count(reply.prompt_tokens),
        "completion_tokens": normalise.count(reply.completion_tokens),
        "seconds": normalise.amount(reply.seconds),
    }
    if reply.reasoning_tokens is not None:
        said["reasoning_tokens"] = normalise.count(reply.reasoning_tokens)
    if reply.cached_tokens is not None:
        said["cached_tokens"] = normalise.count(reply.cached_tokens)
    if reply.cost is not None:
        said["cost"] = normalise.amount(reply.cost)
    if reply.logprob is not None:
        said["logprob"] = normalise.finite(reply.logprob)
    if cut:
        said["truncated"] = True
    return Completed.trusted(said)
