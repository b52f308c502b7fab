"""The faculty of continuing: one thought more on the work so far, or a look back at it once it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handlers.answers.extract import extract
from streams.answering.backbones.rehearsal.assess import FAULTLESS, finding
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


def thought(turn: Turn) -> str:
    """The next thought: a beginning, what is missing, or what a look back finds."""
    done = turn.prompt.trajectory
    if not done:
        taken, work = attempt(turn)
        whole = len(work.steps) < 2 or turn.dice.below("whole", _WHOLE)
        return told(turn, taken, work if whole else Work(work.steps[:-1], work.answer))
    settled = extract(done)
    if settled is not None:  # the work has ended: there is nothing to add, only to doubt
        found = finding(turn)
        if found.fault:
            return f"{found.says}\n{told(turn, *patch(turn))}"
        turn.made = turn.tried or 0, Work((), settled)
        return FAULTLESS
    lines = _LINE.findall(done)
    taken = turn.latent.favourite if turn.tried is None else turn.tried
    rightly = turn.dice.below("slip", chance(turn, taken))
    # Works of the other kind come second: lines that only a wrong work begins with cannot be gone on
    # with rightly, and a line that follows from nothing said before would help nobody.
    going_on = [*works(turn, rightly, lines), *works(turn, not rightly, lines)]
    if not going_on or not lines:
        return told(turn, *attempt(turn))
    turn.made = taken, going_on[0]
    rest = going_on[0].steps[len(lines) :]
    return "\n".join(f"Step {at}: {line}" for at, line in enumerate(rest, len(lines) + 1))


def state(turn: Turn, asked: Asked) -> str | None:
    """Of two options, one of which says ``open``: whether this thought ends the work."""
    still = next((option for option in asked.choices if option.casefold() in _OPEN), None)
    if still is None or len(asked.choices) != 2:
        return None
    ended = next(option for option in asked.choices if option != still)
    return ended if is_ended(turn) else still


def is_ended(turn: Turn) -> bool:
    """Whether the work ends with what this reply says."""
    # What is said of it has to agree with the thought that this same reply holds: the work has
    # ended when its last line was said there.
    last = () if turn.made is None else turn.made[1].steps[-1:]
    said = " ".join(turn.said.values())
    return all(line in said for line in last)


def works(turn: Turn, rightly: bool, lines: Sequence[str]) -> list[Work]:
    """Works of this kind that begin with these lines and go on."""
    # Nothing can be worked out rightly there, and asking for it would find an empty list.
    if rightly and not turn.latent.ground.solvable(turn.latent.problem):
        return []
    first = turn.dice.roll("work")
    # From the call's own roll on and round: other draws come by other works first.
    picks = ((first + at / _PICKS) % 1.0 for at in range(_PICKS))
    made = (turn.latent.ground.work(turn.latent.problem, rightly, pick) for pick in picks)
    return [w for w in made if w.steps[: len(lines)] == tuple(lines) and len(w.steps) > len(lines)]
