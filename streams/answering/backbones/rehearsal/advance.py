"""The faculty of continuing, one line at a time; and how a work that is not finished looks."""

from __future__ import annotations

import re

from streams.answering.backbones.rehearsal.carry import works
from streams.answering.backbones.rehearsal.grounds import Work
from streams.answering.backbones.rehearsal.hints import hints
from streams.answering.backbones.rehearsal.solve import another_way, approach, chance, told
from streams.answering.backbones.rehearsal.turn import Turn, false_step

_LINE = re.compile(r"^Step \d+: (.+)$", re.MULTILINE)
_BEGINS = re.compile(r"^I [a-z]", re.MULTILINE)


def course(turn: Turn) -> tuple[int | None, str]:
    """The approach that the work is on, and what stands there since it was begun."""
    text = turn.prompt.trajectory or ""
    begun = [found.start() for found in _BEGINS.finditer(text)]
    # Only since the last beginning: lines of an approach that was left are no part of this work.
    rest = text[begun[-1] :] if begun else text
    named = hints(rest, turn.latent.ground)
    return (named[0].approach if named else None), rest


def step(turn: Turn) -> str:
    """One line more; a first line again where advice leads to another approach."""
    on, rest = course(turn)
    # Without advice the work goes on as it began, or each line would be of another attempt.
    steered = any(turn.hints) or another_way(turn)
    taken = approach(turn) if on is None or steered else on
    lines = _LINE.findall(rest) if taken == on else []
    rightly = turn.dice.below("slip", chance(turn, taken))
    found = [*works(turn, rightly, lines), *works(turn, not rightly, lines)]
    if not found:
        lines, found = [], [turn.latent.ground.work(turn.latent.problem, rightly, 0.0)]
    turn.made = taken, found[0]
    line = found[0].steps[len(lines)]
    if not lines:
        return told(turn, taken, Work((line,), found[0].answer))
    return f"Step {len(lines) + 1}: {line}"


def promises(turn: Turn) -> bool:
    """Whether going on from here can end well: the approach works, and no step is false."""
    on, rest = course(turn)
    return on in turn.latent.works and false_step(rest) is None
