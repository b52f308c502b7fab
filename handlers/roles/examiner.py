"""The meta level's questions to a model: is work coherent, plausible, consistent, conducive; how hard is it.

Source: MGV App. A, step 3 (the four metacognitive strategies) and step 1 (sources of difficulty).
"""

from __future__ import annotations

from collections.abc import Mapping

from handlers.roles.oracle import JUDGEMENT
from handlers.roles.role import FAIR, Role, choice, number, text

FRAME = """\
You examine a piece of work from one side only: {side}
{question} {fair}
Say in a sentence or two what you find, then give your verdict."""

SIDES: Mapping[str, tuple[str, str]] = {
    "coherence": (
        "does it hold together?",
        "Do its parts fit into one whole, with no sub-goal left open and no gap between them?",
    ),
    "plausibility": (
        "can its result be believed?",
        "Does what it comes to agree with what is known, in size, kind and sign?",
    ),
    "consistency": (
        "does it agree with what was to be expected?",
        "Do its steps agree with the problem as it was given and with each other?",
    ),
    "goal-conduciveness": (
        "does it lead to the goal?",
        "Does it give what is asked, or at least a way there, under all conditions of the problem?",
    ),
}

NOTES: Mapping[str, str] = {
    "Similar cases": """\
Section "Similar cases" holds earlier problems, and how the answers to them turned out: they may show what is to \
be expected, and are not what you examine.""",
}

# The four sides share a frame and a form, and each is asked in a call of its own, so that one
# verdict cannot lean on another.
EXAMINERS: Mapping[str, Role] = {
    name: Role.of(
        "monitor",
        FRAME.format(side=side, question=question, fair=FAIR),
        sections=("Problem", "Goal", "Candidate?", "Trajectory", "Similar cases?"),
        reply=[
            text(
                "Finding",
                "what the verdict rests on, in a sentence or two",
                unless=("Verdict", ("PASS",)),
            ),
            choice(
                "Verdict", ("PASS", "FAIL"), "PASS: from this side it is sound; FAIL: it is not"
            ),
        ],
        notes=NOTES,
        template=f"check.{name}",
        sampling=JUDGEMENT,
    )
    for name, (side, question) in SIDES.items()
}

DIAGNOSES = (
    "plain",
    "complex",
    "unknown terms",
    "missing steps",
    "unclear sequence",
    "beyond capacity",
)
APPRAISER = Role.of(
    "monitor",
    """\
You judge how hard a problem is for whoever has to solve it, from what is shown of it. Do not solve it.""",
    sections=("Problem?", "Features?", "Last result?", "Similar cases?"),
    reply=[
        number("Difficulty", "from 0, comes by itself, to 1, out of reach", unit=True),
        choice("Source", DIAGNOSES, "where the difficulty lies"),
    ],
    notes={
        "Last result": """\
Section "Last result" is what the last attempt at it came to, and what a check said of that.""",
        "Similar cases": """\
Section "Similar cases" holds earlier problems, and how the answers to them turned out.""",
    },
    template="appraise",
    sampling=JUDGEMENT,
)
