"""What leaves: one answer an episode, as consumers get it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import orjson
from msgspec import convert
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
    """An answer as it lies on its topic; none where anybody wrote what is not one here.

    What a later build says more of an answer is left out.
    """
    # Whoever reads a topic must get past every message on it, or one of them would stop
    # all that come later. What is no JSON and no UTF-8 at all is told by errors of other kinds.
    try:
        return decode(value, type=Answer)
    except ValueError:
        pass
    try:
        said = _known(orjson.loads(value), Answer)
        said["usage"] = _known(said["usage"], Usage)
        # Judgements are said beside an answer: it is one whatever became of their form.
        judged = said.pop("judgements", None)
        with suppress(ValueError, TypeError):
            said["judgements"] = convert(judged, Judgements | None)
        return convert(said, Answer)
    except (ValueError, TypeError, KeyError):
        return None


def _known(said: Any, model: type[Struct]) -> dict[str, Any]:
    """The fields of a JSON object that a struct has. Raises ``TypeError`` where it is no object."""
    if not isinstance(said, dict):
        raise TypeError("no object")
    told = cast("dict[str, Any]", said)
    return {name: told[name] for name in model.__struct_fields__ if name in told}
