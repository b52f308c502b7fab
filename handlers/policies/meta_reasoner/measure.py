"""Figures that reports print beside the paper's: reward curves, strategies used, training samples.

Source: Meta-Reasoner eq. (1), figure 3; table 7 (unique strategies); App. B (training data).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from handlers.learning.bandits import arms_of, folded, settled
from handlers.policies.base import Trace
from schemas.events.strategy import RewardJudged, StrategyProposed
from schemas.identity import hash01

# These figures are read off logs after a run; nothing in an episode or in learning hangs on them.


def rewards(trace: Trace) -> list[float]:
    """The rewards of an episode, round by round; an unknown one counts nothing."""
    judged = [event for _, event in trace.events if isinstance(event, RewardJudged)]
    return [event.reward or 0.0 for event in judged]


def curve(values: Iterable[float]) -> list[float]:
    """The cumulative reward R(1), …, R(T). Source: eq. (1)."""
    return list(accumulate(values))


Members: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]
"""The episodes of a batch, each with what it left to learn from."""


def meant(batches: Iterable[tuple[Members, Mapping[str, Any]]]) -> dict[str, dict[str, str]]:
    """For each episode the scope's arm that each arm it proposed became; the batches of a scope, in order.

    Episodes number what they propose from the arms that they know, so one number is several arms: an arm is
    what learning made of it. One that learning refused stays the episode's own.
    """
    # The scope's learning once more, from its first batch on: only the order of all of them tells
    # which proposal became an arm and which was taken for one that was there.
    found: dict[str, dict[str, str]] = {}
    arms = None
    for members, constants in batches:
        arms = arms_of({}, constants) if arms is None else arms
        for episode, summary in members:
            names = folded(arms, summary, constants)
            proposed = (proposal["id"] for proposal in summary.get("proposals", ()))
            found[episode] = {arm: names[arm] for arm in proposed if arm in names}
        arms = [settled(arm, constants) for arm in arms]
    return found


def own(episode: str, trace: Trace, known: Mapping[str, str]) -> dict[str, str]:
    """The arms that an episode added, by the names that they have over all episodes."""
    added = [
        event.arm
        for _, event in trace.events
        if isinstance(event, StrategyProposed) and event.result == "added" and event.arm is not None
    ]
    return {arm: known.get(arm, f"{arm} of {episode}") for arm in added}


def training_sample(
    problems: Sequence[str], test: Iterable[str], count: int, seed: int
) -> list[str]:
    """So many problems drawn without replacement from those that are no test problem (App. B)."""
    kept = set(test)
    others = [problem for problem in dict.fromkeys(problems) if problem not in kept]
    return sorted(others, key=lambda problem: (hash01(seed, "training", problem), problem))[:count]
