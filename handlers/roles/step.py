"""The step role: one step more, under the advice of a meta-reasoner.

Its parts are asked for as labelled fields, as everywhere; the tags of the paper are read too.

Source: Meta-Reasoner § 3.1, App. F (CoT generation); table 1 of our page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handlers.answers.extract import boxed
from handlers.roles.between import Marks
from handlers.roles.form import Unreadable, Values
from handlers.roles.role import Check, Role, Said, choice, text
from handlers.roles.values import PLACEHOLDER
from schemas.events.reasoning import Parse
from schemas.reply import Field

TOKENS = 512

PROMPT = """\
You solve a problem together with an adviser, one step at a time.
A section "Trajectory" holds the steps so far; without it you make the first step. A section \
"Advice" holds what the adviser, who sees the work from above, wants next. When it wants you to go \
back, put right what it means; when it wants another way, think of one; when it wants you to go \
on, do what follows.
First explain yourself: what the advice means here and how you meet each of its points. Then write \
exactly one next step, clear and short, which moves the work on: never several at once. Then say \
whether the problem is solved with it. Only if it is, end with the final answer in a box, in the \
form that the problem asks for."""

STATE = "State"


class Tagged(Role):
    """A role whose reply may also stand in the paper's tags."""

    __slots__ = ()

    def read(self, text: str, check: Check | None = None) -> Values | Unreadable:
        """The values of a reply, or what is wrong with it."""
        return Role.read(self, as_fields(text), check)


STEP = Tagged.of(
    "step",
    PROMPT,
    sections=("Problem", "Trajectory?", "Advice?"),
    reply=(
        text("Reasoning", "what the situation calls for, and why"),
        text("Next_step", "the one step to be made now"),
        choice(STATE, ("SOLVED", "OPEN"), "whether the problem remains open after it"),
        Field("Final_answer", "answer", "the answer", boxed=True, when=(STATE, ("SOLVED",))),
    ),
)

TAGGED = Marks.tag("next_step", re.IGNORECASE)
_REASONS = Marks.tag("reasoning", re.IGNORECASE)
_LABEL = re.compile(r"^[ \t>*_#-]{0,8}next[ _]step[ \t*_]{0,4}:", re.IGNORECASE | re.MULTILINE)
_UNSOLVED = re.compile(
    r"\b(?:not|isn't|is not|un|remains?)[ -]?(?:yet |fully |been |completely )*solved\b|\bopen\b",
    re.IGNORECASE,
)
_SOLVED = re.compile(r"\bsolved\b", re.IGNORECASE)
_STATE = re.compile(rf"^[ \t>*_#-]{{0,8}}{STATE}[ \t*_]{{0,4}}:", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Made:
    """What a step came to: the text that joins the trajectory, and the answer once solved."""

    text: str
    answer: str | None
    source: str
    parse: Parse
    model: str


def box_of(reply: str) -> str | None:
    """The last box that holds an answer."""
    found = boxed(reply)
    return None if found in (None, "", PLACEHOLDER) else found


def as_fields(reply: str) -> str:
    """A tagged reply with its parts under labels; any other as it is."""
    tagged = [inner for _, inner in TAGGED.each(reply)]
    if not tagged:
        return reply
    reasons = _REASONS.first(reply)
    rest = reply[reply.lower().rfind("</next_step>") + len("</next_step>") :]
    solved = bool(_SOLVED.search(rest)) and not _UNSOLVED.search(rest)
    steps = [f"Next_step: {step.strip()}" for step in tagged]
    head = f"Reasoning: {reasons[1].strip() if reasons else '-'}"
    return "\n".join((head, *steps, f"{STATE}: {'SOLVED' if solved else 'OPEN'}", rest.strip()))


def consistent(values: Values, reply: str) -> Unreadable | None:
    """Exactly one step; solved said and a box present, or neither."""
    if len(_LABEL.findall(reply)) > 1:
        return Unreadable("Next_step", "there must be exactly one")
    solved, box = values.get(STATE) == "SOLVED", box_of(reply) is not None
    if solved and not box:
        return Unreadable("Final_answer", "a solved problem needs its answer in a box")
    if box and not solved:
        return Unreadable(
            STATE, "there is a boxed answer, but the problem is not said to be solved"
        )
    return None


def made_of(said: Said) -> Made:
    """What was said, after at most one re-prompt: a contradiction is unsolved, no form the whole text."""
    model = said.completion.model
    if said.readable:
        answer = box_of(said.text) if said.get(STATE) == "SOLVED" else None
        return Made(said.get("Next_step") or "", answer, said.source, said.parse, model)
    parts = _LABEL.split(as_fields(said.text))
    if len(parts) == 2 and (only := _STATE.split(parts[1])[0].strip()):
        return Made(only, None, said.source, "fallback", model)
    return Made(said.text.strip(), None, said.source, "unreadable", model)
