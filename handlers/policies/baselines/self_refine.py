"""Self-refine: a draft, then feedback by the same model and a revision, until it finds nothing more.

No monitoring before the draft.

Source: Madaan et al. 2023, Algorithm 1; design/baselines.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.baselines.chain import think
from handlers.policies.facts import generated, judged
from handlers.roles.role import FAIR, Role, answer, choice, text
from schemas.asking import OutOfLimit, Steps
from schemas.questions import Sampling
from schemas.settings import PolicySettings

SOUND = "Sound"
CRITIC = Role.of(
    "critic",
    f"""\
You wrote the solution below. Read it as a strict reader would: is every step right, and is every \
condition of the problem met? Say what has to be changed and how, point by point, and whether the \
solution is sound as it stands. {FAIR}""",
    sections=("Problem", "Solution"),
    reply=(
        text("Feedback", "advice on what to change; if nothing, why not", unless=(SOUND, ("YES",))),
        choice(SOUND, ("YES", "NO"), "whether nothing has to be changed"),
    ),
    closing="""\
Judge this solution now: Feedback, point by point, then Sound, which is one of the two words.""",
    template="critic.feedback",
)
REVISER = Role.of(
    "reasoner",
    """\
Below are a problem, a solution of yours and feedback on it. Write the solution anew and meet each \
point of the feedback; keep what was right.""",
    sections=("Problem", "Solution", "Feedback"),
    reply=[answer()],
    template="reasoner.revise",
    mends=False,
)


class RevisionSettings(PolicySettings):
    """Settings of drafting and revising."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    revisions: PositiveInt = 3
    """How often a draft may be revised."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""

    @property
    def sampling(self) -> Sampling:
        """How every call is drawn."""
        return Sampling(max_tokens=self.output_cap)


# One loop for self-refine and self-verification: what tells these methods apart is who looks,
# what of it the reviser is given and in which words, and nothing else. Their calls are the same
# at the same settings.


@dataclass(frozen=True, slots=True)
class Revising:
    """Who looks at a draft, what of its reply the reviser is given, and who revises."""

    critic: Role
    reviser: Role
    heading: str


REFINING = Revising(CRITIC, REVISER, "feedback")


def revise(task: Task, settings: RevisionSettings, revising: Revising) -> Steps[Conclusion]:
    """Draft, look, revise, at most so often; the last readable answer stands."""
    found: str | None = None
    try:
        said = yield from think(task.stated, settings.sampling)
        found = said.answer
        for turn in range(settings.revisions):
            shown = {"problem": task.posed, "solution": said.text}
            seen = yield from revising.critic.put(shown, sampling=settings.sampling)
            yield judged(seen, SOUND, turn)
            if seen.get(SOUND) == "YES":
                return Conclusion(answer=found, ended_by="sound")
            # The critic's whole reply goes on, for also one that cannot be read says something.
            own = {"problem": task.stated, "solution": said.text, revising.heading: seen.text}
            said = yield from revising.reviser.put(own, sampling=settings.sampling)
            yield generated(said, turn + 1)
            # A revision whose answer cannot be read does not take back the one before it.
            found = said.answer or found
    except OutOfLimit as limit:
        return Conclusion(answer=found, ended_by="limit", limit=limit.which)
    return Conclusion(answer=found, ended_by="revisions")


def most_calls(settings: RevisionSettings) -> int:
    """The draft, and for each revision its critic, asked again where it cannot be read, and the reviser."""
    return 1 + settings.revisions * 3


def solve(task: Task, settings: RevisionSettings) -> Steps[Conclusion]:
    """1 + 2 · 3 calls, where every critic can be read."""
    return revise(task, settings, REFINING)


SELF_REFINE = Policy(
    name="self_refine",
    version="4",
    about="a draft, then feedback by its author and a revision, at most three times",
    settings=RevisionSettings,
    roles=("reasoner", "critic"),
    solve=solve,
    most_calls=most_calls,
)
