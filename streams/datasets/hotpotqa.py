"""HotpotQA (Yang et al. 2018): questions over two paragraphs, closed-book or with ten of them.

An item with ``context`` is of the distractor setting: its paragraphs stand before the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streams.datasets.lines import json_lines, text_of
from streams.datasets.record import Record, record


def read(path: Path) -> Iterator[Record]:
    """Every question, with its paragraphs if it has any."""
    for number, (place, item) in enumerate(json_lines(path), 1):
        problem = _paragraphs(place, item) + text_of(place, item, "question")
        label = text_of(place, item, "answer")
        kind, level = item.get("type"), item.get("level")
        yield record("hotpotqa", _id(item, path, number), problem, label, type=kind, level=level)


def _id(item: Mapping[str, Any], path: Path, number: int) -> str:
    if isinstance(item.get("dev_index"), int):
        return f"dev-{item['dev_index']}"
    return str(item.get("id") or f"{path.stem}-{number}")


def _paragraphs(place: str, item: Mapping[str, Any]) -> str:
    """Each paragraph as ``Title: sentences``, with an empty line behind it."""
    if "context" not in item:
        return ""
    try:
        titles, sentences = item["context"]["title"], item["context"]["sentences"]
        pairs = list(zip(titles, sentences, strict=True))
        return "".join(f"{title}: {''.join(parts).strip()}\n\n" for title, parts in pairs)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{place}: context: titles and sentences are expected") from error
