"""The Reasoner: solves the problem, with the last advice and the guidance that memory gives.

Source: MC² eq. (4), figures 11 and 12.
"""

from __future__ import annotations

from handlers.roles.role import Role, answer

PROMPT = """\
You are an expert at reasoning. Solve the problem below step by step, and number your steps.
If a section "Guidance" is given, it was written for this problem from experience with others: use \
what fits and ignore the rest.
If a section "Advice" is given, an earlier attempt was rejected: follow it and start afresh.
Write out your whole reasoning first, then the final answer in the box."""

REASONER = Role.of(
    "reasoner",
    PROMPT,
    sections=("Problem", "Guidance?", "Advice?"),
    reply=[answer()],
    mends=False,
)
