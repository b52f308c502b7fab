"""The step role: one step more, under the advice of a meta-reasoner.

Its parts are asked for as labelled fields, as everywhere; the tags of the paper are read too.

Source: Meta-Reasoner § 3.1, App. F (CoT generation); design/meta_reasoner.md#one-episode.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from handlers.roles.between import Marks
from handlers.roles.form import Unreadable, Values
from handlers.roles.role import Check, Role, RoleReply, choice, text
from schemas.events.reasoning import Parse
from schemas.reply import Field

TOKENS = 512

PROMPT = """\
You solve a problem one step at a time.
First explain yourself: what does the situation call for? Then write the next step, one coherent \
move that brings the work forward; a short problem may be settled by a single one. Then say \
whether the problem is solved with it, and only if it is, give the final answer just as the problem \
asks for it."""

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
    sections=("Problem", "Trajectory?", "Advice?", "Steps left?"),
    reply=(
        text("Reasoning", "what the situation calls for, and why"),
        text("Next_step", "the one step to be made now"),
        choice(STATE, ("SOLVED", "OPEN"), "whether the problem remains open after it"),
        Field("Final_answer", "answer", "the answer", when=(STATE, ("SOLVED",))),
    ),
    notes={
        "Trajectory": """\
Section "Trajectory" holds the steps that were made so far: go on from there.""",
        "Advice": """\
Section "Advice" is from an adviser who sees the work from above, and says what is wanted next. When it \
wants you to go back, put right what it means; when it wants another way, think of one; when it wants \
you to go on, do what follows. If it asks for several moves, make them in this one step.""",
        "Steps left": """\
Section "Steps left" says how the work ends: if this step is the last one, finish the problem in it, whatever \
that takes, and give the final answer.""",
    },
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


def as_fields(reply: str) -> str:
    """A tagged reply with its parts under labels; any other as it is."""
    # Tags and labels become one form first, so that both are held to the same rules.
    tagged = [inner for _, inner in TAGGED.each(reply)]
    if not tagged:
        return reply
    reasons = _REASONS.first(reply)
    rest = reply[reply.lower().rfind("</next_step>") + len("</next_step>") :]
    # "Not solved yet" has the word in it as well, so that a denial comes before it.
    solved = bool(_SOLVED.search(rest)) and not _UNSOLVED.search(rest)
    steps = [f"Next_step: {step.strip()}" for step in tagged]
    head = f"Reasoning: {reasons[1].strip() if reasons else '-'}"
    return "\n".join((head, *steps, f"{STATE}: {'SOLVED' if solved else 'OPEN'}", rest.strip()))


def made_of(said: RoleReply) -> Made:
    """What was said, after at most one re-prompt: what has no form is unsolved, and stands whole."""
    model = said.completion.model
    if said.readable:
        answer = said.answer if said.get(STATE) == "SOLVED" else None
        # What has no form is still a step. Its label may stand in it once, and then only what it
        # labels is the step.
        return Made(said.get("Next_step") or "", answer, said.source, said.parse, model)
    parts = _LABEL.split(as_fields(said.text))
    if len(parts) == 2 and (only := _STATE.split(parts[1])[0].strip()):
        return Made(only, None, said.source, "fallback", model)
    return Made(said.text.strip(), None, said.source, "unreadable", model)
