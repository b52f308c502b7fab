"""Self-consistency: several chains of thought put to the vote.

Source: MC² App. B.1 (CoT-SC); Wang et al. 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.chain import ChainSettings, think
from handlers.policies.facts import by_vote, voted
from schemas.asking import All, Steps, Stopped
from schemas.questions import Sampling
from schemas.settings import Lanes


class ConsistencySettings(ChainSettings):
    """Settings of self-consistency."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    samples: Lanes = 5
    """How many chains vote."""


def solve(task: Task, settings: ConsistencySettings) -> Steps[Conclusion]:
    """Equal prompts, told apart by their draws; confidence is the winner's share of all samples."""
    sampling = Sampling(max_tokens=settings.output_cap)
    lanes = yield from All(think(task.stated, sampling, draw) for draw in range(settings.samples))
    # A chain that a limit stopped counts in the vote without an answer, as one that
    # cannot be read does.
    answers = [None if isinstance(lane, Stopped) else lane.answer for lane in lanes]
    limit = next((lane.which for lane in lanes if isinstance(lane, Stopped)), None)
    found = voted(answers, task.problem)
    yield found
    return by_vote(found, limit)


SELF_CONSISTENCY = Policy(
    name="self_consistency",
    version="2",
    about="five chains of thought and a majority vote",
    settings=ConsistencySettings,
    roles=("reasoner",),
    solve=solve,
    most_calls=lambda settings: settings.samples,
    confidence_source="vote_share",
)
