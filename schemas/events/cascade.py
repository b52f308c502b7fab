"""Facts of a cascade: how far its answers are to be trusted so far, and what became of each of them."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from schemas.events.base import Act, Event
from schemas.outcome import Outcome
from schemas.struct import NonNegativeInt, PositiveInt, always

GradedBy: TypeAlias = Literal["label", "agreement"]
"""Whether a label told which candidates are right, or only what independent opinions confirmed."""


class AnswerWeighed(Event, tag="answer.weighed"):
    """The answers so far were weighed: which one leads, and with which chance it is right."""

    act: ClassVar[Act] = "assessed"
    round: NonNegativeInt
    arm: str | None = None
    """What brought the newest answers; none for the first chains."""
    came: str | None = None
    """The answer that this arm stands for; none where it gave none, and for chains, which vote."""
    answer: str | None = None
    """The leading answer; none while there is none that can be read."""
    chance: float
    """The estimated chance that it is right, in [0, 1]."""
    votes: NonNegativeInt
    """Chains that give the answer with most votes."""
    runner_up: NonNegativeInt
    """Chains that give the next one."""
    of: PositiveInt
    """Chains so far, those without an answer that can be read too."""
    spent: float
    """What was spent since the weighing before, in calls of the cheap model."""
    context: tuple[float, ...] = always(())
    """What the choice of the next arm hangs on."""


class CandidatesGraded(Event, tag="candidates.graded"):
    """The answers that one episode had to choose from were compared with its label, or with each other."""

    act: ClassVar[Act] = "learned"
    episode: str
    subject: str
    by: GradedBy
    outcomes: tuple[Outcome, ...]
    """Of each different answer, in the order in which they came up."""
