"""Reflexion: attempt, evaluate, reflect in words, and try again with all reflections in sight.

After Reflexion, simplified: no environment rewards an attempt, the model evaluates it itself; the
reflections are kept for the episode only.

Source: Shinn et al. 2023, Algorithm 1; design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.facts import generated, judged
from handlers.policies.unread import Unread
from handlers.roles.role import FAIR, Role, answer, choice, text
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import Generated
from schemas.questions import Sampling
from schemas.settings import PolicySettings

ACTOR = Role.of(
    "reasoner",
    """\
Solve the problem below.""",
    sections=("Problem", "Reflections?"),
    notes={
        "Reflections": """\
Section "Reflections" holds what you noted after attempts that failed: do as it says, and make none of \
those mistakes again."""
    },
    reply=[answer()],
    template="reflexion.actor",
    mends=False,
)
EVALUATOR = Role.of(
    "evaluator",
    f"""\
Decide whether the attempt below solves its problem: whether its answer is right and meets every \
condition. {FAIR} You need not mend it.""",
    sections=("Problem", "Attempt"),
    reply=[choice("Solved", ("YES", "NO"), "whether the attempt is correct")],
    template="reflexion.evaluator",
    reasons=True,
)
REFLECTOR = Role.of(
    "reflector",
    """\
The attempt below failed. Say to yourself, in a few sentences, what most likely went wrong and \
what you will do differently next time. Do not solve the problem here.""",
    sections=("Problem", "Attempt", "Earlier reflections?"),
    reply=[text("Reflection", "advice to yourself for the next attempt")],
    template="reflexion.reflector",
)

# In the paper an environment says whether an attempt succeeded. Here the model judges itself, so a
# wrong attempt that it approves of ends the episode: this is the simplification that its figures
# have to be read with.


class ReflexionSettings(PolicySettings):
    """Settings of Reflexion."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None, "unread": "zero"}

    retries: PositiveInt = 3
    """Attempts after the first."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""
    unread: Unread = "unknown"
    """What a verdict is that cannot be read: unknown, or a failure."""


def most_calls(settings: ReflexionSettings) -> int:
    """An attempt, and for each retry its evaluator and a reflection, each asked again where it cannot be read."""
    return 1 + settings.retries * 5


def solve(task: Task, settings: ReflexionSettings) -> Steps[Conclusion]:
    """4 attempts, 3 evaluations between them and 3 reflections: 10 calls, where all can be read."""
    sampling = Sampling(max_tokens=settings.output_cap)
    memory: list[str] = []
    found: str | None = None
    try:
        for trial in range(settings.retries + 1):
            own = {"problem": task.stated, "reflections": "\n\n".join(memory)}
            # A new reflection makes a new prompt; only where none came is the same one drawn again.
            said = yield from ACTOR.put(own, sampling=sampling, draw=trial - len(memory))
            yield generated(said, trial)
            found = said.answer or found
            # Nobody evaluates the last attempt: no verdict could change what is answered now.
            if trial == settings.retries:
                break
            attempt = {"problem": task.posed, "attempt": said.text}
            report = judged((yield from EVALUATOR.put(attempt, sampling=sampling)), "Solved", trial)
            yield report
            if report.flag == "NO":
                return Conclusion(answer=found, ended_by="solved")
            # What cannot be read tells of no failure that could be reflected on.
            if report.flag == "YES" or settings.unread == "zero":
                shown = attempt | {"earlier_reflections": "\n\n".join(memory)}
                heard = yield from REFLECTOR.put(shown, sampling=sampling)
                yield Generated(
                    round=trial, role="reflector", source=heard.source, parse=heard.parse
                )
                noted = heard.get("Reflection") or heard.text.strip()
                memory.append(f"{len(memory) + 1}. {noted}")
    except OutOfLimit as limit:
        return Conclusion(answer=found, ended_by="limit", limit=limit.which)
    return Conclusion(answer=found, ended_by="retries")


REFLEXION = Policy(
    name="reflexion",
    version="2",
    about="after Reflexion, simplified: attempt, evaluate, reflect in words, try again up to three "
    "times",
    settings=ReflexionSettings,
    roles=("reasoner", "evaluator", "reflector"),
    solve=solve,
    most_calls=most_calls,
)
