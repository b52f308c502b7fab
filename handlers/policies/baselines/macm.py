"""MACM: conditions are mined, judged one by one, and used once they suffice; the results vote.

After MACM, simplified: the executor computes in words, no code is run; a condition is judged once.

Source: Lei et al. 2024 (MACM), § 3; design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import NonNegativeInt, PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.facts import by_vote, generated, judged, voted
from handlers.policies.last_call import answering
from handlers.roles.role import Role, answer, choice, listed, text
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import Generated
from schemas.questions import Sampling
from schemas.settings import Lanes, PolicySettings

# Mining and judging are apart, so that nobody vouches for a condition that he found himself: its
# judge is asked in a call of its own, and is shown what is known.

MOST_NEW = 3
"""Conditions that one round may find."""

OPENER = Role.of(
    "thinker",
    """\
Take the problem below apart: list every condition that it states, one a line and in plain words, \
and say what its objective is. Infer nothing yet.""",
    sections=("Problem",),
    reply=(
        listed("Conditions", "conditions that the problem states"),
        text("Objective", "what is to be found"),
    ),
    template="macm.open",
)
MINER = Role.of(
    "thinker",
    """\
Known are the conditions below, each of which holds. Which new conditions follow from them that \
bring the objective nearer? Name a few, each with the conditions that it follows from, and none \
that is known already.""",
    sections=("Problem", "Objective", "Known conditions"),
    reply=[listed("New_conditions", "new conditions", most=MOST_NEW)],
    template="macm.mine",
)
CONDITION_JUDGE = Role.of(
    "judge",
    """\
Somebody claims that the new condition below follows from the known ones. Follow the claim step by \
step and compute everything in it again. Is it correct?""",
    sections=("Problem", "Known conditions", "New condition"),
    reply=(
        text("Reason", "why it holds or not", unless=("Correct", ("YES", "NO"))),
        choice("Correct", ("YES", "NO"), "whether it is correct"),
    ),
    template="macm.judge",
)
ENOUGH_JUDGE = Role.of(
    "judge",
    """\
Can the objective be reached from the known conditions alone, without finding any other first?""",
    sections=("Problem", "Objective", "Known conditions"),
    reply=[choice("Enough", ("YES", "NO"), "whether they are enough")],
    template="macm.enough",
)
EXECUTOR = Role.of(
    "executor",
    """\
Reach the objective from the known conditions: plan the way, then go it and compute with care.""",
    sections=("Problem", "Objective?", "Known conditions?"),
    reply=[answer()],
    template="macm.execute",
    mends=False,
)


class MacmSettings(PolicySettings):
    """Settings of MACM."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    mining_rounds: NonNegativeInt = 3
    """How often more is mined where it is not enough."""
    votes: Lanes = 3
    """Executions that vote."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""


@dataclass
class Mining:
    """What is known of one problem."""

    task: Task
    sampling: Sampling
    objective: str = ""
    known: list[str] = field(default_factory=list[str])

    def own(self, *names: str, **more: str) -> dict[str, str]:
        """The sections that a role is shown."""
        known = "\n".join(f"{at}. {condition}" for at, condition in enumerate(self.known, 1))
        every = {"objective": self.objective, "known_conditions": known}
        return {"problem": self.task.posed} | {name: every[name] for name in names} | more


def most_calls(settings: MacmSettings) -> int:
    """Each role asked twice but the executors: the opener, and in a round the miner and its judges."""
    return 2 * (1 + settings.mining_rounds * (1 + MOST_NEW + 1)) + settings.votes


def solve(task: Task, settings: MacmSettings) -> Steps[Conclusion]:
    """Open, mine until it is enough, execute several times, vote."""
    mining = Mining(task, Sampling(max_tokens=settings.output_cap))
    answers: list[str | None] = []
    limit: str | None = None
    try:
        said = yield from OPENER.put(mining.own(), sampling=mining.sampling)
        yield Generated(role="thinker", source=said.source, parse=said.parse)
        mining.known += said.items("Conditions")
        mining.objective = said.get("Objective") or "Answer the problem."
        for turn in range(settings.mining_rounds):
            if (yield from _mine(mining, turn)):
                break
        # Only who answers is shown the form of the answer; miners and judges see the bare problem.
        own = mining.own("objective", "known_conditions", problem=task.stated)
        for draw in range(settings.votes):
            said = yield from EXECUTOR.put(own, sampling=mining.sampling, draw=draw)
            yield generated(said, draw, "executor")
            answers.append(said.answer)
    except OutOfLimit as reached:
        limit = reached.which
    if not answers:  # the limit struck before anything was executed: there is no vote to state
        return Conclusion(answer=None, ended_by="limit", limit=limit)
    found = voted(answers, task.problem)
    yield found
    return by_vote(found, limit)


def _mine(mining: Mining, turn: int) -> Steps[bool]:
    """New conditions, judged one by one; whether they are enough now.

    Each that holds is known to the next one's judge.
    """
    own = mining.own("objective", "known_conditions")
    said = yield from MINER.put(own, sampling=mining.sampling, draw=turn)
    yield Generated(round=turn, role="thinker", source=said.source, parse=said.parse)
    for condition in said.items("New_conditions"):
        own = mining.own("known_conditions", new_condition=condition)
        heard = yield from CONDITION_JUDGE.put(own, sampling=mining.sampling, draw=turn)
        yield judged(heard, "Correct", turn)
        # A wrong condition spoils all that is built on it; a right one that was
        # refused is found again.
        if heard.get("Correct") == "YES":
            mining.known.append(condition)
    own = mining.own("objective", "known_conditions")
    heard = yield from ENOUGH_JUDGE.put(own, sampling=mining.sampling, draw=turn)
    yield judged(heard, "Enough", turn)
    return heard.get("Enough") == "YES"


MACM = Policy(
    name="macm",
    version="2",
    about="after MACM, simplified: conditions mined and judged one by one, then executions that vote",
    settings=MacmSettings,
    roles=("thinker", "judge", "executor", "reasoner"),
    solve=answering(solve),
    most_calls=most_calls,
    confidence_source="vote_share",
)
