"""JSON answers: read to the last digit, held against their schema within bounds, and written one way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from typing import Any, cast

import orjson

from schemas.answer_type import AnswerType, WrongForm

JSON_CHARS = 16_384
"""No JSON answer is longer: what is held against a schema may take its square."""
# Python's own parser and the validator recurse; at this depth neither runs out of stack.
JSON_DEPTH = 64
WORK = 200_000
"""So many times at most a value of an answer is held against a part of its schema."""
WHOLE = 1 << 53
"""Below it a float says each whole number exactly."""
# A fence is found line by line, because a pattern over a whole text takes the square of its length
# where many fences open and none closes.
_OPENS = re.compile(r"(```|~~~)[`~]{0,9}[\w+-]{0,20}[ \t]{0,9}")


def json_form(said: AnswerType, answer: object) -> str:
    """A JSON value, or a text that is one, with sorted keys. Raises ``WrongForm`` for what its schema refuses."""
    if not isinstance(answer, str):
        return _held(said, answer)
    try:
        return _held(said, loaded(answer))
    except WrongForm:
        # Where a text is asked for it needs no quotes.
        if (
            not {"enum", "const"} & (said.shape or {}).keys()
            and (said.shape or {}).get("type") != "string"
        ):
            raise
        return _held(said, answer.strip())


def _held(said: AnswerType, answer: object) -> str:
    checker, parts = _checker(said)
    value = _plain_numbers(answer, 0)
    # Whoever puts problems writes the schema and a model writes the value. Neither may make a
    # worker hang, so the product of both is bounded before the validator sees them.
    if _size(value) * parts > WORK:
        raise WrongForm("is too long to be held against its schema")
    try:
        error = next(checker.iter_errors(value), None)
        if error is None:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
        where = "".join(f"[{each!r}]" for each in error.absolute_path)[:200]
        rule = orjson.dumps(error.validator_value).decode()[:200]
    except (ArithmeticError, TypeError, RecursionError, ValueError):
        raise WrongForm(
            "holds what cannot be written as JSON, or be held against the schema"
        ) from None
    raise WrongForm(
        f"holds not to the schema{' at ' + where if where else ''}: {error.validator} {rule}"
    )


def _plain_numbers(value: Any, depth: int) -> Any:
    """The value with whole numbers written as such: ``1.0`` says what ``1`` does."""
    if depth > JSON_DEPTH:
        raise WrongForm("nests too deep")
    match value:
        case bool() | None | str():
            return value
        # orjson writes no larger ones, and what cannot be written cannot be delivered.
        case int() if not -(1 << 63) <= value < 1 << 64:
            raise WrongForm("holds a number of more than 64 bits")
        case float() if not isfinite(value) or (value.is_integer() and abs(value) > WHOLE):
            raise WrongForm("holds a number that is too large")
        case float():
            return int(value) if value.is_integer() else value
        case list():
            return [_plain_numbers(each, depth + 1) for each in cast("list[Any]", value)]
        case dict():
            said = cast("dict[str, Any]", value)
            return {str(key): _plain_numbers(each, depth + 1) for key, each in said.items()}
        case _:
            return value


def _size(value: Any) -> int:
    """How many values a value holds, itself among them."""
    if isinstance(value, dict):
        return 1 + sum(map(_size, cast("dict[str, Any]", value).values()))
    return 1 + sum(map(_size, cast("list[Any]", value))) if isinstance(value, list) else 1


def fenced(text: str) -> list[str]:
    """What stands in fences that are opened and closed, in order."""
    found: list[str] = []
    mark: str | None = None
    inside: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        bare = line[:80].strip() if len(line) < 80 else ""
        if mark is None:
            opens = _OPENS.fullmatch(bare)
            mark, inside = (None if opens is None else opens[1]), []
        elif bare.startswith(mark) and not bare.strip("`~"):
            found.append("\n".join(inside))
            mark = None
        else:
            inside.append(line)
    return found


def loaded(text: str) -> Any:
    """The JSON value that a text is, perhaps in a fence. Raises ``WrongForm``."""
    fences = fenced(text) if len(text) <= 4 * JSON_CHARS else []
    bare = (fences[0] if len(fences) == 1 else text).strip()
    if len(bare) > JSON_CHARS:
        raise WrongForm(f"is longer than {JSON_CHARS:,} characters")
    try:
        # Numbers of more than 64 bits are told apart here; orjson would round them.
        return json.loads(bare, parse_constant=refused)
    except (ValueError, RecursionError):
        raise WrongForm("is no JSON value") from None


def refused(constant: str) -> Any:
    """Not a number, and what has no end, are no JSON."""
    raise ValueError(constant)


def _unique(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[Any]:
    """The rule of uniqueItems, in one pass: the library's own takes the square of a list's length."""
    from jsonschema import ValidationError

    if wanted and isinstance(instance, list):
        said = cast("list[Any]", instance)
        if len({orjson.dumps(each, option=orjson.OPT_SORT_KEYS) for each in said}) < len(said):
            yield ValidationError("items are not unique")


@lru_cache(maxsize=64)
def _checker(said: AnswerType) -> tuple[Any, int]:
    """The validator of a type's schema, and how many parts the schema has; made once for each type."""
    # Imported where it is needed, because it is large and most logs hold no JSON answer.
    from jsonschema import Draft202012Validator, validators

    extend: Any = cast("Any", validators).extend
    checker = extend(Draft202012Validator, {"uniqueItems": _unique})
    return checker(said.shape or {}), _size(said.shape)
