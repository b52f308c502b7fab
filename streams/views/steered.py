"""Facts of strategies and of cascades in a few words."""

from __future__ import annotations

from schemas.events.base import Event
from schemas.events.cascade import AnswerWeighed, CandidatesGraded
from schemas.events.strategy import (
    ProgressReported,
    RewardJudged,
    StrategyChosen,
    StrategyProposed,
)
from streams.views.words import one_line, plural

SHOWN = 6
"""Scores that fit a line."""


def steered(fact: Event) -> tuple[str, str, str] | None:
    """Who, what and tone of a fact of strategies; none of any other."""
    match fact:
        case ProgressReported():
            mark = "" if fact.parse == "ok" else f" ({fact.parse})"
            return "reporter", f"reported on the work so far{mark}", "dim"
        case StrategyProposed(result="refused"):
            return "strategy", f"proposal refused: {fact.reason}", "dim"
        case StrategyProposed(result="merged"):
            similar = f"(cosine {fact.similarity or 0:.2f})"
            return "strategy", f"proposal is {fact.arm} {similar}", "note"
        case StrategyProposed():
            after = f", after {fact.parent}" if fact.parent else ""
            return "strategy", f"new arm {fact.arm}{after}", "note"
        case StrategyChosen():
            best = sorted(fact.scores, key=lambda score: -score[1])[:SHOWN]
            scores = " ".join(f"{arm} {score:.2f}" for arm, score in best)
            return "strategy", f"{fact.arm or 'free advice'} by {fact.how}   {scores}".rstrip(), ""
        # Unknown is not zero: a bandit learns nothing from a round without a reward.
        case RewardJudged(reward=None) | RewardJudged(progress=None):
            return "judge", "no ratings that can be read: the reward is unknown", "warn"
        case RewardJudged():
            whom = f" for {fact.arm}" if fact.arm else ""
            # The judge adds up its own ratings too; sums that differ from ours are shown, not used.
            odd = f"   its own {', '.join(fact.differs)} differs" if fact.differs else ""
            said = f"progress {fact.progress:.2f}, reward {fact.reward:.2f}{whom}{odd}"
            return "judge", said, ""
        case _:
            return None


def weighed(fact: Event) -> tuple[str, str, str] | None:
    """Who, what and tone of a fact of a cascade; none of any other."""
    match fact:
        case AnswerWeighed(answer=None):
            return "weighed", f"no answer yet, of {plural(fact.of, 'chain')}", "warn"
        case AnswerWeighed():
            against = f" against {fact.runner_up}" if fact.runner_up else ""
            came = f"; {fact.arm} says {one_line(fact.came)}" if fact.came is not None else ""
            # Votes beside the chance: it was made of them,
            # and of how often such votes were right before.
            votes = f"{fact.votes}{against} of {plural(fact.of, 'chain')}{came}"
            said = f"{one_line(fact.answer or '')}   chance {fact.chance:.2f}, {votes}"
            return "weighed", f"{said}, {fact.spent:.1f} calls' worth", ""
        case CandidatesGraded():
            right = sum(outcome == "right" for outcome in fact.outcomes)
            return (
                "graded",
                f"{right} of {plural(len(fact.outcomes), 'answer')} right, by {fact.by}",
                "",
            )
        case _:
            return None
