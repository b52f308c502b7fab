"""Input to output: the answer alone, no reasoning.

Source: design/baselines.md; Tree of Thoughts § 2.
"""

from __future__ import annotations

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.chain import ChainSettings
from handlers.policies.facts import generated
from handlers.roles.role import Role, answer
from schemas.asking import Steps
from schemas.questions import Sampling

PROMPT = """\
Solve the problem below. Give the answer at once: no reasoning, no remarks, only the line below."""

# The other end of the scale from chain of thought: what a model answers without any
# room to reason in.
DIRECT = Role.of(
    "reasoner",
    PROMPT,
    sections=("Problem",),
    reply=[answer()],
    reasons=False,
    template="direct",
    mends=False,
)


def io(task: Task, settings: ChainSettings) -> Steps[Conclusion]:
    """One call; only the final-answer field is read."""
    sampling = Sampling(max_tokens=settings.output_cap)
    said = yield from DIRECT.put({"problem": task.stated}, sampling=sampling)
    yield generated(said)
    return Conclusion(answer=said.answer, ended_by="answered")


IO = Policy(
    roles=("reasoner",),
    name="io",
    version="2",
    about="the answer alone, no reasoning",
    settings=ChainSettings,
    solve=io,
    most_calls=lambda settings: 1,
)
