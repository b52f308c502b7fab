"""The Reasoner: solves the problem, with the last advice and the guidance that memory gives.

Source: MC² eq. (4), figures 11 and 12.
"""

from __future__ import annotations

from handlers.answers.extract import extract
from handlers.roles.role import Role, Said, answer
from handlers.roles.values import PLACEHOLDER

PROMPT = """\
You are an expert at reasoning. Solve the problem below step by step, and number your steps.
If a section "Guidance" is given, take it in before you begin: it was written for this problem.
If a section "Advice" is given, an earlier attempt was rejected: follow it and start afresh.
Write out your whole reasoning first. End with the field below, the final answer in the box."""

REASONER = Role.of(
    "reasoner",
    PROMPT,
    sections=("Problem", "Guidance?", "Advice?"),
    reply=[answer(about="the final answer in the form that the problem asks for", boxed=True)],
    mends=False,
)


def answer_of(text: str) -> str | None:
    """ŷ of a trajectory: the boxed answer, or by the one extraction that all policies share."""
    found = extract(text)
    return None if found == PLACEHOLDER else found


def answered(said: Said) -> str | None:
    """ŷ of what the Reasoner said; none if no answer can be found."""
    return answer_of(said.text)
