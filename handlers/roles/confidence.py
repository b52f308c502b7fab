"""The confidence query: how far a whole trajectory is to be trusted, as one number.

Source: CoT2-Meta § B.2 (stop and abstain prompt), § B.8; table 18 for the wordings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from handlers.roles.again import Heard, Meter, strictly
from handlers.roles.form import TRIES, Unreadable, parse
from handlers.roles.oracle import JUDGEMENT, bounded
from handlers.roles.role import FAIR, Role, number
from handlers.roles.steps import shown
from handlers.roles.values import read_number
from schemas.asking import Steps
from schemas.questions import Complete
from schemas.reply import Reply

Wording: TypeAlias = Literal["A", "B", "C"]

PROMPTS: Mapping[Wording, str] = {
    "A": f"""\
Check the trajectory below against its problem: is each step free of defects, and does the whole \
lead to what is asked? If it is not finished, judge what is there. {FAIR} Think it through briefly, \
then state how much you trust the trajectory, as a number from 0 (not at all) to 1 (fully).""",
    "B": f"""\
Read the problem and the trajectory below, and estimate how reliable the trajectory is as a whole: \
the chance, from 0 to 1, that it can be relied upon. If it is not finished, judge what is there. {FAIR}""",
    "C": f"""\
Rate the trajectory below, which tries to solve the problem, with a single number in [0, 1] and no \
explanation. If it is not finished, judge what is there. {FAIR}""",
}
# A small model solved the problem once more instead, or judged without a number, at 12 of 45 first
# askings.
CLOSINGS: Mapping[Wording, str] = {
    "A": "Judge this trajectory now, in one or two sentences; do not solve the problem anew. Whatever you find, the \
last line is Confidence with a number in it, and nothing follows it.",
    "B": "Do not solve the problem anew. Write the line Confidence and nothing else.",
    "C": "Do not solve the problem anew. Write the line Confidence and nothing else.",
}
AGAIN: Mapping[Wording, str] = {
    "A": "State it again in exactly this form, and write nothing else:\nConfidence: 0.xx",
    "B": "State it again in exactly this form, and write nothing else:\nConfidence: 0.xx",
    "C": "State it again in exactly this form, and write nothing else:\nConfidence: 0.xx",
}

CONFIDENCES: Mapping[Wording, Role] = {
    wording: Role.of(
        "confidence",
        PROMPTS[wording],
        sections=("Problem", "Trajectory"),
        reply=[number("Confidence", "trust in the whole trajectory, in [0, 1]", unit=True)],
        template=f"confidence.{wording}",
        sampling=JUDGEMENT,
        mends=False,
        reasons=wording == "A",
        closing=CLOSINGS[wording],
    )
    for wording in PROMPTS
}

# The question speaks of trust, and some models label their number with its word.
TRUST = Reply(
    (number("Trust", "what models call it that take the word from the question", unit=True),)
)

_LABEL = re.compile(
    r"\bconfidence\b(?: (?:level|score|rating|in (?:(?:the|this|its) \w{1,20}|\[0, ?1\])))?"
    r"[*_`\"' \t]{0,6}(?:[=:|]|\b(?:is|of|at|would be)\b)"
    r"|\btrust (?:the|this|its) \w{1,20} (?:to be|at|with|as)\b",
    re.IGNORECASE,
)


def read_confidence(text: str) -> Fraction | None:
    """The number behind the last label that has one, or a number that is all that the text says.

    A share counts as one, such as ``95%``; a number that merely stands somewhere says nothing.
    """
    role = CONFIDENCES["A"]
    # The labelled field is tried first. A number that is found in prose may belong to a step of
    # the trajectory that is being judged.
    for form in (role.reply, TRUST):
        values = parse(text, form)
        if not isinstance(values, Unreadable):
            return bounded(f"{values[form.fields[0].label]}")
    # The last label counts, for models reason towards their number; and a number far behind its
    # label is another one.
    for label in reversed(list(_LABEL.finditer(text))[-TRIES:]):
        said = text[label.end() : label.end() + 80].partition("\n")[0]
        try:
            return bounded(f"{read_number(role.reply.fields[0], said)}")
        except ValueError:
            continue
    return None


def question(problem: str, steps: Sequence[str] | str, wording: Wording = "A") -> Complete:
    """The confidence query about a trajectory; a text that numbers its own steps stands as it is."""
    trajectory = steps if isinstance(steps, str) else shown(steps)
    return CONFIDENCES[wording].question({"problem": problem, "trajectory": trajectory})


def trust(
    problem: str, steps: Sequence[str] | str, meter: Meter, wording: Wording = "A"
) -> Steps[Heard[Fraction | None]]:
    """Confidence in a trajectory; at most one re-prompt, then none."""
    return strictly(
        question(problem, steps, wording),
        read_confidence,
        # What cannot be read stays none and becomes no 0: that would prune a trajectory which nobody
        # judged.
        lambda value: value is not None,
        lambda first, second: second if second is not None else first,
        AGAIN[wording],
        meter,
    )
