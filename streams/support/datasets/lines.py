"""Files of problems: JSON by line or as one array; what is wrong is named with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

LINE_CHARS = 4 << 20


def json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object of a JSONL file with its place ``FILE:LINE``; blank lines are passed over."""
    with path.open(encoding="utf-8-sig") as file:
        # Read in bounded pieces: the file may be anything, and one endless line must
        # not fill the memory.
        for number, line in enumerate(iter(partial(file.readline, LINE_CHARS + 1), ""), 1):
            place = f"{path.name}:{number}"
            if len(line) > LINE_CHARS:
                raise ValueError(f"{place}: longer than {LINE_CHARS:,} characters")
            if line.strip():
                yield place, _object(place, _parsed(place, line))


def json_array(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every object of a JSON array with its place ``FILE[INDEX]``; of JSONL (a hub's) by line."""
    # A hub's data set is always kept by line, whatever form its authors gave it.
    if path.suffix == ".jsonl":
        yield from json_lines(path)
        return
    items = _parsed(path.name, path.read_text(encoding="utf-8-sig"))
    if not isinstance(items, list):
        raise ValueError(f"{path.name}: an array is expected")
    for index, item in enumerate(cast("list[object]", items)):
        yield f"{path.name}[{index}]", _object(f"{path.name}[{index}]", item)


def text_of(place: str, item: Mapping[str, Any], name: str) -> str:
    """A field that must be a text with something in it."""
    value = item.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{place}: {name}: {'missing' if value is None else 'a text is expected'}")
    return value


def _parsed(place: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{place}: not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{place}: not JSON: nested too deep") from error


def _object(place: str, item: object) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise ValueError(f"{place}: an object is expected")
    return cast("dict[str, Any]", item)
