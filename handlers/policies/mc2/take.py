"""Another tool's trace as an attempt of a Reasoner that no Monitor and no Controller looked at. Pure.

Its verdict is no part of it: what a batch was closed with says whether the attempt teaches what to do or what to avoid
(``distil.chosen``). One that nobody judged teaches nothing.

Source: MC² eq. (8), (9); design/mc2.md D14.
"""

from __future__ import annotations

from typing import Any

from handlers.policies.mc2.reflect import (
    Excerpts,
    Mc2Reflection,
    Polarity,
    Trajectories,
    grade_alone,
    ratings,
)
from handlers.policies.mc2.settings import Mc2Settings
from handlers.policies.taken import ENDED_BY, told
from handlers.roles.excerpt import excerpt
from schemas.events.traces import TraceTaken

# Taken as one round without a report or a decision. Ended by ``taken`` it is neither accepted
# nor given up, so the rules of selection (eq. 9) pass over it, and only the verdict of its
# batch can choose it.

POLARITIES: dict[str, Polarity] = {"right": "do", "wrong": "avoid"}
"""What an attempt teaches by its verdict; nothing by another."""


def take(taken: TraceTaken, settings: Mc2Settings) -> dict[str, Any]:
    """The reflection of a trace, as plain values."""
    rated = ratings(1, (), (), ENDED_BY)
    return Mc2Reflection(
        ended_by=ENDED_BY,
        rounds=1,
        flags=(),
        actions=(),
        grade=grade_alone(taken.answer),
        ratings=rated,
        tags=rated.tags,
        polarity=None,
        trajectories=Trajectories(reasoner=(taken.answer,)),
        excerpts=Excerpts(trajectory=excerpt(told(taken), settings.excerpt_chars)),
    ).model_dump(mode="json")
