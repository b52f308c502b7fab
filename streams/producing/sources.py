"""Reading a source of problems line by line; what is wrong with a line is said with its place and field."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from pydantic import BaseModel, ValidationError

from schemas.identity import canonical
from schemas.problem import ProblemRecord, finite
from schemas.written import DECOMPOSED, TWICE, Twice, is_composed, loads
from streams.support import datasets

M = TypeVar("M", bound=BaseModel)

LINE_BYTES = 16 << 20
"""The longest problem, spelled in JSON's longest escapes, takes a fifth of it; what is longer is no record."""
FORMS = {
    b"\x1f\x8b": "compressed by gzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\xfd7zXZ\0": "compressed by xz",
    b"BZh": "compressed by bzip2",
    b"PK\x03\x04": "a zip archive",
    b"PAR1": "Parquet",
    b"SQLite format 3\0": "a file of SQLite",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"{\0": "UTF-16",
    b"\0{": "UTF-16",
}
"""How a file begins that is not made of lines, and what it is."""
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
        yield from _numbered(sys.stdin.buffer, source)
    elif built_in(source):
        # As lines of JSON, so that they are read as strictly as anybody's, and refused lines
        # have bytes to keep.
        try:
            for number, record in enumerate(datasets.open_source(source, path=data), 1):
                said = {name: value for name, value in record.items() if name != "traits"}
                yield SourceLine(number, json.dumps(said, ensure_ascii=False).encode())
        except ValueError as error:
            raise NoSource(str(error)) from error
    else:
        try:
            with open(source, "rb") as file:
                yield from _numbered(file, source)
        except OSError as error:
            raise NoSource(f"{source}: {error.strerror or error}") from error


def _numbered(file: BinaryIO, source: str) -> Iterator[SourceLine]:
    """The lines that say something; of one that is too long only its beginning, which ``parse`` refuses.

    Raises ``NoSource`` for what has no lines.
    """
    # Two bytes more than a line may have, for its end. What is behind them is read past and never
    # held: a file of one endless line must not fill the memory.
    for number, raw in enumerate(iter(partial(file.readline, LINE_BYTES + 2), b""), 1):
        # Each stretch between two bytes that happen to end a line would be refused, and kept for ever.
        if number == 1 and (begins := tuple(filter(raw.startswith, FORMS))):
            raise NoSource(f"{source}: this is {FORMS[begins[0]]}, and not JSON Lines in UTF-8")
        # Windows writes a mark before the first line, which nobody sees. As much is read in its
        # stead, so that a line that is too long still is.
        if number == 1 and raw.startswith(codecs.BOM_UTF8):
            raw = raw.removeprefix(codecs.BOM_UTF8)
            raw += b"" if raw.endswith(b"\n") else file.readline(len(codecs.BOM_UTF8))
        rest = raw
        while len(rest) == LINE_BYTES + 2 and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES + 2)
        if raw.strip():
            yield SourceLine(number, raw.rstrip(b"\r\n"))


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
        # Whether any of it is kept, says whoever keeps it.
        what = f"longer than {LINE_BYTES:,} bytes, and was not read to its end"
        raise BadLine(1, "", what, "input.size")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"not UTF-8: {error.reason}"
        raise BadLine(error.start + 1, "", what, "input.encoding") from error
    found = _json(text)
    if not isinstance(found, dict):
        what = f"expected an object, found {_FOUND.get(type(cast('object', found)), 'a number')}"
        raise BadLine(1, "", what, "input.type")
    value = cast("dict[str, Any]", found)
    _check_values(text, value)
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        raise _bad_field(text, error) from error
    except (ValueError, RecursionError) as error:
        raise BadLine(1, "", str(error)[:200], "input.value") from error


def _check_values(text: str, value: dict[str, Any]) -> None:
    """Raises ``BadLine`` for values from which no name can be made, or names with more than one spelling."""
    # Huge numbers and lone surrogates have no canonical JSON, and an episode's name
    # is a digest of that.
    for field, part in value.items():
        try:
            canonical(finite(part))
        except (TypeError, ValueError) as error:
            raise BadLine(_column(text, field), field, str(error)[:200], "input.value") from error
        except RecursionError as error:
            raise BadLine(_column(text, field), field, "nested too deep", "input.value") from error
    # Unicode can spell one letter in two ways: what looks like one problem would be two.
    for field in ("id", "problem_id"):
        name = value.get(field)
        if isinstance(name, str) and not is_composed(name):
            raise BadLine(_column(text, field), field, DECOMPOSED, "input.field")


def _json(text: str) -> Any:
    try:
        return loads(text)
    except json.JSONDecodeError as error:
        raise BadLine(error.colno, "", f"not JSON: {error.msg}", "input.json") from error
    except Twice as error:
        field = error.name[:FIELD_CHARS]
        raise BadLine(_column(text, error.name, 2), field, TWICE, "input.field") from error
    except ValueError as error:
        # Python refuses numbers of thousands of digits, and its advice on that is for programmers.
        said, _, _ = str(error).partition("; use sys.")
        raise BadLine(1, "", f"not JSON: {said}"[:200], "input.json") from error


_FOUND: dict[type[Any], str] = {
    type(None): "null",
    bool: "a boolean",
    str: "a string",
    list: "a list",
}
"""What a line may be instead of an object."""


def _bad_field(text: str, error: ValidationError) -> BadLine:
    """The first thing that is wrong with a line, without quoting much of it."""
    first, *others = error.errors(include_url=False)
    if any(other["loc"][:1] == first["loc"][:1] != other["loc"] for other in others):
        kinds = [each["loc"][1] for each in (first, *others) if len(each["loc"]) > 1]
        if all(kind in _KINDS for kind in kinds):
            # A field that takes several kinds of values has an error for each. Any single one would
            # tell people to write that kind.
            *names, last = (_KINDS[str(kind)] for kind in kinds)
            first["loc"] = first["loc"][:1]
            first["msg"] = f"expected {', '.join(names)} or {last}"
    field = ".".join(str(part) for part in first["loc"])
    column = _column(text, str(first["loc"][0])) if first["loc"] else 1
    what, given = first["msg"].removeprefix("Value error, "), first.get("input")
    match first["type"]:
        case "extra_forbidden":
            what = "unknown field"
        case "missing":
            what = "is missing"
        case "string_too_long" if isinstance(given, str):
            what = f"{len(given):,} characters; {first['msg'][0].lower()}{first['msg'][1:]}"
        case _:
            pass
    return BadLine(column, field[:FIELD_CHARS], what, "input.field")


_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "a boolean",
    "list[any]": "a list",
}
