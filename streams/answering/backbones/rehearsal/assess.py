"""The faculty of assessing: is a solution right, where does it fail, how sure is that.

The simulator knows the truth by an exact check, and blurs it at set rates: what assessing is worth
to whoever asks for it can then be held against these rates. A report in the prompt comes before that
check, for whoever reads a report is to act on what it says, and not on what he knows himself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import sqrt

from streams.answering.backbones.rehearsal.turn import Turn, false_step

_CARE = 0.6
"""By how much of what is missing named checks mend sensitivity and specificity."""
_VERDICT = re.compile(r"[\w ]: {0,2}(YES|NO|PASS|FAIL)\b", re.IGNORECASE)
_FEEL_RIGHT, _FEEL_WRONG, _FEEL_SPREAD = 0.8, 0.35, 0.3
FAULTLESS = "Each line follows from the one before it, and the last one gives what is asked."
"""What is said of a solution in which no fault was found."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of an assessment, right or not."""

    fault: bool
    step: str
    says: str


def finding(turn: Turn) -> Finding:
    """What the prompt's report says, else the exact check blurred by the set error rates."""
    fault = reported(turn)
    if fault is None:
        care = _CARE if turn.checks else 0.0
        seen, spared = (
            share + care * (1.0 - share)
            for share in (turn.options.sensitivity, turn.options.specificity)
        )
        if turn.answer is None:
            fault = True
        elif turn.right:
            fault = not turn.dice.below("specificity", spared)
        else:
            fault = turn.dice.below("sensitivity", seen)
    if not fault:
        return Finding(False, "NONE", "NONE")
    found = false_step(turn.prompt.trajectory or "")
    if found is None:
        # A false alarm has to name some step too, as models do.
        step = str(1 + int(turn.dice.roll("step") * 3))
        return Finding(True, step, f"Step {step} does not follow from what stands before it.")
    step, value = found
    return Finding(True, step, f"Step {step} is false: that makes {value}.")


def reported(turn: Turn) -> bool | None:
    """Whether the report in the prompt found a fault, if there is one and it says."""
    # The last verdict counts: a report may quote the options before it decides.
    verdicts = _VERDICT.findall(turn.prompt.report or "")
    return verdicts[-1].casefold() in ("yes", "fail") if verdicts else None


def feeling(turn: Turn, right: bool) -> float:
    """A noisy sense of whether something is right, in [0, 1]."""
    base = _FEEL_RIGHT if right else _FEEL_WRONG
    # The two overlap: a feeling that told right from wrong by itself would make every check
    # needless.
    return min(1.0, max(0.0, base + _FEEL_SPREAD * (turn.dice.roll("feeling") - 0.5)))


def stated(feel: float) -> float:
    """Stated confidence: the square root of the feeling, so always too sure."""
    # Models are too sure of themselves, and what reads their confidence has to cope with it.
    return round(sqrt(feel), 2)
