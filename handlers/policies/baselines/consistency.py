"""Self-consistency: several chains of thought put to the vote.

Source: MC² App. B.1 (CoT-SC); Wang et al. 2023. Stopping on agreement: Aggarwal et al. 2023 (Adaptive-Consistency).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.answers.alike import vote
from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.chain import ChainSettings, think
from handlers.policies.facts import by_vote, voted
from schemas.asking import All, Steps, Stopped
from schemas.questions import Sampling
from schemas.settings import Lanes


class VoteSettings(ChainSettings):
    """Settings of whoever puts chains to the vote."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    samples: Lanes = 5
    """How many chains vote."""


class ConsistencySettings(VoteSettings):
    """Settings of self-consistency."""

    later: ClassVar[frozenset[str]] = frozenset({"agree"})

    agree: PositiveInt | None = None
    """So many chains that agree end the vote before all are drawn; none: all are."""


def solve(task: Task, settings: ConsistencySettings) -> Steps[Conclusion]:
    """Equal prompts, told apart by their draws; confidence is the winner's share of all that were drawn."""
    sampling = Sampling(max_tokens=settings.output_cap)
    answers: list[str | None] = []
    limit = None
    while limit is None and (more := wanting(answers, task.problem, settings)) > 0:
        draws = range(len(answers), len(answers) + more)
        lanes = yield from All(think(task.stated, sampling, draw) for draw in draws)
        # A chain that a limit stopped counts in the vote without an answer, as one that
        # cannot be read does.
        answers += [None if isinstance(lane, Stopped) else lane.answer for lane in lanes]
        limit = next((lane.which for lane in lanes if isinstance(lane, Stopped)), None)
    found = voted(answers, task.problem)
    yield found
    return by_vote(found, limit)


def wanting(answers: Sequence[str | None], problem: str, settings: ConsistencySettings) -> int:
    """How many chains more are drawn at once: as many as it takes at least until enough of them agree."""
    left = settings.samples - len(answers)
    if settings.agree is None:
        return left
    # Fewer could not end the vote, so that no chain is drawn which one after another would have
    # been spared.
    return min(left, settings.agree - vote(answers, problem)[1])


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
