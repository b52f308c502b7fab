"""What an episode leaves to its scope: proposals, and for each pull arm, context, reward, rating.

Source: Meta-Reasoner, Algorithm 1 line 17; design/meta_reasoner.md#learning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from handlers.policies.base import Conclusion, Trace
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from handlers.policies.meta_reasoner.strategies import DIAGNOSIS
from handlers.roles.form import Unreadable, Values
from handlers.roles.meta_reasoner import GENERAL, META_REASONER
from schemas.events.episode import Embedded
from schemas.events.reasoning import Generated
from schemas.events.strategy import RewardJudged, StrategyChosen, StrategyProposed

# A pull is a context, an arm and a reward, and these stand in three facts of two rounds.
# They are put together here by order alone: facts hold no vectors, for these are on record
# once already, as answers.


@dataclass
class Reading:
    """The record so far: what a coming fact refers to."""

    trace: Trace
    settings: MetaReasonerSettings
    seen: tuple[str, str] | None = None
    """The vector of this round's report, and where it was embedded: x, which the choice rests on."""
    proposed: str | None = None
    """The vector of this round's proposal, which is embedded after the report."""
    credited: tuple[str, str] | None = None
    """x of the step that was made last: its reward is credited there."""
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
            case Embedded() if self.seen is None:
                self.seen = event.vectors[0], address
            case Embedded():
                self.proposed = event.vectors[0]
            case StrategyProposed(result="added"):
                read = META_REASONER.read(self.trace.text(event.source))
                values: Values = {} if isinstance(read, Unreadable) else read
                proposal = {
                    "id": event.arm,
                    "when": str(values.get("When") or DIAGNOSIS),
                    "text": str(values.get(GENERAL) or ""),
                    "parent": event.parent,
                    "vector": self.proposed,
                }
                self.proposals.append(proposal)
            case StrategyChosen(arm=str(arm)):
                self.chosen.append(arm)
            case Generated():
                # A step was made under the last choice: its reward belongs to the report before it.
                self.credited, self.seen, self.proposed = self.seen, None, None
            case RewardJudged():
                self._reward(event)
            case _:
                pass

    def _reward(self, event: RewardJudged) -> None:
        # The curve has every reward. A pull needs one that is known, and an arm that
        # was chosen for it.
        self.rewards.append([event.round, event.reward])
        reward, progress = event.reward, event.progress
        if event.arm is None or self.credited is None or reward is None or progress is None:
            return
        on_progress = self.settings.retire_on == "progress" and self.settings.reward == "A"
        rated = progress if on_progress else reward
        context, address = self.credited
        self.pulls.append([event.arm, context, reward, rated])
        self.contexts.append(address)


def reflect(trace: Trace, conclusion: Conclusion, settings: MetaReasonerSettings) -> dict[str, Any]:
    """Rewards of every round; pulls and proposals only where the bandit chose and may learn."""
    reading = Reading.of(trace, settings)
    summary: dict[str, Any] = {"rewards": reading.rewards, "chosen": reading.chosen}
    if settings.learns:
        added = [p for p in reading.proposals if p["text"] and p["vector"]]
        summary |= {"proposals": added, "pulls": reading.pulls}
    return summary


def measured_texts(trace: Trace, settings: MetaReasonerSettings) -> tuple[str, ...]:
    """What the contexts of the pulls are made of: reports, or the steps so far."""
    if not settings.learns:
        return ()
    # All or none: the texts are matched with the pulls by their order, and one that is
    # missing would shift it.
    contexts = Reading.of(trace, settings).contexts
    known = all(at in trace.embedded for at in contexts)
    return tuple(trace.embedded[at][0] for at in contexts) if known else ()
