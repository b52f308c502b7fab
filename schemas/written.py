"""JSON that people and their programs write: what stands twice, and one name in two spellings, is refused.

Readers differ in which of two values they take, so a line that says a thing twice says nothing. Whatever comes
in is read here first; what we wrote ourselves is not.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from typing import Any, LiteralString, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from schemas.problem import Feedback, Problem

M = TypeVar("M", bound=BaseModel)

TWICE = "stands twice in one object"
DECOMPOSED = "has accents as characters of their own: write it composed (Unicode NFC)"


class Twice(ValueError):
    """A name stands twice in one object."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: {TWICE}")
        self.name = name


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of one object. Raises ``Twice``."""
    # The usual object is counted only where something is lost by making a dictionary of it.
    found = dict(pairs)
    if len(found) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        raise Twice(next(name for name, times in counted.items() if times > 1))
    return found


def loads(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ``Twice``, or another ``ValueError`` where it is none."""
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def problem_of(raw: bytes) -> Problem:
    """The problem of a message. Raises ``ValidationError``."""
    problem = read(Problem, raw)
    if not is_composed(problem.id):
        raise _wrong(Problem, "id", DECOMPOSED)
    return problem


def readable(raw: bytes) -> Problem | None:
    """The problem of a message, unless no worker could read it."""
    try:
        return problem_of(raw)
    except ValidationError:
        return None


def feedback_of(raw: bytes) -> Feedback:
    """The judgement of a message. Raises ``ValidationError``."""
    feedback = read(Feedback, raw)
    if not is_composed(feedback.problem_id or ""):
        raise _wrong(Feedback, "problem_id", DECOMPOSED)
    return feedback


def read(model: type[M], raw: bytes) -> M:
    """What a message says. Raises ``ValidationError``, also where it says a thing twice."""
    # Read twice: once for what stands twice, which the model's own reader takes without complaint,
    # and once by the model, whose errors name every field.
    try:
        loads(raw)
    except Twice as error:
        raise _wrong(model, error.name, TWICE) from error
    # What is no JSON at all is the model's to say, with its place in the text.
    except ValueError:
        pass  # the model says what is wrong with it
    return model.model_validate_json(raw)


def _wrong(model: type[BaseModel], field: str, what: LiteralString) -> ValidationError:
    details = InitErrorDetails(type=PydanticCustomError("written", what), loc=(field,), input=None)
    return ValidationError.from_exception_data(model.__name__, [details])


def is_composed(name: str) -> bool:
    """Whether a name is spelled as Unicode composes it: ``é`` and ``e`` with an accent behind it look the same."""
    # Two spellings that look the same would be two problems, and feedback on one would miss the
    # other.
    return name.isascii() or unicodedata.is_normalized("NFC", name)
