"""What answers are, as the command line says it: a word, or a JSON object."""

from __future__ import annotations

from typing import Any

import orjson

from schemas.answer_type import AnswerType
from streams.interfaces.cli.errors import CliError, usage
from streams.producing.typed import BadType, answer_type_of

OPTION = "--answer-type"


def given_type(said: str | None) -> AnswerType | None:
    """The type. Raises a usage error that names what is wrong with it."""
    if said is None:
        return None
    value: Any = said
    # A word is a type without options; only an object needs to be JSON.
    if said.lstrip().startswith("{"):
        try:
            value = orjson.loads(said)
        except ValueError as error:
            raise usage(f"is no JSON: {error}", field=OPTION) from error
    try:
        return answer_type_of(value)
    except BadType as error:
        raise as_usage(error) from error


def as_usage(error: BadType) -> CliError:
    """A usage error for a type that nobody could answer by."""
    part = error.field.removeprefix("answer_type").lstrip(".")
    return usage(f"{part}: {error.what}" if part else error.what, field=OPTION)
