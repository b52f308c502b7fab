"""Attempts at a problem under a strategy. Their prompts know nothing of what the meta level feels.

Source: MGV Algorithm 1 line 9, 2 line 14, 3 line 17; the strategies are its App. A's examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from handlers.roles.role import Role, open_answer
from schemas.reply import Field

Way: TypeAlias = Literal["direct", "decompose", "define", "example", "plan", "simplify", "restate"]

FRAME = """\
You work on the problem below. {way}
If you find no answer, the word none is your answer."""

WAYS: Mapping[Way, str] = {
    "direct": "Go straight for what is asked, and number your steps.",
    "decompose": """\
Split it into smaller sub-goals that together give what is asked. Meet them one after another, and \
number your steps.""",
    "define": """\
Say first what each term and symbol in it means; look for those whose meaning decides the matter. \
Then solve it from these meanings, in numbered steps.""",
    "example": """\
Begin with a smaller or similar case that you can work through in full, as a model. Then carry \
over each of its steps to the problem itself, in numbered steps.""",
    "plan": """\
Before you compute anything, put the steps that are needed into the right order. Then carry them \
out in that order, and number them.""",
    "simplify": """\
Take away whatever makes it large: smaller numbers, fewer parts, a special case. Solve that first, \
then put back what was taken away, bit by bit, in numbered steps.""",
    "restate": """\
Say in other words what is given and what is asked, and what comes to mind that is like it. Then \
reason towards the answer in numbered steps.""",
}

# A reply that leaves them out still has its answer.
GOALS: tuple[Field, ...] = (
    Field(
        "Sub_goals", "list", "the parts that you set out to meet, in their order", required=False
    ),
    Field(
        "Results",
        "list",
        "what came of each part, in the same order; nothing for a part left open",
        required=False,
    ),
)
FINAL = open_answer()

NOTES: Mapping[str, str] = {
    "Similar cases": """\
Section "Similar cases" holds other problems with the answers that were given to them, and how those turned \
out. They are done with; what they show may help. Solve the one below, in section "Problem".""",
    "Finding": """\
An earlier attempt was checked and did not pass. Section "Finding" is what the check said of it. Do not \
repeat a fault that it names; where it is mistaken itself, go by the problem.""",
}

ATTEMPTERS: Mapping[Way, Role] = {
    way: Role.of(
        "reasoner",
        FRAME.format(way=text),
        # A small model that read the cases last solved them, or found that they lead nowhere.
        sections=("Similar cases?", "Problem", "Earlier answer?", "Finding?"),
        # Only ways that split a problem are asked for its parts. Their reply still counts without
        # them.
        reply=(*(GOALS if way in ("decompose", "plan") else ()), FINAL),
        notes=NOTES,
        template=f"attempt.{way}",
        mends=False,
        reasons=True,
    )
    for way, text in WAYS.items()
}
