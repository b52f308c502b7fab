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
from handlers.policies.unread import Unread
from handlers.roles.role import FAIR, Role, RoleReply, answer, choice, text
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import Generated, MonitorReported, Parse
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
            parse: Parse = "ok" if said.readable else "unreadable"
            yield Generated(round=trial, answer=said.answer, source=said.source, parse=parse)
            found = said.answer or found
            # Nobody evaluates the last attempt: no verdict could change what is answered now.
            if trial == settings.retries:
                break
            solved = yield from _holds(task, said, trial, sampling)
            if solved:
                return Conclusion(answer=found, ended_by="solved")
            if solved is False or settings.unread == "zero":
                memory.append((yield from _reflection(task, said, memory, trial, sampling)))
    except OutOfLimit as limit:
        return Conclusion(answer=found, ended_by="limit", limit=limit.which)
    return Conclusion(answer=found, ended_by="retries")


def _holds(task: Task, said: RoleReply, trial: int, sampling: Sampling) -> Steps[bool | None]:
    """The evaluator's verdict; what cannot be read tells of no failure that could be reflected on."""
    heard = yield from EVALUATOR.put(
        {"problem": task.posed, "attempt": said.text}, sampling=sampling
    )
    solved = heard.get("Solved")
    yield MonitorReported(
        round=trial,
        flag=None if solved is None else ("NO" if solved == "YES" else "YES"),
        source=heard.source,
        parse=heard.parse,
    )
    return None if solved is None else solved == "YES"


def _reflection(
    task: Task, said: RoleReply, memory: list[str], trial: int, sampling: Sampling
) -> Steps[str]:
    own = {
        "problem": task.posed,
        "attempt": said.text,
        "earlier_reflections": "\n\n".join(memory),
    }
    heard = yield from REFLECTOR.put(own, sampling=sampling)
    yield Generated(round=trial, role="reflector", source=heard.source, parse=heard.parse)
    return f"{len(memory) + 1}. {heard.get('Reflection') or heard.text.strip()}"


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
