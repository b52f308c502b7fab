"""Facts of strategies in a few words."""

from __future__ import annotations

from schemas.events.base import Event
from schemas.events.strategy import (
    ProgressReported,
    RewardJudged,
    StrategyChosen,
    StrategyProposed,
)

SHOWN = 6
"""Scores that fit a line."""


def steered(fact: Event) -> tuple[str, str, str] | None:
    """Who, what and tone of a fact of strategies; none of any other."""
    match fact:
        case ProgressReported():
            mark = "" if fact.parse == "ok" else f" ({fact.parse})"
            return "reporter", f"reported on the work so far{mark}", "dim"
        case StrategyProposed():
            return "strategy", _proposed(fact), "dim" if fact.result == "refused" else "note"
        case StrategyChosen():
            best = sorted(fact.scores, key=lambda score: -score[1])[:SHOWN]
            scores = " ".join(f"{arm} {score:.2f}" for arm, score in best)
            return "strategy", f"{fact.arm or 'free advice'} by {fact.how}   {scores}".rstrip(), ""
        case RewardJudged():
            return "judge", *_judged(fact)
        case _:
            return None


def _proposed(fact: StrategyProposed) -> str:
    if fact.result == "refused":
        return f"proposal refused: {fact.reason}"
    if fact.result == "merged":
        return f"proposal is {fact.arm} (cosine {fact.similarity or 0:.2f})"
    return f"new arm {fact.arm}" + (f", after {fact.parent}" if fact.parent else "")


def _judged(fact: RewardJudged) -> tuple[str, str]:
    """Ratings, progress and reward, and what is odd about them."""
    if fact.reward is None or fact.progress is None:
        return "no ratings that can be read: the reward is unknown", "warn"
    whom = f" for {fact.arm}" if fact.arm else ""
    odd = f"   its own {', '.join(fact.differs)} differs" if fact.differs else ""
    return f"progress {fact.progress:.2f}, reward {fact.reward:.2f}{whom}{odd}", ""
