"""Reading a source of problems line by line; what is wrong with a line is said with its place and field."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from pydantic import BaseModel, ValidationError

from schemas.identity import canonical
from schemas.problem import ProblemRecord, finite
from schemas.written import DECOMPOSED, TWICE, Twice, is_composed, once
from streams.support import datasets

M = TypeVar("M", bound=BaseModel)

LINE_BYTES = 16 << 20
"""The longest problem, spelled in JSON's longest escapes, takes a fifth of it; what is longer is no record."""
FIELD_CHARS = 100
"""Of a field's name that are said; a line may name it as it likes."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of a source with its number, from 1."""

    number: int
    raw: bytes


class BadLine(ValueError):
    """A line cannot be taken. ``column`` counts from 1; ``code`` is stable."""

    def __init__(self, column: int, field: str, what: str, code: str) -> None:
        super().__init__(f"{field}: {what}" if field else what)
        self.column, self.field, self.what, self.code = column, field, what, code


class NoSource(ValueError):
    """There is nothing to read under this name."""


def built_in(source: str) -> bool:
    """Whether this names one of the built-in sets rather than a file."""
    return source.partition(":")[0] in datasets.NAMES and not Path(source).is_file()


def lines_of(source: str, data: str | None) -> Iterator[SourceLine]:
    """The lines of a file, of standard input (``-``), or of a built-in set. Raises ``NoSource``."""
    if source == "-":
        yield from _numbered(sys.stdin.buffer)
    elif built_in(source):
        yield from _from_set(source, data)
    else:
        try:
            with open(source, "rb") as file:
                yield from _numbered(file)
        except OSError as error:
            raise NoSource(f"{source}: {error.strerror or error}") from error


def _numbered(file: BinaryIO) -> Iterator[SourceLine]:
    """The lines that say something; of one that is too long only its beginning, which ``parse`` refuses."""
    for number, raw in enumerate(iter(partial(file.readline, LINE_BYTES + 2), b""), 1):
        rest = raw
        while len(rest) == LINE_BYTES + 2 and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES + 2)
        if raw.strip():
            yield SourceLine(number, raw.rstrip(b"\r\n"))


def _from_set(source: str, data: str | None) -> Iterator[SourceLine]:
    try:
        for number, record in enumerate(datasets.open_source(source, path=data), 1):
            said = {name: value for name, value in record.items() if name != "traits"}
            yield SourceLine(number, json.dumps(said, ensure_ascii=False).encode())
    except ValueError as error:
        raise NoSource(str(error)) from error


def _column(text: str, field: str, time: int = 1) -> int:
    """Where a name stands for the so-manieth time, else the line's first column."""
    at = -1
    for _ in range(time):
        at = text.find(f'"{field}"', at + 1)
    return max(at, 0) + 1


def parse(raw: bytes) -> ProblemRecord:
    """The record on a line. Raises ``BadLine``."""
    return parse_as(ProblemRecord, raw)


def parse_as(model: type[M], raw: bytes) -> M:
    """What a line says, read strictly. Raises ``BadLine`` naming column and field."""
    if len(raw) > LINE_BYTES:
        raise BadLine(
            1, "", f"longer than {LINE_BYTES:,} bytes, and no more of it is kept", "input.size"
        )
    text = _text(raw)
    found = _json(text)
    if not isinstance(found, dict):
        raise BadLine(1, "", f"expected an object, found {_name_of(found)}", "input.type")
    value = cast("dict[str, Any]", found)
    _check_canonical(text, value)
    _check_names(text, value)
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        raise _bad_field(text, error) from error
    except (ValueError, RecursionError) as error:
        raise BadLine(1, "", str(error)[:200], "input.value") from error


def _check_canonical(text: str, value: dict[str, Any]) -> None:
    """Huge numbers and lone surrogates have no canonical JSON, so no name could be made of them."""
    for field, part in value.items():
        try:
            canonical(finite(part))
        except (TypeError, ValueError) as error:
            raise BadLine(_column(text, field), field, str(error)[:200], "input.value") from error
        except RecursionError as error:
            raise BadLine(_column(text, field), field, "nested too deep", "input.value") from error


def _check_names(text: str, value: dict[str, Any]) -> None:
    """One name has one spelling, or what looks like one problem would be two."""
    for field in ("id", "problem_id"):
        name = value.get(field)
        if isinstance(name, str) and not is_composed(name):
            raise BadLine(_column(text, field), field, DECOMPOSED, "input.field")


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLine(
            error.start + 1, "", f"not UTF-8: {error.reason}", "input.encoding"
        ) from error


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise BadLine(error.colno, "", f"not JSON: {error.msg}", "input.json") from error
    except RecursionError as error:
        raise BadLine(1, "", "not JSON: nested too deep", "input.json") from error
    except Twice as error:
        field = error.name[:FIELD_CHARS]
        raise BadLine(_column(text, error.name, 2), field, TWICE, "input.field") from error
    except ValueError as error:
        said, _, _ = str(error).partition("; use sys.")  # Python's advice on long numbers is for us
        raise BadLine(1, "", f"not JSON: {said}"[:200], "input.json") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _name_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "a number"


def _bad_field(text: str, error: ValidationError) -> BadLine:
    first, *others = error.errors(include_url=False)
    if any(other["loc"][:1] == first["loc"][:1] != other["loc"] for other in others):
        kinds = [each["loc"][1] for each in (first, *others) if len(each["loc"]) > 1]
        if all(kind in _KINDS for kind in kinds):  # every branch of a union says no
            first["loc"], first["msg"] = first["loc"][:1], _one_of([_KINDS[str(k)] for k in kinds])
    field = ".".join(str(part) for part in first["loc"])
    column = _column(text, str(first["loc"][0])) if first["loc"] else 1
    return BadLine(
        column,
        field[:FIELD_CHARS],
        _words(first["type"], first["msg"], first.get("input")),
        "input.field",
    )


_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "a boolean",
    "list[any]": "a list",
}


def _one_of(kinds: list[str]) -> str:
    return f"expected {', '.join(kinds[:-1])} or {kinds[-1]}"


def _words(kind: str, message: str, given: Any) -> str:
    """What is wrong with a field, without quoting much of it."""
    match kind:
        case "extra_forbidden":
            return "unknown field"
        case "missing":
            return "is missing"
        case "string_too_long" if isinstance(given, str):
            return f"{len(given):,} characters; {message[0].lower()}{message[1:]}"
        case _:
            return message.removeprefix("Value error, ")


Progress = Callable[[int], None]
