"""The Reasoner: solves the problem, with the last advice and the guidance that memory gives.

Source: MC² eq. (4), figures 11 and 12.
"""

from __future__ import annotations

from dataclasses import replace

from handlers.roles.role import Role, answer

PROMPT = """\
You are an expert at reasoning. Solve the problem below, and number your steps."""

REASONER = Role.of(
    "reasoner",
    PROMPT,
    # What was learned stands before the problem: behind it, a small model worked on that instead.
    sections=("Guidance?", "Problem", "Advice?"),
    reply=[answer()],
    notes={
        "Guidance": """\
Section "Guidance" was written for this problem from experience with others: use what fits and ignore \
the rest.""",
        "Advice": """\
An earlier attempt at this problem was rejected. Section "Advice" says what to do instead: follow it \
and start afresh.""",
    },
)
# The paper's: whatever has no answer goes on to the Monitor.
ONCE = replace(REASONER, mends=False)
