"""The faculty of continuing: one thought more on the work so far, or a look back at it once it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handlers.answers.extract import extract
from streams.answering.backbones.rehearsal.assess import finding
from streams.answering.backbones.rehearsal.grounds import Work
from streams.answering.backbones.rehearsal.prompts import Asked
from streams.answering.backbones.rehearsal.solve import attempt, chance, patch, told
from streams.answering.backbones.rehearsal.turn import Turn

_LINE = re.compile(r"^Step \d+: (.+)$", re.MULTILINE)
_WHOLE = 0.5
"""How often a first thought is the whole work, and not all but its last line."""
_PICKS = 16
"""How many works of each kind are looked at for one that goes on as the lines begin."""
_OPEN = ("open", "continue", "unfinished")


def thought(turn: Turn, asked: Asked) -> str:
    """The next thought: a beginning, what is missing, or what a look back finds."""
    done = turn.prompt.trajectory
    if not done:
        return _begin(turn)
    settled = extract(done)
    return _go_on(turn, _LINE.findall(done)) if settled is None else _look_back(turn, settled)


def state(turn: Turn, asked: Asked) -> str | None:
    """Of two options, one of which says ``open``: whether this thought ends the work."""
    still = next((option for option in asked.choices if option.casefold() in _OPEN), None)
    if still is None or len(asked.choices) != 2:
        return None
    ended = next(option for option in asked.choices if option != still)
    return ended if _reached(turn) else still


def _reached(turn: Turn) -> bool:
    lines = () if turn.made is None else turn.made[1].steps[-1:]
    return all(line in said for line in lines for said in [" ".join(turn.said.values())])


def _begin(turn: Turn) -> str:
    taken, work = attempt(turn)
    whole = len(work.steps) < 2 or turn.dice.below("whole", _WHOLE)
    return told(turn, taken, work if whole else Work(work.steps[:-1], work.answer))


def _go_on(turn: Turn, lines: Sequence[str]) -> str:
    """The rest of a work that begins with these lines; a work of its own where there is none."""
    taken = turn.latent.favourite if turn.tried is None else turn.tried
    rightly = turn.dice.below("slip", chance(turn, taken))
    found = [*works(turn, rightly, lines), *works(turn, not rightly, lines)]
    if not found or not lines:
        return told(turn, *attempt(turn))
    turn.made = taken, found[0]
    rest = found[0].steps[len(lines) :]
    return "\n".join(f"Step {at}: {line}" for at, line in enumerate(rest, len(lines) + 1))


def works(turn: Turn, rightly: bool, lines: Sequence[str]) -> list[Work]:
    """Works of this kind that begin with these lines and go on."""
    if rightly and not turn.latent.ground.solvable(turn.latent.problem):
        return []
    first = turn.dice.roll("work")
    picks = ((first + at / _PICKS) % 1.0 for at in range(_PICKS))
    made = (turn.latent.ground.work(turn.latent.problem, rightly, pick) for pick in picks)
    return [w for w in made if w.steps[: len(lines)] == tuple(lines) and len(w.steps) > len(lines)]


def _look_back(turn: Turn, settled: str) -> str:
    found = finding(turn)
    if not found.fault:
        turn.made = turn.tried or 0, Work((), settled)
        return "Each line follows from the one before it, and the last one gives what is asked."
    taken, work = patch(turn)
    return f"{found.says}\n{told(turn, taken, work)}"
