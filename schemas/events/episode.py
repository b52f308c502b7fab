"""The life of an episode: admitted, opened, answered, parked, closed; and the claims of its owners."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import structs

from schemas.carried import Carried
from schemas.events.base import Act, AnswerEvent, Event
from schemas.outcome import Heard, Outcome, Status
from schemas.price import Price
from schemas.problem import Limits, Problem
from schemas.struct import NonNegativeFloat, NonNegativeInt, PositiveInt, always
from schemas.usage import Embedding, Usage, total


class ProblemAdmitted(Event, tag="problem.admitted"):
    """A problem was accepted for solving; it now has an episode."""

    problem: Problem
    scope: str
    partition: NonNegativeInt = always(0)
    offset: NonNegativeInt
    headers: Carried | None = None
    """What its application wants to find on the answer: names, and values with one character a byte."""


class EpisodeOpened(Event, tag="episode.opened"):
    """A policy began to work; everything that its behaviour hangs on is pinned here."""

    policy: str
    policy_version: str
    settings: str
    """Digest of the resolved settings, kept once per log."""
    limits: Limits
    seed: NonNegativeInt
    memory_version: NonNegativeInt
    memory_revision: PositiveInt | None = None
    """Which revision of it, where a problem was forgotten since: ``4.1``."""
    backbones: str
    """Which model answers which role, for people; ``(SIMULATED)`` where none does."""
    prices: dict[str, Price] | None = None
    """Prices by role, under a limit of cost: what is reserved hangs on them."""
    price_list: str | None = None
    """Name and date of the list that its calls were priced by, where one was given; it may lack a model."""
    parent: str | None = None
    """The episode that a probe or fork was taken from."""
    at: str | None = None
    """The address from which a fork goes its own way; the record before it is the parent's."""
    purpose: str | None = None
    without: tuple[str, ...] | None = None
    """Memory items that a probe of their effect does not know."""
    members: tuple[str, ...] | None = None
    """Of a set episode: the episodes that it works on together, in the order of their places."""
    within: str | None = None
    """The set episode that an episode is worked on in; its numbered records stand there."""


class Completed(AnswerEvent, tag="completed"):
    """A model replied. Missing numbers are unknown, never zero."""

    act: ClassVar[Act] = "generated"
    text: str
    finish: str
    model: str
    attempts: NonNegativeInt = always(1)
    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None
    reasoning_tokens: NonNegativeInt | None = None
    cached_tokens: NonNegativeInt | None = None
    cost: NonNegativeFloat | None = None
    seconds: NonNegativeFloat | None = None
    truncated: bool | None = None
    logprob: float | None = None
    token_logprobs: tuple[tuple[str, float], ...] | None = None
    """Each token with its log-probability, where its backbone keeps them: for training on what was said."""
    reused: bool | None = None
    """Whether a probe took it over from its parent, or from an edit: nothing was asked or paid."""
    thought: str | None = None
    """What the model thought before it replied, where its server tells that apart; no role reads it."""
    dropped: tuple[str, ...] | None = None
    """Parameters that the endpoint refuses: it was asked without them; ``guidance``: it was too long."""
    answer_logprob: float | None = None
    """Mean log-probability of the tokens of the answer that it marks; ``logprob`` is that of all tokens."""
    detail: str | None = None
    """What was said in the stead of a reply, by an endpoint that refused or a model without room for the prompt."""

    @property
    def calls(self) -> int:
        """One: a completion received."""
        return 1

    @property
    def tokens(self) -> int | None:
        """Prompt and completion tokens together, unknown if either is."""
        prompt, completion = self.prompt_tokens, self.completion_tokens
        return None if prompt is None or completion is None else prompt + completion

    @property
    def usage(self) -> Usage:
        """What this call spent."""
        return total((self,))


class Recalled(AnswerEvent, tag="recalled"):
    """What memory held: references into one memory version, never the texts."""

    act: ClassVar[Act] = "recalled"
    memory_version: NonNegativeInt
    items: tuple[tuple[str, str, float | None], ...]
    """Item id, digest of its text, similarity to the query."""
    took: Embedding | None = None
    """What an endpoint was asked for the query's vector, if one was."""


class Embedded(AnswerEvent, tag="embedded"):
    """Vectors of texts, little-endian float16 in base64, so that they are never computed again."""

    act: ClassVar[Act] = "recalled"
    embedder: str
    dimensions: NonNegativeInt
    vectors: tuple[str, ...]
    texts: tuple[str, ...] | None = None
    """Digest of what each is made of, where measures are to find theirs by it."""
    took: Embedding | None = None
    """What an endpoint was asked for them, if one was."""


class Checked(AnswerEvent, tag="checked"):
    """A checker that needs the problem only looked at an answer."""

    act: ClassVar[Act] = "assessed"
    outcome: Outcome
    checker: str
    """Name and version; ``none`` where the domain has no checker."""
    credit: NonNegativeFloat | None = None
    """How much of the answer is right, where that was asked."""


class Forked(AnswerEvent, tag="forked"):
    """Parallel branches were opened; what happens in lane k of the fork at 3 stands at 3.k.*."""

    act: ClassVar[Act] = "decided"
    lanes: NonNegativeInt
    allow: tuple[int, ...] | None = None
    twins: bool | None = None
    """Whether its lanes are asked under equal seeds."""


class LimitReached(AnswerEvent, tag="limit.reached"):
    """The question was not asked: a limit or allowance does not cover it."""

    act: ClassVar[Act] = "decided"
    which: Literal["calls", "tokens", "cost", "seconds"]


class QuestionAbandoned(AnswerEvent, tag="question.abandoned"):
    """A learner's question was given up: its endpoint answered others and never this one."""

    act: ClassVar[Act] = "decided"
    reason: str


class ReviewAnswered(AnswerEvent, tag="review.answered"):
    """A person answered a question that a policy put to him; or passed it, or there was nobody to ask."""

    act: ClassVar[Act] = "assessed"
    result: Heard
    answer: str | None = None
    """The answer that he gave himself."""
    verdict: bool | None = None
    """Whether the answer that was proposed is right, as he says."""
    by: str | None = None


class ReviewAsked(Event, tag="review.asked"):
    """A policy put a question to a person; its episode waits until somebody answers."""

    address: str
    """Where the policy asked, and where the answer will stand."""
    question: str
    proposed: str | None = None
    """The answer that he may call right or wrong."""


class EpisodeParked(Event, tag="episode.parked"):
    """An open episode cannot go on with this build; it waits for a person, and is not failed."""

    reason: str
    address: str | None = None


class EpisodeAdopted(Event, tag="episode.adopted"):
    """A person decided about an open episode: a parked one goes on, or one is taken out for good.

    Whoever takes out one that waits or runs cancels it.
    """

    void: bool = always(False)
    by: str | None = None
    """Who decided, where that is known."""
    reason: str | None = None
    """Why, in his words."""


class EpisodeClosed(Event, tag="episode.closed"):
    """An episode ended: with which answer, how sure, at what cost, and by what."""

    status: Status
    ended_by: str
    answer: str | None = None
    confidence: float | None = None
    """What the policy claimed, as its source gives it."""
    confidence_source: str | None = None
    calibrated: float | None = None
    """The chance of being right by the calibrator of the pinned memory version; null until fitted."""
    usage: Usage
    items: tuple[str, ...] = always(())
    """Ids of the memory items that were in its prompts."""
    stamps: str | None = None
    """Digest over the records before it: models, usage and times as they were written."""

    def told(self) -> dict[str, Any]:
        """Everything by name, unknown figures too."""
        said = structs.asdict(self) | {"usage": self.usage.told()}
        del said["version"], said["stamps"]
        return said


class PartitionClaimed(Event, tag="partition.claimed"):
    """A worker took a partition; this record's offset is the epoch of its later appends."""

    worker: str


class TextKept(Event, tag="text.kept"):
    """A text that many records refer to by its digest: a prompt's static part, resolved settings."""

    text: str
