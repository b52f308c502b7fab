"""Figures that reports print beside the paper's: reward curves, strategies used, training samples.

Source: Meta-Reasoner eq. (1), figure 3; table 7 (unique strategies); App. B (training data).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from handlers.policies.base import Trace
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.identity import hash01


def rewards(trace: Trace) -> list[float]:
    """The rewards of an episode, round by round; an unknown one counts nothing."""
    judged = [event for _, event in trace.events if isinstance(event, RewardJudged)]
    return [event.reward or 0.0 for event in judged]


def curve(values: Iterable[float]) -> list[float]:
    """The cumulative reward R(1), …, R(T). Source: eq. (1)."""
    return list(accumulate(values))


def unique_strategies(traces: Iterable[Trace]) -> int:
    """Arms that were pulled at least once (table 7: #US)."""
    return len(
        {
            event.arm
            for trace in traces
            for _, event in trace.events
            if isinstance(event, StrategyChosen) and event.arm is not None
        }
    )


def training_sample(
    problems: Sequence[str], test: Iterable[str], count: int, seed: int
) -> list[str]:
    """So many problems drawn without replacement from those that are no test problem (App. B)."""
    kept = set(test)
    others = [problem for problem in dict.fromkeys(problems) if problem not in kept]
    return sorted(others, key=lambda problem: (hash01(seed, "training", problem), problem))[:count]
