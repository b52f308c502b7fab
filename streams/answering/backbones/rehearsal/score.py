"""The faculty of assessing, step by step: three numbers for each step of the work in the prompt."""

from __future__ import annotations

import re

from streams.answering.backbones.rehearsal.turn import Turn, false_step

_STEP = re.compile(r"^\[?Step (\d+)\]?:?[ \t]*$", re.MULTILINE)
_MENDS = re.compile(r"\bfalse\b|\bwrong\b|\bdoes not follow\b", re.IGNORECASE)
_SOUND, _FAULTY, _SPREAD = 0.88, 0.4, 0.2
_LITTLE = 0.05
"""What a step that mends nothing is given for mending, at most."""


def scores(turn: Turn) -> list[str]:
    """A line for each numbered step that the prompt asks about."""
    parts = _STEP.split(turn.prompt.trajectory or "")
    steps = list(zip(parts[1::2], parts[2::2], strict=True)) or [("1", parts[0])]
    wanted = re.findall(r"\d+", turn.prompt.section(("steps to score",)) or "")
    first = int(wanted[0]) if wanted else 1
    lines: list[str] = []
    for number, text in steps:
        if int(number) < first:
            continue
        # The same error rates as for whole solutions, but each step errs by a roll of its own.
        missed = turn.dice.below(f"missed {number}", 1.0 - turn.options.sensitivity)
        alarm = turn.dice.below(f"alarm {number}", 1.0 - turn.options.specificity)
        faulty = alarm if false_step(text) is None else not missed
        semantic = _near(turn, f"semantic {number}", _SOUND)
        logical = _near(turn, f"logical {number}", _FAULTY if faulty else _SOUND)
        fix = _LITTLE * turn.dice.roll(f"fix {number}")
        # A step that says what was wrong is the one that mends; the others only go on.
        if _MENDS.search(text):
            fix = _near(turn, f"fix {number}", _SOUND)
        lines.append(
            f"Step {number}: Semantic={semantic:.2f}, Logical={logical:.2f}, Fix={fix:.2f}"
        )
    return lines


def _near(turn: Turn, name: str, base: float) -> float:
    return min(1.0, max(0.0, base + _SPREAD * (turn.dice.roll(name) - 0.5)))
