"""TheoremQA (Chen et al. 2023): theorems applied, with answers of six types.

Items with a picture cannot be asked in words: they are skipped and counted. The label keeps the
type in its spelling (``True``, ``[0, 5]``, ``(a)``, ``11760``, ``0.33``): the grader reads it. The authors'
file holds answers as JSON values; the hub serves each as a text, with its type beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from streams.support.datasets.lines import json_array, text_of
from streams.support.datasets.record import Record, record

_TYPES = {
    "bool": bool, "integer": int, "float": float, "option": str,
    "list of integer": list, "list of float": list,
}  # fmt: skip


def read(path: Path) -> Iterator[Record | None]:
    """Every item in words; ``None`` for one that needs its picture."""
    for number, (place, item) in enumerate(json_array(path), 1):
        if item.get("Picture") is not None:
            yield None
            continue
        name = str(item.get("id") or f"{path.stem}-{number}").removesuffix(".json")
        problem = text_of(place, item, "Question")
        field, label = item.get("field"), _label(place, item)
        yield record("theoremqa", name.replace("/", "-"), problem, label, field=field)


def _label(place: str, item: Mapping[str, Any]) -> str:
    answer, kind = item.get("Answer"), text_of(place, item, "Answer_type")
    expected = _TYPES.get(kind)
    if expected is None:
        raise ValueError(f"{place}: Answer_type: {kind!r} is none of {', '.join(_TYPES)}")
    # The hub serves every answer as a text. One that is none of its type stays a text,
    # and is refused below.
    if isinstance(answer, str) and expected is bool:
        answer = {"true": True, "false": False}.get(answer.strip().casefold(), answer)
    elif isinstance(answer, str) and expected is not str:
        with suppress(ValueError, RecursionError):
            answer = json.loads(answer.strip())
        if expected is float and isinstance(answer, int) and not isinstance(answer, bool):
            answer = float(answer)
    # To Python a truth value is a whole number, and to no mathematician.
    if not isinstance(answer, expected) or (expected is int and isinstance(answer, bool)):
        raise ValueError(f"{place}: Answer: not of its type, {kind}")
    if isinstance(answer, list):
        return "[" + ", ".join(map(repr, cast("list[object]", answer))) + "]"
    return str(answer)
