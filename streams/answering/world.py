"""The world routes each question to whoever can answer it, and normalises what comes back.

Theory of operation. The driver asks the world only what its record does not hold. ``Complete`` goes to the
backbone of its role, by way of a ``Caller`` that keeps the worker's totals and the patience with endpoints;
``Recall`` and ``Embed`` go to the embedder and the pinned memory, ``Worth`` to a checker or to the label,
``UseTool`` to the tools, ``Review`` to people, for whom an episode waits. Whatever comes back is normalised, so
that something can always be recorded.

Errors never become outcomes here. A broken set-up (``BackboneError``), a worker that stops (``Draining``)
and a question that is given up (``Stuck``) leave the episode open; only a learner's question that is given
up is answered, by ``QuestionAbandoned``, since its whole scope would wait otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import structs

from handlers.answers.grade import CHECKERS, Grade
from handlers.learning.recall import select
from handlers.limits import Reservation
from handlers.policies.base import Around
from schemas.asking import Ask, ReplayError
from schemas.events.base import AnswerEvent
from schemas.events.episode import (
    Checked,
    Completed,
    Embedded,
    QuestionAbandoned,
    Recalled,
    ReviewAnswered,
)
from schemas.identity import call_seed, text_digest
from schemas.outcome import Heard
from schemas.price import Price
from schemas.problem import ID_CHARS, Feedback, Limits
from schemas.questions import (
    GUIDANCE,
    Complete,
    Credit,
    Embed,
    Recall,
    Review,
    Sampling,
    UseTool,
    Worth,
)
from schemas.usage import add
from schemas.vectors import pack, unpack
from streams.answering.backbones.prices import price_for
from streams.answering.backbones.shape import description
from streams.answering.budgets import Budgets
from streams.answering.calls import Caller, Draining, Totals, why
from streams.answering.embedders.agreement import (
    embedder_of,
    need_its_embedder,
    need_its_width,
)
from streams.answering.embedders.port import Billing, Embedder
from streams.answering.retries import Patience
from streams.answering.tools import NO_TOOLS, Tools, called
from streams.core import normalise
from streams.core.backbone import (
    Backbone,
    BackboneError,
    Endpoint,
    ModelReply,
    ModelRequest,
    NotRecorded,
    SetupBroken,
    Stuck,
)
from streams.core.defects import describe
from streams.core.drive import Paused, Run, Waiting
from streams.core.grants import SIMULATED, Grant, Lacking, Terms
from streams.core.seeds import is_used, seed_address

if TYPE_CHECKING:
    from state.mirror import Mirrors
    from streams.answering.embedders.choosing import Embedders

PLAIN_ITEMS = 64
"""Up to so many memory items are recalled without the mirror, and without loading NumPy."""

R = TypeVar("R")

_log = logging.getLogger(__name__)


class References(Protocol):
    """Labels of problems, for learners: whoever solves is never told what they say."""

    async def grade(self, question: Worth[Any]) -> Grade:
        """Grade an answer by the problem's label."""
        ...


class People(Protocol):
    """People who answer what policies ask them."""

    def reply(self, episode: str, address: str) -> Feedback | None:
        """What one of them said to the question of an episode at an address; nothing yet."""
        ...


class World:
    """Backbones by role (``*`` for the rest), one embedder, and memory as each run pins it.

    Of those that are ``offered``, by name, a problem may choose one: it answers in the place of ``*``.
    With ``patient`` an unreachable endpoint is asked again until it answers; without, ``Unreachable``
    is raised. After ``drain`` every new question raises ``Draining``.
    """

    def __init__(
        self,
        backbones: Mapping[str, Backbone],
        embedder: Embedder,
        *,
        offered: Mapping[str, Backbone] | None = None,
        patient: bool = True,
        totals: Totals | None = None,
        prices: Mapping[str, Price] | None = None,
        price_list: str | None = None,
        limits: Limits | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.backbones, self.embedder = dict(backbones), embedder
        self.offered = dict(offered or {})
        self.embedders: Embedders | None = None
        """Embedders of memories that were made with another one, unless somebody chose the embedder."""
        self.caller = Caller(
            patient=patient,
            totals=totals,
            prices=prices or {},
            patience=patience or Patience(),
        )
        self.grant = granted(self.backbones, prices or {}, limits or Limits(), price_list)
        """The limits and prices with which episodes are opened."""
        self.simulated = any(each.simulated for each in self.backbones.values())
        """Whether any role is answered by no model, where nobody chose another backbone."""
        self.description = described(self.backbones)
        """Which backbone answers which role, for people."""
        # What follows is set by whoever runs the world, where he has it; the world works without
        # any of it.
        self.mirrors: Mirrors | None = None
        self.tools: Tools = NO_TOOLS
        self.references: References | None = None
        self.budgets: Budgets | None = None
        """Budgets of tenants; without any nobody is held back."""
        self.people: People | None = None
        """Who may be asked; without anybody each question to a person is answered at once, by nobody."""

    @property
    def around(self) -> Around:
        """What the usual settings of a policy may hang on."""
        own = tuple(sorted(self.backbones.keys() - {"*"}))
        offered = {name: self.granted(name).prices.get("*") for name in self.offered}
        return Around(self.tools is not NO_TOOLS, own, self.grant.prices, offered)

    @property
    def models(self) -> tuple[Backbone, ...]:
        """All who may be asked, in whatever role."""
        return *self.backbones.values(), *self.offered.values()

    def cast(self, name: str | None) -> dict[str, Backbone]:
        """Who answers which role where a problem chose one of those that are offered. Raises ``Lacking``."""
        if name is None:
            return self.backbones
        if name not in self.offered:
            raise Lacking("offer", name, "a problem names a backbone that is not offered here")
        return self.backbones | {"*": self.offered[name]}

    def terms(self, name: str | None) -> Terms:
        """Who answers a problem that chose one, its limits and prices. Raises ``Lacking`` where it is not offered."""
        if name is None:
            return Terms(self.description, self.grant)
        return Terms(described(self.cast(name)), self.granted(name))

    def granted(self, name: str) -> Grant:
        """The limits and prices where a problem chose one of those that are offered."""
        own = self.grant
        return granted(self.cast(name), self.caller.prices, own.limits, own.price_list)

    @property
    def draining(self) -> bool:
        """Whether nothing new is asked; setting it also lets go of calls that only wait."""
        return self.caller.draining

    @draining.setter
    def draining(self, value: bool) -> None:
        """Stop, or ask again."""
        self.caller.draining = value
        if value:
            self.caller.drain(self._asked)

    def watch(self, look: Callable[[], object]) -> None:
        """Call ``look`` before each question goes out to an endpoint; it may set ``draining``."""
        for each in self._asked:
            if isinstance(each, Endpoint):
                each.watch(look)

    @property
    def exhausted(self) -> str | None:
        """The total that is spent, once one is."""
        return self.caller.exhausted

    @property
    def calls_begun(self) -> int:
        """Calls that were begun, whatever came of them."""
        return self.caller.calls_begun

    def why(self) -> list[str]:
        """Reasons why calls wait, one for each endpoint and model, for those who watch."""
        return why(self._asked)

    @property
    def _asked(self) -> tuple[object, ...]:
        """Everything that questions go to."""
        return *self.models, self.embedder

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The answer to record. Raises ``SetupBroken``, ``Draining``, or ``Unreachable`` if impatient.

        Raises ``Stuck`` where a question is given up whose episode can be parked. An error that nobody
        foresaw is never the problem's: a backbone's is a broken set-up, another's gives up the question.
        """
        if self.caller.draining:
            raise Draining
        try:
            if isinstance(question, Complete):
                return await self._completed(run, question, asked, address, reserved)
            if isinstance(question, Review):
                return self._reviewed(run, asked, address)
            try:
                return await self._answered(run, question, asked)
            except (BackboneError, Paused, ReplayError):
                raise
            except Exception as error:
                raise Stuck(f"{type(question).__name__}: {describe(error)}") from error
        except Stuck as stuck:
            # A problem's episode can be parked until a person has looked. A learner's has its whole
            # scope behind it, so its question is answered by the news that nobody answers it.
            if run.topic == "events":
                raise
            return QuestionAbandoned(asked=asked, reason=normalise.text(str(stuck), 500)[0])

    async def _completed(
        self, run: Run, question: Complete, asked: str, address: str, reserved: Reservation
    ) -> Completed:
        """Return the reply as it is recorded. Raises ``OutOfBudget`` where its tenant has spent too much."""
        template, cast = question.template, self.cast(run.backbone)
        backbone = cast.get(question.role) or cast["*"]
        request = ModelRequest(
            question.messages(),
            capped(question.sampling, reserved.max_tokens),
            # Twins draw under one seed, so that nothing but what they are told sets them apart.
            call_seed(run.seed, seed_address(run.journal, address)),
            question.draw,
            None if run.in_text else template.schema,
            template.form(question.variables),
            is_used(run, question, asked, address),
            template.tools,
        )
        if self.budgets is None:
            reply = await self._called(backbone, request, run)
            if reply.too_long:
                reply = await self._shortened(backbone, request, question, run, reply)
            return normalise.completed(asked, reply)
        # Booked while the call still counts as open: between the two another call of the same tenant
        # would find neither, and go out beyond the budget.
        with self.budgets.call(run.episode) as tenant:
            reply = await self._called(backbone, request, run)
            if reply.too_long:
                reply = await self._shortened(backbone, request, question, run, reply)
            said = normalise.completed(asked, reply)
            self.budgets.book(tenant, said)
        return said

    async def _called(self, backbone: Backbone, request: ModelRequest, run: Run) -> ModelReply:
        """The reply. Raises ``Lacking`` where a backbone that only this problem chose cannot be asked."""
        try:
            return await self.caller.call(backbone, request, run.episode)
        except (SetupBroken, NotRecorded) as error:
            # Who asked for a model that cannot be asked must not stop those who did not.
            if run.backbone is None or backbone in self.backbones.values():
                raise
            if isinstance(error, SetupBroken):
                raise Lacking(error.code, error.where, error.detail) from error
            raise Lacking("not_recorded", backbone.name, str(error)) from error

    async def _shortened(
        self,
        backbone: Backbone,
        request: ModelRequest,
        question: Complete,
        run: Run,
        reply: ModelReply,
    ) -> ModelReply:
        """Ask once more without the guidance, where the prompt was too long for the model."""
        # What was learned made the prompt so long, and the problem must not be lost for its own
        # guidance. Only a refusal by length is put again: any other would be refused again.
        shorter = question.unguided()
        if shorter is None:
            return reply
        _log.warning(
            "%s: a prompt is too long, and asked again without its guidance", backbone.name
        )
        again = await self._called(backbone, structs.replace(request, messages=shorter), run)
        return replace(
            again,
            attempts=reply.attempts + again.attempts,
            # An attempt before the refusal that may have been charged leaves the cost of both unknown.
            cost=again.cost if reply.free else None,
            seconds=add(reply.seconds, again.seconds),
            dropped=(*again.dropped, GUIDANCE),
        )

    def _reviewed(self, run: Run, asked: str, address: str) -> ReviewAnswered:
        """What a person said. Raises ``Waiting`` until he has. Only a problem's own episode waits for one."""
        if self.people is None or not run.episode.startswith("p/"):
            return ReviewAnswered(asked=asked, result="nobody")
        said = self.people.reply(run.episode, address)
        if said is None:
            raise Waiting(f"{run.episode} waits for a person at {address}")
        return answered(said, asked)

    async def _answered(self, run: Run, question: Ask[Any], asked: str) -> AnswerEvent:
        """Answer a question to memory, the embedder, checkers or tools."""
        match question:
            case Recall() | Embed():
                return await self._embedded(run, question, asked)
            case Worth():
                # Where the domain has no checker a learner may be told what the label says; who solves
                # never is, not even by a yes or no.
                if question.domain in CHECKERS or not question.subject or self.references is None:
                    return checked(question, asked)
                return graded(question, asked, await self.references.grade(question))
            case UseTool():
                return await called(self.tools, question, asked)
            case _:
                raise TypeError(f"nobody here answers a {type(question).__name__}")

    async def _embedded(
        self, run: Run, question: Recall | Embed, asked: str
    ) -> Recalled | Embedded:
        """Answer a question that takes vectors, by the embedder that made those of the run's memory."""
        embedder = self.embedder
        if self.embedders is not None:  # nobody chose one for all memories
            embedder = self.embedders.of(embedder_of(run))
        need_its_embedder(run, question, embedder.name)
        texts = (question.query,) if isinstance(question, Recall) else question.texts
        vectors = await self.caller.told(partial(embedder.embed, texts), run.episode)
        bill = embedder.bill(texts) if isinstance(embedder, Billing) else None
        took = None if bill is None else self.caller.billed(embedder.name, bill, texts)
        if vectors:
            need_its_width(run, embedder.name, len(vectors[0]))
        if isinstance(question, Embed):
            return Embedded(
                asked=asked,
                embedder=embedder.name,
                dimensions=embedder.dimensions,
                vectors=tuple(pack(vector) for vector in vectors),
                texts=tuple(map(text_digest, texts)) if question.named else None,
                took=took,
            )
        # Rounded to what a log keeps: a replay has only that, and must find the same items by it.
        query = tuple(unpack(pack(vectors[0])))
        if len(run.memory.items) <= PLAIN_ITEMS:
            items = select(run.memory, question, query)
        else:  # a mirror gives the same sooner; to load it takes longer than a small memory is worth
            if self.mirrors is None:
                from state.mirror import Mirrors

                self.mirrors = Mirrors()
            items = self.mirrors.select(run.memory, question, query)
        return Recalled(
            asked=asked,
            memory_version=run.memory.number,
            items=tuple((item.id, item.text_digest, similarity) for item, similarity in items),
            took=took,
        )

    async def during(self, work: Awaitable[R]) -> R:
        """Await some work, and close whatever comes of it."""
        try:
            return await work
        finally:
            await self.close()

    async def close(self) -> None:
        """Release what the backbones, the embedder and tools hold."""
        # One backbone may answer several roles, and is closed once.
        for backbone in set(self.models):
            await backbone.close()
        await self.embedder.close()
        if self.embedders is not None:
            await self.embedders.close()
        await self.tools.close()


def granted(
    cast: Mapping[str, Backbone], prices: Mapping[str, Price], limits: Limits, listed: str | None
) -> Grant:
    """The grant under which these answer, at the prices that are known of them."""
    priced = {role: price_for(prices, each.name) for role, each in cast.items()}
    return Grant(
        limits=limits,
        prices={role: price for role, price in priced.items() if price is not None},
        unpriced=tuple(cast[role].name for role in priced if priced[role] is None),
        price_list=listed,
    )


def described(cast: Mapping[str, Backbone]) -> str:
    """Which backbone answers which role, as records and people are told."""
    named = (
        (f"{role}=" if role != "*" else "") + description(backbone)
        for role, backbone in sorted(cast.items())
    )
    simulated = any(backbone.simulated for backbone in cast.values())
    return ", ".join(named) + (f" ({SIMULATED})" if simulated else "")


def answered(said: Feedback, asked: str) -> ReviewAnswered:
    """What a person said to a question, as its answer."""
    # What people write goes on the record like what models write: normalised, and never longer than
    # that bears.
    result: Heard = "passed" if said.passed else "answered"
    reference = None if said.reference is None else normalise.text(str(said.reference))[0]
    by = normalise.text(said.by, ID_CHARS)[0]
    return ReviewAnswered(asked=asked, result=result, answer=reference, verdict=said.verdict, by=by)


def capped(sampling: Sampling, max_tokens: int | None) -> Sampling:
    """The sampling with its cap on completion tokens lowered to what is reserved."""
    if max_tokens is None or max_tokens == sampling.max_tokens:
        return sampling
    return replace(sampling, max_tokens=max_tokens)


def checked(question: Worth[Any], asked: str) -> Checked:
    """Grade an answer by the domain's own checker; the outcome is unknown where the domain has none."""
    check = CHECKERS.get(question.domain)
    if check is None:
        return Checked(asked=asked, outcome="unknown", checker="none")
    return graded(question, asked, check(question.problem, question.answer))


def graded(question: Worth[Any], asked: str, grade: Grade) -> Checked:
    """A grade as the question's answer."""
    credit = grade.credit if isinstance(question, Credit) else None
    return Checked(asked=asked, outcome=grade.outcome, checker=grade.grader, credit=credit)


__all__ = ["Draining", "References", "Totals", "World", "answered", "capped", "checked"]
