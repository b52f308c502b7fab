"""The Repairer: keeps a trajectory up to its earliest low step and writes the rest anew.

Source: CoT2-Meta § B.2 (repair prompt), § 2.4.
"""

from __future__ import annotations

from handlers.roles.role import Role
from handlers.roles.thinker import GENERATION, SETTLED, STATE, THOUGHT

PROMPT = """\
A trajectory on the problem below went wrong at one step. Section "Fault" names the step and the scores \
that it was given. Write that step and all that has to follow it anew, as one thought, and go as far as you \
can. Once the problem is settled, set the state to ANSWERED and give the final answer in the form that the \
problem asks for."""

REPAIRER = Role.of(
    "repairer",
    PROMPT,
    sections=("Problem", "Trajectory?", "Fault", "Rejected steps?", "Assessment?"),
    reply=(THOUGHT, STATE, SETTLED),
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
    # What a closing says of a label is never put behind it: a small model wrote that down for the
    # thought, at 4 of 9.
    closing="""\
Work it out anew now, step by step and with its numbers, beginning with Thought. Then State, once, and Final_answer \
if the problem is settled.""",
)
