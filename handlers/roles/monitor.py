"""The Monitor: audits a trajectory for faults that could change the answer; it does not solve.

Source: MC² eq. (5), figures 16 and 17.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from handlers.roles.form import Unreadable, Values, preamble
from handlers.roles.role import FAIR, Role, choice
from schemas.events.reasoning import Flag
from schemas.reply import Field

PROMPT = f"""\
You monitor the reasoning of another model. Read its trajectory closely and judge whether any step \
holds a mistake that could change the final answer: a logical flaw, a wrong assumption, an error \
of computation, or a jump that nothing justifies. {FAIR}"""

FLAG = "YES: a step holds a mistake that could change the final answer; NO: none does"
STEP = "the number of the first unreliable step, or NONE"
DESCRIPTION = "one sentence that says which part of the solution is unreliable, or NONE"

MONITOR = Role.of(
    "monitor",
    PROMPT,
    sections=("Problem", "Candidate?", "Trajectory", "Guidance?"),
    reply=[
        Field("Error_description", "text", DESCRIPTION, required=False),
        Field("Error_step", "text", STEP, required=False),
        choice("Error_found", ("YES", "NO"), FLAG),
    ],
    notes={
        "Guidance": """\
Section "Guidance" is a review plan for this trajectory: use what fits and ignore the rest."""
    },
    reasons=True,
)


@dataclass(frozen=True, slots=True)
class Report:
    """What the Monitor found. An unknown flag is none."""

    flag: Flag | None
    step: str | None
    description: str | None
    explanation: str


def report_of(text: str, *, readable: bool = True) -> Report:
    """The report that a reply holds; with an unknown flag if it cannot be read, or is known to be unreadable."""
    values = MONITOR.read(text)
    if isinstance(values, Unreadable) or not readable:
        return Report(None, None, None, text.strip())
    flag = cast("Flag", values["Error_found"])
    return Report(
        flag, _line(values, "Error_step"), _line(values, "Error_description"), _before(text)
    )


def _before(text: str) -> str:
    return preamble(text, MONITOR.reply)


def _line(values: Values, label: str) -> str | None:
    value = values.get(label)
    return value.partition("\n")[0].strip() if isinstance(value, str) else None
