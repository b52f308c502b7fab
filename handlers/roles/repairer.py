"""The Repairer: keeps a trajectory up to its earliest low step and writes the rest anew.

Source: CoT2-Meta § B.2 (repair prompt), § 2.4.
"""

from __future__ import annotations

from handlers.roles.role import Role, open_answer
from handlers.roles.thinker import GENERATION

PROMPT = """\
A trajectory on the problem below went wrong at one step. Section "Fault" names the step and the scores \
that it was given. Write that step and all that has to follow it anew, as one thought, and go as far as you \
can. Where the problem is still open after that, give none as the final answer."""

REPAIRER = Role.of(
    "repairer",
    PROMPT,
    sections=("Problem", "Trajectory?", "Fault", "Rejected steps?", "Assessment?"),
    reply=(open_answer(),),
    reasons=True,
    notes={
        "Trajectory": """\
Section "Trajectory" holds the steps before that one. They are sound and stay as they are: go on from \
there, and do not begin from scratch.""",
        "Rejected steps": """\
Section "Rejected steps" holds the step that went wrong and all that followed it.""",
        "Assessment": """\
Section "Assessment" is what was thought when the steps were scored; it need not be right.""",
    },
    sampling=GENERATION,
    mends=False,
)
