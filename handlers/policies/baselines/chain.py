"""Chain of thought: one sample, of which only the final-answer field is read.

Source: MC² App. B.1 (CoT); Wei et al. 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.facts import generated
from handlers.roles.role import Role, RoleReply, answer
from schemas.asking import Steps
from schemas.questions import Sampling
from schemas.settings import PolicySettings

# The measure of everything else: whatever a method costs more than this call has to be
# earned. Other policies draw their plain chains with ``think`` too, so that their prompts are
# the same to the letter.

PROMPT = """\
Solve the problem below."""

CHAIN = Role.of(
    "reasoner",
    PROMPT,
    sections=("Problem",),
    reply=[answer()],
    template="chain",
    # One call and no more: asked again where it cannot be read, it would be compared at two.
    mends=False,
)


class ChainSettings(PolicySettings):
    """Settings of chain of thought."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    output_cap: PositiveInt | None = 8_192
    """Tokens that one reply may take; none: the endpoint's own limit."""


def think(problem: str, sampling: Sampling, draw: int = 0) -> Steps[RoleReply]:
    """One chain of thought, and what it answers."""
    said = yield from CHAIN.put({"problem": problem}, sampling=sampling, draw=draw)
    yield generated(said, draw)
    return said


def cot(task: Task, settings: ChainSettings) -> Steps[Conclusion]:
    """One call at the endpoint's own sampling."""
    said = yield from think(task.stated, Sampling(max_tokens=settings.output_cap))
    return Conclusion(answer=said.answer, ended_by="answered")


def greedy(task: Task, settings: ChainSettings) -> Steps[Conclusion]:
    """One call at temperature 0."""
    said = yield from think(task.stated, Sampling(temperature=0.0, max_tokens=settings.output_cap))
    return Conclusion(answer=said.answer, ended_by="answered")


COT = Policy(
    name="cot",
    version="2",
    about="one chain of thought",
    settings=ChainSettings,
    roles=("reasoner",),
    solve=cot,
    most_calls=lambda settings: 1,
)
GREEDY = Policy(
    name="greedy",
    version="2",
    about="one chain of thought at temperature 0",
    settings=ChainSettings,
    roles=("reasoner",),
    solve=greedy,
    most_calls=lambda settings: 1,
)
