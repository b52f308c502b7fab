"""Changes of a counterfactual, and a world that pays only for what follows from them.

Source: design/architecture.md#verbs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from handlers.limits import Reservation
from schemas.asking import Ask
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import Completed, Embedded, EpisodeOpened, LimitReached, Recalled
from schemas.identity import address_order, seed_of
from schemas.memory import Memory
from schemas.problem import Limits
from schemas.questions import Complete
from schemas.settings import BACKBONE, chosen
from streams.answering.world import World
from streams.core.drive import Run

NO_LIMITS = Limits()
"""The parent's own hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """From which address on an episode goes another way, and in what it differs."""

    at: str
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limits: Limits = NO_LIMITS
    policy: str | None = None
    edit: str | None = None
    """The reply at ``at``, as it might have been."""
    sample: int = 0
    """Which draw of what follows; 0 is asked under the parent's own seeds."""
    without: tuple[str, ...] = ()
    """Memory items that it does not know, by id."""
    purpose: str = "fork"

    def said(self, backbones: str) -> list[Any]:
        """Return everything that is changed, which names the fork."""
        extra: dict[str, Any] = {
            "policy": self.policy,
            "edit": self.edit,
            "sample": self.sample or None,
            "without": list(self.without) or None,
        }
        told = {name: value for name, value in extra.items() if value is not None}
        limits = self.limits.model_dump(exclude_none=True)
        return [backbones, dict(self.settings), limits, *([told] if told else [])]


def lacking(memory: Memory, without: tuple[str, ...] | None) -> Memory:
    """A memory version without some of its items."""
    if not without:
        return memory
    # Items are left out of the version that was pinned, and no other is learned: the question is
    # what this one was worth, all else alike.
    return replace(memory, items=tuple(item for item in memory.items if item.id not in without))


def as_chosen(world: World, settings: Mapping[str, Any]) -> dict[str, str]:
    """The backbone that an episode's problem chose, as a setting of what is compared with it, where it is offered."""
    name = chosen(settings)
    return {BACKBONE: name} if name is not None and name in world.offered else {}


# ── Which answers still hold ─────────────────────────────────────────────────────────────────

_NEXT = re.compile(r", (?=(?:[A-Za-z_][\w-]*=)?[a-z_]+[:(])")


def by_role(description: str) -> dict[str, str]:
    """Backbones by role (``*`` for the rest), from how an episode names them."""
    found: dict[str, str] = {}
    for part in _NEXT.split(description.removesuffix(" (SIMULATED)")):
        named = re.fullmatch(r"([A-Za-z_][\w-]*)=(.+)", part, re.DOTALL)
        found[named[1] if named else "*"] = named[2] if named else part
    return found


class Reusing:
    """A world that gives the parent's answer where address, question and who answers are unchanged."""

    def __init__(
        self,
        world: World,
        change: Change,
        was: EpisodeOpened,
        now: EpisodeOpened,
        parent: Mapping[str, Event],
    ) -> None:
        self.world, self.change, self.parent = world, change, parent
        self.was, self.now = by_role(was.backbones), by_role(now.backbones)

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The edited reply, the parent's answer, or the world's under this sample's seeds."""
        known = self.parent.get(address)
        if address == self.change.at and self.change.edit is not None:
            assert isinstance(known, Completed)
            return edited(known, asked, self.change.edit)
        if isinstance(known, AnswerEvent) and self._holds(question, asked, known, address):
            return reused(known)
        if self.change.sample:
            # The seed of the run changes and not the draw: two prompts that are equal within the
            # episode stay apart, as they were.
            seed = seed_of(run.seed, "sample", self.change.sample)
            run = replace(run, seed=seed, seeded=True)
        return await self.world.answer(run, question, asked, address, reserved)

    def _holds(self, question: Ask[Any], asked: str, known: AnswerEvent, address: str) -> bool:
        """Whether it would be answered the same: as to its question, role, embedder and memory."""
        if known.asked != asked:
            return False
        match known:
            case Completed():
                assert isinstance(question, Complete)
                later = address_order(address) >= address_order(self.change.at)
                if self.change.sample and later:
                    return False  # another draw was asked for, from the fork's place on
                was, now = (
                    named.get(question.role, named.get("*")) for named in (self.was, self.now)
                )
                return was == now
            case Recalled():
                return not self.change.without and self.change.policy is None
            case Embedded():
                return known.embedder == self.world.embedder.name
            case LimitReached():  # the driver has granted it now
                return False
            case _:
                return True


def reused(known: AnswerEvent) -> AnswerEvent:
    """The parent's answer; of a reply it is said that nobody was asked."""
    if isinstance(known, Completed):
        return structs.replace(known, reused=True)
    if isinstance(known, Embedded | Recalled) and known.took is not None:
        return structs.replace(known, took=None)
    return known


def edited(known: Completed, asked: str, text: str) -> Completed:
    """A reply in other words; what it cost stays, so that the rest has the same limit."""
    return structs.replace(
        known,
        asked=asked,
        text=text,
        model=f"{known.model}, edited",
        truncated=None,
        logprob=None,
        answer_logprob=None,
        reused=True,
    )
