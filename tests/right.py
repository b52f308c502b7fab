"""A model that is always right, in process: it fills whatever form it is asked for.

It is kind, so that no judge of its own is what keeps an answer back, and may take its time: with
``patience`` it leaves a problem open wherever it may, until so many steps stand in the prompt.
"""

from __future__ import annotations

import re

from schemas.questions import Complete
from schemas.reply import Field
from tests.scripted import Replier, shown

_FAULT = re.compile(r"(?i)error|flaw|fault|wrong|contradict|mistake|inconsisten")
_GOOD = (
    "ANSWER",
    "ANSWERED",
    "SOLVED",
    "ACCEPT",
    "CORRECT",
    "PASS",
    "HIGH",
    "CONTINUE",
    "YES",
    "TRUE",
    "NONE",
)
_STEPS = re.compile(r"(?m)^.{0,4}\[?Step (\d+)")


def right(answer: str, patience: int = 0, trust: float = 0.95) -> Replier:
    """The replies of a model that knows this answer, and of whose judges each trusts it so much."""

    def reply(question: Complete) -> str:
        seen = shown(question).removeprefix(question.template.system)
        steps = sorted({int(found) for found in _STEPS.findall(seen)})
        patient = len(steps) + len(question.history) // 2 < patience
        said: dict[str, str] = {}
        for field in question.template.reply.fields:
            if field.when is not None and said.get(field.when[0]) not in field.when[1]:
                continue
            # Whoever attempts the whole of a problem and has no answer has failed; it is not at work.
            if field.none and patient and question.role != "reasoner":
                said[field.label] = "none"
            else:
                said[field.label] = _value(field, answer, patient, steps, trust)
        lines = [f"{label}: {value}" for label, value in said.items()]
        return "\n".join(lines) or f"It comes to {answer}. \\boxed{{{answer}}}"

    return reply


def _value(field: Field, answer: str, patient: bool, steps: list[int], trust: float) -> str:
    fault = bool(_FAULT.search(field.label))
    match field.kind:
        case "answer":
            return f"\\boxed{{{answer}}}"
        case "number":
            return f"{1 - trust if fault else trust:.2f}"
        case "choice":
            return _chosen(field.choices, fault, patient)
        case "list" if field.ratings:
            rated = ", ".join(f"{name}={0 if name == 'Fix' else trust}" for name in field.ratings)
            return "".join(f"\n- Step {step}: {rated}" for step in steps or [1])
        case "list":
            return "".join(
                f"\n- the quantity is checked anew, {n}" for n in range(field.least or 1)
            )
        case "text":
            return f'"""Find the quantity that is asked for.""" Thought {len(steps) + 1}.'


def _chosen(choices: tuple[str, ...], fault: bool, patient: bool) -> str:
    if {"YES", "NO"} <= set(choices):
        return "NO" if fault else "YES"
    for slow in ("OPEN", "EXPERT", "SEARCH") if patient else ():
        if slow in choices:
            return slow
    return next((good for good in _GOOD if good in choices), choices[0])
