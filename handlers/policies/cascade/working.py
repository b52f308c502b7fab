"""One problem being worked on: its chains, what other arms answered, and how far the leading answer is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.answers.alike import alike, kinds
from handlers.learning.bandits import Bandit
from handlers.learning.cascade import chance_of_lead, joined, known_arms, reliability
from handlers.learning.votes import gain, to_turn
from handlers.policies.base import Task
from handlers.policies.cascade.settings import MEANS, STRONG, ArmName, CascadeSettings, constants
from schemas.events.cascade import AnswerWeighed
from schemas.questions import Complete, Completion, RecalledItem


@dataclass(frozen=True, slots=True)
class Attempt:
    """A chain or another trajectory: its answer and its text."""

    answer: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """The answer that an arm other than more chains stands for."""

    arm: ArmName
    answer: str


@dataclass(frozen=True, slots=True)
class Lead:
    """The leading answer: its chance of being right, and how the chains voted."""

    answer: str | None
    chance: float
    votes: int
    runner_up: int
    of: int


@dataclass(slots=True)
class Spending:
    """What replies took, counted in whole numbers: lanes end in any order, and the sum must not hang on it."""

    settings: CascadeSettings
    calls: int = 0
    tokens: int = 0
    """Of the cheap model; a reply whose tokens nobody counted is taken for an average call."""
    strong_tokens: int = 0

    def see(self, address: str, request: object, reply: object) -> None:
        """Count a model's reply; nothing else is paid for."""
        if isinstance(request, Complete) and isinstance(reply, Completion):
            took = self.settings.call_tokens if reply.tokens is None else reply.tokens
            self.calls += 1
            if request.role == STRONG:
                self.strong_tokens += took
            else:
                self.tokens += took

    @property
    def cost(self) -> float:
        """All of it, in calls of the cheap model."""
        if self.settings.price == "calls":
            return float(self.calls)
        dear = self.settings.strong_price if self.settings.price == "money" else 1.0
        return (self.tokens + dear * self.strong_tokens) / self.settings.call_tokens


@dataclass(slots=True)
class Work:
    """What a cascade knows of its problem so far."""

    task: Task
    settings: CascadeSettings
    learned: Mapping[str, Any]
    difficulty: float
    spending: Spending
    guidance: tuple[RecalledItem, ...] = ()
    """What a guided chain would be given: rules or principles of another scope, then lessons, nearest first."""
    chains: list[Attempt] = field(default_factory=list[Attempt])
    opinions: list[Opinion] = field(default_factory=list[Opinion])
    tried: set[ArmName] = field(default_factory=set["ArmName"])
    paid: float = 0.0
    """What had been spent at the last weighing, in calls of the cheap model."""
    rounds: int = 0
    lead: Lead = field(default_factory=lambda: Lead(None, 0.0, 0, 0, 0))

    @property
    def bandit(self) -> Bandit:
        """The arms as the scope's memory version knows them."""
        # Its own pulls are not folded in, for what one gained is known only once its
        # answers were graded, after the episode.
        pinned = constants(self.settings)
        return Bandit(known_arms(self.learned, pinned), pinned)

    @property
    def leading(self) -> Attempt | None:
        """The first trajectory that comes to the leading answer."""
        said = self.lead.answer
        return next(
            (each for each in self.chains if alike(each.answer, said, self.task.problem)), None
        )

    def spelt(self, answer: str | None) -> str | None:
        """An answer as it was spelled first by whoever gave it: options are one by letter and by text."""
        given = (*(each.answer for each in self.chains), *(each.answer for each in self.opinions))
        return next((each for each in given if alike(each, answer, self.task.problem)), answer)

    def weigh(self) -> Lead:
        """The vote of all chains, and then each opinion, as independent witnesses."""
        # Made anew each time, in the order in which opinions came: more chains change the vote that
        # every opinion is held against.
        lead = self._vote()
        answer, chance = lead.answer, lead.chance
        for opinion in self.opinions:
            weight = self.settings.prior_weight
            trust = reliability(self.learned, opinion.arm, MEANS[opinion.arm].trust, weight)
            if answer is None:
                answer, chance = opinion.answer, trust
                continue
            agrees = alike(answer, opinion.answer, self.task.problem)
            ours, theirs = joined(chance, trust, agrees=agrees)
            answer, chance = (opinion.answer, theirs) if theirs > ours else (answer, ours)
        self.lead = Lead(answer, chance, lead.votes, lead.runner_up, lead.of)
        return self.lead

    def _vote(self) -> Lead:
        # Chains without an answer are no candidates but count among all: they speak
        # against whoever leads.
        given = [chain.answer for chain in self.chains if chain.answer is not None]
        votes: dict[str, list[str]] = {}
        for answer, kind in zip(given, kinds(given, self.task.problem), strict=True):
            votes.setdefault(kind, []).append(answer)
        # Equal votes go to the answer that came first: the order of a stable sort.
        ranked = sorted(votes.values(), key=len, reverse=True)
        first = ranked[0] if ranked else []
        counts = (len(first), len(ranked[1]) if len(ranked) > 1 else 0, len(self.chains))
        chance = chance_of_lead(
            self.learned, *counts, 1 - self.difficulty, self.settings.prior_weight
        )
        return Lead(first[0] if first else None, chance, *counts)

    @property
    def margin(self) -> int:
        """By how many votes the leading answer of the chains leads."""
        return self.lead.votes - self.lead.runner_up

    @property
    def to_turn(self) -> int:
        """The fewest chains more by which another answer could lead them."""
        return to_turn(self.lead.votes, self.lead.runner_up)

    @property
    def raises(self) -> float:
        """What so many chains more are expected to add to the chance of whichever answer leads then."""
        lead = self.lead
        return gain(lead.votes, lead.runner_up, lead.of, 1 - self.difficulty)

    def context(self) -> tuple[float, ...]:
        """What the choice of an arm hangs on: doubt, difficulty, disagreement, and what a call costs here."""
        lead = self.lead
        price = self.spending.cost / self.spending.calls if self.spending.calls else 1.0
        against = lead.runner_up / lead.of if lead.of else 0.0
        return tuple(
            round(each, 6) for each in (1.0, 1 - lead.chance, self.difficulty, against, price)
        )

    def stated(self, arm: ArmName | None, came: str | None) -> AnswerWeighed:
        """The weighing after an arm, or after the first chains, as a fact."""
        lead = self.weigh()
        fact = AnswerWeighed(
            round=self.rounds,
            arm=arm,
            came=self.spelt(came),
            answer=self.spelt(lead.answer),
            chance=round(lead.chance, 6),
            votes=lead.votes,
            runner_up=lead.runner_up,
            of=max(1, lead.of),
            spent=round(self.spending.cost - self.paid, 6),
            context=self.context(),
        )
        self.paid, self.rounds = self.spending.cost, self.rounds + 1
        return fact
