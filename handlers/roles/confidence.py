"""The confidence query: how far a whole trajectory is to be trusted, as one number.

Source: CoT2-Meta § B.2 (stop and abstain prompt), § B.8; table 18 for the wordings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from handlers.roles.again import Heard, Meter, strictly
from handlers.roles.oracle import JUDGEMENT, bounded
from handlers.roles.role import Role, number
from handlers.roles.steps import shown
from schemas.asking import Steps
from schemas.questions import Complete

Wording: TypeAlias = Literal["A", "B", "C"]

PROMPTS: Mapping[Wording, str] = {
    "A": """\
Check the trajectory below against its problem: is each step free of defects, and does the whole \
lead to what is asked? Then state how much you trust the whole trajectory, as a number from 0 (not \
at all) to 1 (fully). Write it as Confidence=0.xx.""",
    "B": """\
Read the problem and the trajectory below, and estimate how reliable the trajectory is as a whole: \
the chance, from 0 to 1, that it can be relied upon. Write it as Confidence=0.xx.""",
    "C": """\
Rate the trajectory below, which tries to solve the problem. Your reply is a single number in \
[0, 1] with two decimals, and not one word besides.""",
}
AGAIN: Mapping[Wording, str] = {
    "A": "State it again in exactly this format and write nothing else:\nConfidence=0.xx",
    "B": "State it again in exactly this format and write nothing else:\nConfidence=0.xx",
    "C": "Reply again with one number in [0, 1], such as 0.xx, and nothing else.",
}

CONFIDENCES: Mapping[Wording, Role] = {
    wording: Role.of(
        "confidence",
        PROMPTS[wording],
        sections=("Problem", "Trajectory"),
        reply=[
            number(
                "Confidence", "trust in the whole trajectory, in [0, 1], two decimals", unit=True
            )
        ],
        template=f"confidence.{wording}",
        sampling=JUDGEMENT,
        mends=False,
    )
    for wording in PROMPTS
}

_LABEL = re.compile(r"\bconfidence\b[*_`\"' \t]{0,6}[=:]", re.IGNORECASE)
NUMBER = re.compile(
    r"(?<![\w.])[+\-−]?(?:\d++(?:,++\d++)*,*(?:\.\d++)?|\.\d++)(?:[eE][-+]?\d++)?(?![\w.]*\w|%)",
    re.ASCII,
)


def read_confidence(text: str) -> Fraction | None:
    """The first number in [0, 1], behind the label where there is one."""
    label = _LABEL.search(text)
    said = text[label.end() if label else 0 :][:10_000]
    values = map(bounded, numbers(said))
    return next((value for value in values if value is not None), None)


def numbers(text: str) -> list[str]:
    """The numbers of a text that stand alone, as they are written."""
    return NUMBER.findall(text)


def question(problem: str, steps: Sequence[str], wording: Wording = "A") -> Complete:
    """The confidence query about a trajectory."""
    role = CONFIDENCES[wording]
    return role.question({"problem": problem, "trajectory": shown(steps)})


def trust(
    problem: str, steps: Sequence[str], meter: Meter, wording: Wording = "A"
) -> Steps[Heard[Fraction | None]]:
    """Confidence in a trajectory; at most one re-prompt, then none."""
    return strictly(
        question(problem, steps, wording),
        read_confidence,
        lambda value: value is not None,
        lambda first, second: second if second is not None else first,
        AGAIN[wording],
        meter,
    )
