"""The step role: one step more, under the advice of a meta-reasoner.

A step is asked for as a plain chain is, free to its last line, and read also under the labels, or in the tags, in
which the paper has it.

Source: Meta-Reasoner § 3.1, App. F (CoT generation); design/meta_reasoner.md#one-episode.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from handlers.roles.between import Marks
from handlers.roles.form import Unreadable, Values, preamble
from handlers.roles.role import Check, Role, RoleReply, choice, open_answer, text
from handlers.roles.values import NONE
from schemas.events.reasoning import Parse
from schemas.reply import Field, Reply

TOKENS = 1_024
"""Of 40 first steps of a model of 1.5 billion parameters five were longer than 512."""

# A small model that is asked for Reasoning and Next_step names the step and boxes a guess below it:
# of labelled steps that claimed to settle their problem 3 of 14 did, of free ones 25 of 40.
PROMPT = """\
You solve a problem in steps. Make the next one: consider what the situation calls for, then make one \
coherent move that brings the work forward, carried out to what it comes to. A short problem is settled in a \
single step. While the problem is still open after your step, give none as the final answer."""

STATE = "State"
LABELLED = Reply(
    (
        Field("Reasoning", "text", "", required=False),
        text("Next_step", ""),
        choice(STATE, ("SOLVED", "OPEN"), ""),
        Field("Final_answer", "answer", "the answer", when=(STATE, ("SOLVED",))),
    )
)
"""The step as the paper has it: its reasons, itself, and whether the problem is solved with it."""


class Tagged(Role):
    """A role whose reply may also stand under the paper's labels, or in its tags."""

    __slots__ = ()

    def read(self, text: str, check: Check | None = None) -> Values | Unreadable:
        """The values of a reply, or what is wrong with it."""
        said = as_fields(text)
        form = self.reply.fields[0].form
        labelled = replace(self, least=LABELLED if form is None else LABELLED.typed(form))
        values = Role.read(labelled, said, check)
        # A line of a free step may well begin with State; under the label stands one of two words.
        if not isinstance(values, Unreadable) or values.form or _STATED.search(said):
            return values
        return Role.read(self, text, check)


STEP = Tagged.of(
    "step",
    PROMPT,
    sections=("Problem", "Trajectory?", "Advice?", "Steps left?"),
    reply=(open_answer(),),
    reasons=True,
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
_STATED = re.compile(rf"{_STATE.pattern}[ \t*_]{{0,4}}(?:SOLVED|OPEN)\b", _STATE.flags)


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
        answer = None if said.get(STATE) == "OPEN" or said.answer == NONE else said.answer
        text = said.get("Next_step") or preamble(said.text, STEP.reply)
        return Made(text, answer, said.source, said.parse, model)
    # What has no form is still a step. Its label may stand in it once, and then only what it
    # labels is the step.
    parts = _LABEL.split(as_fields(said.text))
    if len(parts) == 2 and (only := _STATE.split(parts[1])[0].strip()):
        return Made(only, None, said.source, "fallback", model)
    return Made(said.text.strip(), None, said.source, "unreadable", model)
