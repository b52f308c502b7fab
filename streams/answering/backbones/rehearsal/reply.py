"""A reply: the fields that the prompt asks for, each filled by the faculty for its kind."""

from __future__ import annotations

import re
from math import log

from streams.answering.backbones.rehearsal import carry, write
from streams.answering.backbones.rehearsal.advance import promises
from streams.answering.backbones.rehearsal.assess import feeling, finding, stated
from streams.answering.backbones.rehearsal.choose import KEEP, MEND, choose, course_said
from streams.answering.backbones.rehearsal.prompts import Asked
from streams.answering.backbones.rehearsal.solve import attempt, patch
from streams.answering.backbones.rehearsal.turn import Turn

_FREE = re.compile(r"own words|reasoning first|step by step|explain", re.IGNORECASE)
_SHARPER = 0.25
"""Log-probabilities are this share of what they would be if they told the truth."""


def reply(turn: Turn) -> str:
    """The whole reply as it would be if nothing went wrong."""
    prompt = turn.prompt
    if not prompt.asked:
        return f"{write.explanation(turn)}\nAnswer: {_answer(turn)}"
    free = _FREE.search(prompt.instructions) is not None
    lines: list[str] = []
    if free:
        # Under no label, but said: whether the work has ended hangs on it.
        turn.said[""] = write.explanation(turn)
        lines = [turn.said[""], ""]
    for asked in prompt.asked:
        met = asked.when is None or turn.said.get(asked.when[0]) in asked.when[1]
        if asked.about.startswith("nothing") or not met:
            continue
        # Fields are filled in the prompt's order and remembered: a later one has to agree with what
        # the reply has said already, as a model's does that reads its own words.
        turn.said[asked.label] = value = _filled(turn, asked)
        lines.append(f"{asked.label}:{'' if value.startswith(chr(10)) else ' '}{value}")
    return "\n".join(lines)


def _filled(turn: Turn, asked: Asked) -> str:
    """The value of one field, by its kind."""
    match asked.kind:
        case "choice":
            return choose(turn, asked)
        case "answer" if turn.prompt.may_stay_open and not carry.is_ended(turn):
            return "none"
        case "answer":
            return f"\\boxed{{{_answer(turn)}}}"
        case "number" if "step" in asked.label.casefold():
            return finding(turn).step.replace("NONE", "0")
        case "number":
            right = promises(turn) if asked.speaks_of("so far") else _holds(turn)
            return f"{stated(feeling(turn, right)):.2f}"
        case "list":
            return "".join(f"\n- {item}" for item in write.listed(turn, asked))
        case _:
            return write.prose(turn, asked)


def _answer(turn: Turn) -> str:
    """The answer kept or mended, where that was chosen; else that of an attempt."""
    # The course was chosen in a field before; the answer below it has to be of that course.
    course = course_said(turn)
    if course == KEEP and turn.answer is not None:
        return turn.answer
    return (patch if course == MEND else attempt)(turn)[1].answer


def _holds(turn: Turn) -> bool:
    """Whether what this reply is about is right: the solution in the prompt, else its own."""
    if turn.prompt.trajectory is not None or turn.prompt.answered is not None:
        return turn.right
    ground = turn.latent.ground
    return ground.right(turn.latent.problem, attempt(turn)[1].answer)


def logprob(turn: Turn) -> float:
    """Mean log-probability of the reply's tokens: the feeling, made too sure."""
    return round(_SHARPER * log(max(feeling(turn, _holds(turn)), 0.05)), 4)
