"""What leaves: one answer an episode, as consumers get it."""

from __future__ import annotations

from msgspec.json import decode

from schemas.outcome import Status
from schemas.struct import NonNegativeInt, Struct
from schemas.usage import Usage


class Judgements(Struct):
    """How many judgements of the work (reports, scores, decisions of a model) could be read, and how many not."""

    read: NonNegativeInt
    unread: NonNegativeInt


class Answer(Struct):
    """An answer on its topic; its key is the episode, so the same answer twice is one answer."""

    problem_id: str
    episode: str
    domain: str
    policy: str
    status: Status
    ended_by: str
    """What ended it, always said."""
    answer: str | None
    """None where it abstained, or a limit or defect left none."""
    confidence: float | None
    """What the policy claimed, in [0, 1]; none where unknown."""
    confidence_source: str | None = None
    """What it is made of, such as ``vote_share``; it means nothing beside another's."""
    calibrated: float | None = None
    """The chance of being right; none until enough labels came to fit it."""
    usage: Usage
    judgements: Judgements | None = None
    """Said only where some could not be read: where none could, nobody judged what the policy answers."""
    plain: str | None = None
    """The answer in plain text, said only where it differs: ``1/2`` beside a fraction in LaTeX."""


def as_answer(value: str | bytes) -> Answer | None:
    """An answer as it lies on its topic; none where another build, or anybody, wrote what is not one here."""
    # Whoever reads a topic must get past every message on it, or one of them would stop
    # all that come later. What is no JSON and no UTF-8 at all is told by errors of other kinds.
    try:
        return decode(value, type=Answer)
    except ValueError:
        return None
