"""The life of an episode: admitted, opened, answered, parked, closed; and the claims of its owners."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from schemas.events.base import Act, AnswerEvent, Event
from schemas.outcome import Outcome, Status
from schemas.price import Price
from schemas.problem import Limits, Problem
from schemas.usage import Embedding, Usage, total


class ProblemAdmitted(Event, frozen=True):
    """A problem was accepted for solving; it now has an episode."""

    kind: Literal["problem.admitted"] = "problem.admitted"
    problem: Problem
    scope: str
    partition: NonNegativeInt = 0
    offset: NonNegativeInt


class EpisodeOpened(Event, frozen=True):
    """A policy began to work; everything that its behaviour hangs on is pinned here."""

    kind: Literal["episode.opened"] = "episode.opened"
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


class Completed(AnswerEvent, frozen=True):
    """A model replied. Missing numbers are unknown, never zero."""

    act: ClassVar[Act] = "generated"
    kind: Literal["completed"] = "completed"
    text: str
    finish: str
    model: str
    attempts: NonNegativeInt = 1
    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None
    reasoning_tokens: NonNegativeInt | None = None
    cached_tokens: NonNegativeInt | None = None
    cost: NonNegativeFloat | None = None
    seconds: NonNegativeFloat | None = None
    truncated: bool | None = None
    logprob: float | None = None
    reused: bool | None = None
    """Whether a probe took it over from its parent, or from an edit: nothing was asked or paid."""

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


class Recalled(AnswerEvent, frozen=True):
    """What memory held: references into one memory version, never the texts."""

    act: ClassVar[Act] = "recalled"
    kind: Literal["recalled"] = "recalled"
    memory_version: NonNegativeInt
    items: tuple[tuple[str, str, float | None], ...]
    """Item id, digest of its text, similarity to the query."""
    took: Embedding | None = None
    """What an endpoint was asked for the query's vector, if one was."""


class Embedded(AnswerEvent, frozen=True):
    """Vectors of texts, little-endian float16 in base64, so that they are never computed again."""

    act: ClassVar[Act] = "recalled"
    kind: Literal["embedded"] = "embedded"
    embedder: str
    dimensions: NonNegativeInt
    vectors: tuple[str, ...]
    texts: tuple[str, ...] | None = None
    """Digest of what each is made of, where measures are to find theirs by it."""
    took: Embedding | None = None
    """What an endpoint was asked for them, if one was."""


class Checked(AnswerEvent, frozen=True):
    """A checker that needs the problem only looked at an answer."""

    act: ClassVar[Act] = "assessed"
    kind: Literal["checked"] = "checked"
    outcome: Outcome
    checker: str
    """Name and version; ``none`` where the domain has no checker."""
    credit: NonNegativeFloat | None = None
    """How much of the answer is right, where that was asked."""


class Forked(AnswerEvent, frozen=True):
    """Parallel branches were opened; what happens in lane k of the fork at 3 stands at 3.k.*."""

    act: ClassVar[Act] = "decided"
    kind: Literal["forked"] = "forked"
    lanes: NonNegativeInt
    allow: tuple[int, ...] | None = None
    twins: bool | None = None
    """Whether its lanes are asked under equal seeds."""


class LimitReached(AnswerEvent, frozen=True):
    """The question was not asked: a limit or allowance does not cover it."""

    act: ClassVar[Act] = "decided"
    kind: Literal["limit.reached"] = "limit.reached"
    which: Literal["calls", "tokens", "cost", "seconds"]


class QuestionAbandoned(AnswerEvent, frozen=True):
    """A learner's question was given up: its endpoint answered others and never this one."""

    act: ClassVar[Act] = "decided"
    kind: Literal["question.abandoned"] = "question.abandoned"
    reason: str


class EpisodeParked(Event, frozen=True):
    """An open episode cannot go on with this build; it waits for a person, and is not failed."""

    kind: Literal["episode.parked"] = "episode.parked"
    reason: str
    address: str | None = None


class EpisodeAdopted(Event, frozen=True):
    """A person let a parked episode go on, or took it out of its batch."""

    kind: Literal["episode.adopted"] = "episode.adopted"
    void: bool = False


class EpisodeClosed(Event, frozen=True):
    """An episode ended: with which answer, how sure, at what cost, and by what."""

    kind: Literal["episode.closed"] = "episode.closed"
    status: Status
    ended_by: str
    answer: str | None = None
    confidence: float | None = None
    """Raw, as the policy's source gives it."""
    confidence_source: str | None = None
    calibrated: float | None = None
    """The chance of being right by the calibrator of the pinned memory version; null until fitted."""
    usage: Usage
    items: tuple[str, ...] = ()
    """Ids of the memory items that were in its prompts."""


class PartitionClaimed(Event, frozen=True):
    """A worker took a partition; this record's offset is the epoch of its later appends."""

    kind: Literal["partition.claimed"] = "partition.claimed"
    worker: str


class TextKept(Event, frozen=True):
    """A text that many records refer to by its digest: a prompt's static part, resolved settings."""

    kind: Literal["text.kept"] = "text.kept"
    text: str
