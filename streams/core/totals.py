"""Sums over an episode's record, kept as it grows, so that its end need not read the whole record again. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.events.base import Event
from schemas.events.episode import Completed, Embedded, Recalled
from schemas.events.graph import ExperienceShown
from schemas.events.reasoning import KnowledgeOmitted, KnowledgeReached
from schemas.identity import address_order, is_numbered
from schemas.usage import Embedding, Usage, add, together


@dataclass(slots=True)
class EpisodeTotals:
    """Sums over the numbered records of an episode: the same in whatever order they come.

    The lanes of a live run mix as replies come, those of a replay follow each other. Unknown is not zero:
    a sum with an unknown part is unknown.
    """

    # Counts are added as they come. Whatever depends on an order (floats, lists of items) is kept
    # by address and put together at the end, in the order of addresses.
    calls: int = 0
    attempts: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    reasoning_tokens: int | None = 0
    cached_tokens: int | None = 0
    costs: dict[str, float] | None = field(default_factory=dict[str, float])
    """By address: a sum of floats depends on its order, so it is made at the end."""
    timed: bool = True
    """Whether every latency is known."""
    shown: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Memory items that were put before the model, by address."""
    spared: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Memory items that were held out, by address."""
    embedders: dict[str, str] = field(default_factory=dict[str, str])
    """What made vectors, by address."""
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Texts that were embedded, by address. No record holds them; only the driver of the policy knows them."""
    took: dict[str, Embedding] = field(default_factory=dict[str, Embedding])
    """What an endpoint charged for vectors, by address."""

    @classmethod
    def of(cls, journal: Mapping[str, Event]) -> EpisodeTotals:
        """The sums over a record that is there already."""
        tally = cls()
        for address, event in journal.items():
            if is_numbered(address):
                tally.take(address, event)
        return tally

    def take(self, address: str, event: Event) -> None:
        """One more record at a numbered address."""
        # By exact type: this runs for every record of every episode, and most of them
        # count for nothing.
        counted = _COUNTED.get(type(event))
        if counted is not None:
            counted(self, address, event)

    def usage(self, seconds: float) -> Usage:
        """The usage so far. ``seconds`` are those of the critical path, and unknown if any latency is."""
        costs = self.costs
        return Usage(
            calls=self.calls,
            attempts=self.attempts,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            reasoning_tokens=self.reasoning_tokens,
            cached_tokens=self.cached_tokens,
            cost=None if costs is None else sum((costs[at] for at in in_order(costs)), 0.0),
            seconds=seconds if self.timed else None,
            embedding=together(self.took[at] for at in in_order(self.took)),
        )

    def items(self) -> tuple[str, ...]:
        """Ids of the memory items that were in prompts, each once, in the order of their addresses."""
        return _each_once(self.shown)

    def held_out(self) -> tuple[str, ...]:
        """Ids of the memory items that were held out of prompts, in the same order."""
        return _each_once(self.spared)

    def embedder(self) -> str | None:
        """The embedder that made the first vectors, if there are any."""
        return next((self.embedders[at] for at in in_order(self.embedders)), None)

    def spent(self, address: str, reply: Completed) -> None:
        """A model's reply."""
        self.calls += 1
        self.attempts += reply.attempts
        self.prompt_tokens = add(self.prompt_tokens, reply.prompt_tokens)
        self.completion_tokens = add(self.completion_tokens, reply.completion_tokens)
        # Most endpoints tell neither, and what is unknown once stays so.
        if self.reasoning_tokens is not None:
            self.reasoning_tokens = add(self.reasoning_tokens, reply.reasoning_tokens)
        if self.cached_tokens is not None:
            self.cached_tokens = add(self.cached_tokens, reply.cached_tokens)
        if reply.seconds is None:
            self.timed = False
        if reply.cost is None:
            # For good: a sum that leaves one call out would pass for the price of all.
            self.costs = None
        elif self.costs is not None:
            self.costs[address] = reply.cost

    def showed(self, address: str, event: KnowledgeReached | ExperienceShown) -> None:
        """Memory items before the model."""
        self.shown[address] = event.items

    def held(self, address: str, event: KnowledgeOmitted) -> None:
        """Memory items that were kept from the model."""
        self.spared[address] = event.items

    def embedded(self, address: str, event: Embedded) -> None:
        """Vectors."""
        self.embedders[address] = event.embedder
        self.recalled(address, event)

    def recalled(self, address: str, event: Embedded | Recalled) -> None:
        """Count what vectors took, whether they were kept or not."""
        # Most embedders are of this machine and charge nothing; an absent bill is not one of zero.
        if event.took is not None:
            self.took[address] = event.took


def _each_once(items: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for at in in_order(items) for item in items[at]))


def in_order(addresses: Iterable[str]) -> list[str]:
    """Addresses in the order in which a policy comes to them."""
    return sorted(addresses, key=address_order)


_COUNTED: Mapping[type[Event], Callable[[EpisodeTotals, str, Any], None]] = {
    Completed: EpisodeTotals.spent,
    KnowledgeReached: EpisodeTotals.showed,
    ExperienceShown: EpisodeTotals.showed,
    KnowledgeOmitted: EpisodeTotals.held,
    Embedded: EpisodeTotals.embedded,
    Recalled: EpisodeTotals.recalled,
}
