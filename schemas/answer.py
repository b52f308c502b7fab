"""What leaves: one answer an episode, as consumers get it."""

from __future__ import annotations

from schemas.outcome import Status
from schemas.struct import Struct
from schemas.usage import Usage


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
    """Raw, in [0, 1]; none where unknown."""
    confidence_source: str | None = None
    """What it is made of, such as ``vote_share``; it means nothing beside another's."""
    calibrated: float | None = None
    """The chance of being right; none until enough labels came to fit it."""
    usage: Usage
