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
You monitor the reasoning of another model. Go through its trajectory step by step: compare each step \
with the problem, and do each calculation again. Judge whether any step holds a mistake that could \
change the final answer: a logical flaw, a wrong assumption, an error of computation, or a jump that \
nothing justifies. {FAIR}"""

ANALYSIS = (
    "one line for each step, which does its calculation again and says whether the step holds"
)

FLAG = "YES: a step holds a mistake that could change the final answer; NO: none does"
STEP = "the number of the first unreliable step, or NONE"
DESCRIPTION = "one sentence that says which part of the solution is unreliable, or NONE"

MONITOR = Role.of(
    "monitor",
    PROMPT,
    sections=("Problem", "Candidate?", "Trajectory", "Guidance?"),
    reply=[
        # A small model fills in a form before it reasons, so that the form itself begins with the
        # reasoning.
        Field("Analysis", "text", ANALYSIS, required=False),
        Field("Error_description", "text", DESCRIPTION, required=False),
        Field("Error_step", "text", STEP, required=False),
        # Whoever wrote NONE for step and description writes it on for the third line: no error was
        # found.
        choice("Error_found", ("YES", "NO"), FLAG, {"NONE": "NO"}, implied=("Error_step", "NO")),
    ],
    notes={
        "Guidance": """\
Section "Guidance" is a review plan for this trajectory: use what fits and ignore the rest."""
    },
    running=True,
    closing="""\
Report on this trajectory now, beginning with Analysis: a short line for each of its steps. Then Error_description \
and Error_step, a line each, and Error_found with YES or NO. The report ends there: write no solution of your own.""",
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
    # An unreadable report still has its words: the Controller may see in them what the flag would
    # have said.
    values = MONITOR.read(text)
    if isinstance(values, Unreadable) or not readable:
        return Report(None, None, None, text.strip())
    flag = cast("Flag", values["Error_found"])
    # What was said in words: before the form, and in its first field. Others see it as the
    # reasons.
    analysis = values.get("Analysis")
    said = (preamble(text, MONITOR.reply), analysis if isinstance(analysis, str) else "")
    return Report(
        flag,
        _line(values, "Error_step"),
        _line(values, "Error_description"),
        "\n".join(filter(None, said)),
    )


def _line(values: Values, label: str) -> str | None:
    value = values.get(label)
    return value.partition("\n")[0].strip() if isinstance(value, str) else None
