"""Rewards of strategies: how many a judge gave, what they add up to, which strategies were used.

Source: Meta-Reasoner eq. (1), figure 3, table 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handlers.policies.meta_reasoner.measure import curve
from streams.research.analysis.cases import Case
from streams.research.analysis.mechanisms import REWARD, strategies
from streams.research.analysis.plots import Plot


def reward_figures(cases: Sequence[Case]) -> dict[str, Any] | None:
    """Rewards of a run's rounds with advice, in the order of its problems; unknown ones are counted, never added.

    What a first round earns is no strategy's.
    """
    found = REWARD.found(cases)
    # Unknown is not zero: a round whose reward nobody knows has no point on the curve.
    known = [unit.value for unit in found.units if unit.value is not None]
    if not found.units:
        return None
    return {
        "judged": found.known,
        "unknown": found.unknown,
        "mean_reward": found.value,
        "strategies": int(strategies(cases).value or 0),
        "cumulative_reward": [round(value, 6) for value in curve(known)],
    }


def reward_plot(runs: Mapping[str, Mapping[str, Any]]) -> Plot:
    """Cumulative reward by round, a line a run; empty where no run has any."""
    lines = {
        name: [
            [float(at), total] for at, total in enumerate(each["rewards"]["cumulative_reward"], 1)
        ]
        for name, each in runs.items()
        if "rewards" in each
    }
    return Plot("cumulative reward by round", lines, "round", "cumulative reward", dots=False)
