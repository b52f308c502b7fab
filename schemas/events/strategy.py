"""Facts of strategies: what was reported, proposed, chosen by which scores, and what it brought.

Rounds are counted from 0, as everywhere on the log: the paper's t less 1.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from schemas.events.base import Act, Event
from schemas.events.reasoning import Parse
from schemas.struct import NonNegativeInt, always

Proposed: TypeAlias = Literal["added", "merged", "refused"]
"""What became of a proposal."""
How: TypeAlias = Literal["ucb", "explore", "warmup", "random", "direct", "perplexity", "matched"]
"""By what a strategy was chosen."""


class ProgressReported(Event, tag="progress.reported"):
    """The trajectory so far was condensed into a report (Meta-Reasoner, Algorithm 1 line 5)."""

    act: ClassVar[Act] = "assessed"
    round: NonNegativeInt
    """The last round that it covers."""
    source: str
    parse: Parse = always("ok")


class StrategyProposed(Event, tag="strategy.proposed"):
    """A new strategy came up: it joins the arms, is merged into one, or is refused (line 7)."""

    act: ClassVar[Act] = "generated"
    latest: ClassVar[tuple[str, ...]] = ("evicts",)
    round: NonNegativeInt
    result: Proposed
    arm: str | None = None
    """The new arm, or the one that it was merged into."""
    parent: str | None = None
    """The arm nearest to a new one: what it refines."""
    similarity: float | None = None
    """Its cosine to the nearest arm."""
    reason: str | None = None
    evicts: str | None = None
    """The arm that made room for it."""
    source: str
    parse: Parse = always("ok")


class StrategyChosen(Event, tag="strategy.chosen"):
    """A strategy was chosen for the next step (lines 8 and 9)."""

    act: ClassVar[Act] = "decided"
    round: NonNegativeInt
    """The round that it advises."""
    arm: str | None = None
    """None where the advice is free and no arm."""
    how: How
    scores: tuple[tuple[str, float], ...] = always(())
    """Every arm that competed with its score, by birth."""
    source: str | None = None
    """Address of the reply that chose or that is the advice, if one is."""


class RewardJudged(Event, tag="reward.judged"):
    """A judge's ratings of the trajectory and the reward made of them (line 15)."""

    act: ClassVar[Act] = "assessed"
    round: NonNegativeInt
    arm: str | None = None
    """The arm that the reward is credited to; none in the first round."""
    parts: tuple[tuple[str, float], ...] = always(())
    """The judge's own ratings by name."""
    progress: float | None = None
    """S_p; unknown if the judge could not be read."""
    reward: float | None = None
    differs: tuple[str, ...] = always(())
    """Values that the judge computed itself, otherwise than we; recorded, not used."""
    self_judged: bool = always(False)
    """Whether the model that judged is the model that made the step."""
    steps: NonNegativeInt
    source: str
    parse: Parse = always("ok")
