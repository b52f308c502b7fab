"""The faculty of solving: which approach is taken, and what comes of it."""

from __future__ import annotations

import re

from streams.answering.backbones.rehearsal.grounds import Work
from streams.answering.backbones.rehearsal.turn import Turn

_ANOTHER = re.compile(r"\b(?:another|different|other) (?:way|path|approach|idea)\b", re.IGNORECASE)
_SLIP = 0.04
_SLIP_OF_HARD = 0.16
_MENDS = 0.4


def approach(turn: Turn) -> int:
    """The approach taken: what was advised, else what the first idea is, which seldom changes."""
    advised: list[int] = []
    for section in turn.hints:  # the newest first
        fit = [hint for hint in section if hint.fits(turn.latent.situation)]
        if good := [hint.approach for hint in fit if hint.good]:
            advised.append(int(turn.dice.pick("advised", good)))
        # Guidance that only forbids helps just where it forbids what would have been tried anyway.
        elif turn.latent.favourite in (bad := {hint.approach for hint in fit}):
            advised.append(_another(turn, bad))
    if another_way(turn):
        advised.append(_another(turn, {turn.latent.favourite}))
    for place, way in enumerate(advised):
        if turn.dice.below(f"heed {place}", turn.options.heed):
            return way
    # A model that is asked again has the same first idea: without that, sampling alone would solve
    # all problems, and no policy could be told from votes.
    first = turn.latent.favourite if turn.tried is None else turn.tried
    if turn.dice.below("lock-in", turn.options.lock_in):
        return first
    return _another(turn, {first})


def another_way(turn: Turn) -> bool:
    """Whether some other way is asked for, whichever."""
    return any(map(_ANOTHER.search, turn.prompt.told))


def _another(turn: Turn, but: set[int]) -> int:
    others = [a for a in range(len(turn.latent.ground.approaches)) if a not in but]
    return int(turn.dice.pick("another", others or [turn.latent.favourite]))


def chance(turn: Turn, taken: int) -> float:
    """How likely an attempt by this approach is to come out right."""
    slip = _SLIP + _SLIP_OF_HARD * turn.latent.difficulty
    # A wrong approach never succeeds by luck: whatever is gained was gained by going another way.
    return 1.0 - slip if taken in turn.latent.works else 0.0


def attempt(turn: Turn) -> tuple[int, Work]:
    """The approach taken and what comes of it: right only if it works here, and then not always."""
    # One reply makes one attempt: its text, its answer and its confidence must be about the same.
    if turn.made is None:
        taken = approach(turn)
        turn.made = taken, _carried_out(turn, chance(turn, taken))
    return turn.made


def patch(turn: Turn) -> tuple[int, Work]:
    """The solution in the prompt, mended: seldom right, unless its approach works."""
    if turn.made is None:
        taken = approach(turn) if turn.tried is None else turn.tried
        turn.made = taken, _carried_out(turn, _MENDS * chance(turn, taken))
    return turn.made


def _carried_out(turn: Turn, share: float) -> Work:
    rightly = turn.dice.below("slip", share)
    return turn.latent.ground.work(turn.latent.problem, rightly, turn.dice.roll("work"))


def told(turn: Turn, taken: int, work: Work) -> str:
    """The attempt as a trajectory: its approach, then its steps, numbered."""
    steps = "\n".join(f"Step {at}: {line}" for at, line in enumerate(work.steps, 1))
    return f"I {turn.latent.ground.approaches[taken]}.\n{steps}"
