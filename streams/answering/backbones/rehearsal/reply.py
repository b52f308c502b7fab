"""A reply: the fields that the prompt asks for, each filled by the faculty for its kind."""

from __future__ import annotations

import re
from functools import lru_cache
from math import log

from streams.answering.backbones.rehearsal import write
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
    lines = [write.explanation(turn), ""] if _speaks_freely(prompt.instructions) else []
    for asked in prompt.asked:
        if _needed(turn, asked):
            turn.said[asked.label] = value = _filled(turn, asked)
            lines.append(f"{asked.label}:{'' if value.startswith(chr(10)) else ' '}{value}")
    return "\n".join(lines)


@lru_cache(maxsize=512)
def _speaks_freely(instructions: str) -> bool:
    """Whether words of the model's own are wanted before the fields."""
    return _FREE.search(instructions) is not None


def _needed(turn: Turn, asked: Asked) -> bool:
    if asked.about.startswith("nothing"):
        return False
    return asked.when is None or turn.said.get(asked.when[0]) in asked.when[1]


def _filled(turn: Turn, asked: Asked) -> str:
    match asked.kind:
        case "choice":
            return choose(turn, asked)
        case "answer":
            given = _answer(turn)
            return f"\\boxed{{{given}}}"
        case "number":
            return _number(turn, asked)
        case "list":
            return "".join(f"\n- {item}" for item in write.listed(turn, asked))
        case _:
            return write.prose(turn, asked)


def _answer(turn: Turn) -> str:
    """The answer kept or mended, where that was chosen; else that of an attempt."""
    course = course_said(turn)
    if course == KEEP and turn.answer is not None:
        return turn.answer
    return (patch if course == MEND else attempt)(turn)[1].answer


def _number(turn: Turn, asked: Asked) -> str:
    if "step" in asked.label.casefold():
        return finding(turn).step.replace("NONE", "0")
    going = asked.speaks_of("so far")
    return f"{stated(feeling(turn, promises(turn) if going else _holds(turn))):.2f}"


def _holds(turn: Turn) -> bool:
    """Whether what this reply is about is right: the solution in the prompt, else its own."""
    if turn.prompt.trajectory is not None or turn.prompt.answered is not None:
        return turn.right
    ground = turn.latent.ground
    return ground.right(turn.latent.problem, attempt(turn)[1].answer)


def logprob(turn: Turn) -> float:
    """Mean log-probability of the reply's tokens: the feeling, made too sure."""
    return round(_SHARPER * log(max(feeling(turn, _holds(turn)), 0.05)), 4)
