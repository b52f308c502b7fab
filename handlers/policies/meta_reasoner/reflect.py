"""What an episode leaves to its scope: proposals, and for each pull arm, context, reward, rating.

Source: Meta-Reasoner, Algorithm 1 line 17; our page (Learning).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from handlers.policies.base import Conclusion, Trace
from handlers.policies.meta_reasoner.advise import DIAGNOSIS
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from handlers.roles.form import Unreadable
from handlers.roles.meta_reasoner import META_REASONER
from schemas.events.episode import Embedded
from schemas.events.strategy import RewardJudged, StrategyChosen, StrategyProposed


@dataclass
class Reading:
    """The record so far: what a coming fact refers to."""

    trace: Trace
    settings: MetaReasonerSettings
    embedded: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """First vectors of the embeddings since the last reward, each with its address."""
    proposals: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    pulls: list[list[Any]] = field(default_factory=list[list[Any]])
    contexts: list[str] = field(default_factory=list[str])
    """Where the context of each pull was embedded."""
    rewards: list[list[Any]] = field(default_factory=list[list[Any]])
    chosen: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, trace: Trace, settings: MetaReasonerSettings) -> Self:
        """The whole record."""
        reading = cls(trace, settings)
        for address, event in trace.events:
            reading.feed(address, event)
        return reading

    def feed(self, address: str, event: object) -> None:
        """Take one record."""
        match event:
            case Embedded():
                self.embedded.append((event.vectors[0], address))
            case StrategyProposed(result="added"):
                self.proposals.append(self._proposal(event))
            case StrategyChosen(arm=str(arm)):
                self.chosen.append(arm)
            case RewardJudged():
                self._reward(event)
            case _:
                pass

    def _proposal(self, event: StrategyProposed) -> dict[str, Any]:
        values = META_REASONER.read(self.trace.text(event.source))
        action = "" if isinstance(values, Unreadable) else str(values["Action"])
        return {
            "id": event.arm,
            "when": DIAGNOSIS,
            "text": action,
            "parent": event.parent,
            "vector": self.embedded[-1][0],
        }

    def _reward(self, event: RewardJudged) -> None:
        self.rewards.append([event.round, event.reward])
        reward, progress = event.reward, event.progress
        if event.arm is not None and self.embedded and reward is not None and progress is not None:
            on_progress = self.settings.retire_on == "progress" and self.settings.reward == "A"
            rated = progress if on_progress else reward
            context, address = self.embedded[0]
            self.pulls.append([event.arm, context, reward, rated])
            self.contexts.append(address)
        self.embedded.clear()


def reflect(trace: Trace, conclusion: Conclusion, settings: MetaReasonerSettings) -> dict[str, Any]:
    """Rewards of every round; pulls and proposals only where the bandit chose and may learn."""
    reading = Reading.of(trace, settings)
    summary: dict[str, Any] = {"rewards": reading.rewards, "chosen": reading.chosen}
    if _learns(settings):
        added = [p for p in reading.proposals if p["text"]]
        summary |= {"proposals": added, "pulls": reading.pulls}
    return summary


def measured_texts(trace: Trace, settings: MetaReasonerSettings) -> tuple[str, ...]:
    """What the contexts of the pulls are made of: reports, or the steps so far."""
    if not _learns(settings):
        return ()
    contexts = Reading.of(trace, settings).contexts
    known = all(at in trace.embedded for at in contexts)
    return tuple(trace.embedded[at][0] for at in contexts) if known else ()


def _learns(settings: MetaReasonerSettings) -> bool:
    return settings.choice == "linucb" and settings.updates == "on"
