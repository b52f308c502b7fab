"""HotpotQA (Yang et al. 2018): questions over two paragraphs, closed-book or with ten of them.

An item with ``context`` is of the distractor setting: its paragraphs stand before the question, or,
as ``hotpotqa_open``, they are left to a search. ``SPLITS`` are positions of the 100 distractor items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from streams.support.datasets.lines import json_lines, text_of
from streams.support.datasets.record import Record, record

SPLITS: Mapping[str, range] = {
    "memory": range(1, 21),
    "weights": range(21, 71),
    "evaluation": range(71, 101),
}
"""Who learns from which positions: paths and principles, weights; and what is evaluated on."""


def read(path: Path) -> Iterator[Record]:
    """Every question, with its paragraphs if it has any."""
    for number, (place, item) in enumerate(json_lines(path), 1):
        # Each paragraph as ``Title: sentences`` with an empty line behind it: the question comes
        # last, where models look for it. A closed-book item has none.
        paragraphs = _pairs(place, item) if "context" in item else []
        before = "".join(f"{title}: {text}\n\n" for title, text in paragraphs)
        problem = before + text_of(place, item, "question")
        label = text_of(place, item, "answer")
        kind, level = item.get("type"), item.get("level")
        yield record("hotpotqa", _id(item, path, number), problem, label, type=kind, level=level)


def questions(path: Path) -> Iterator[Record]:
    """Every question by itself, for those who may search: the paragraphs are the corpus."""
    for number, (place, item) in enumerate(json_lines(path), 1):
        label = text_of(place, item, "answer")
        name = _id(item, path, number)
        yield record("hotpotqa", name, text_of(place, item, "question"), label)


def passages(path: Path) -> Iterator[tuple[str, str]]:
    """Every paragraph of a distractor file once, as title and text."""
    seen: set[bytes] = set()  # digests: a whole encyclopedia would not fit
    for place, item in json_lines(path):
        for title, text in _pairs(place, item):
            said = f"{title}\n{text}".encode("utf-8", "surrogatepass")
            digest = blake2b(said, digest_size=16).digest()
            if digest not in seen:
                seen.add(digest)
                yield title, text


def supporting(path: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """Every question with the titles of the paragraphs that it takes to answer it."""
    for place, item in json_lines(path):
        try:
            titles = frozenset(map(str, item["supporting_facts"]["title"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{place}: supporting_facts: titles are expected") from error
        yield text_of(place, item, "question"), titles


def evaluable(closed_book: Path, graph: Path) -> Iterator[Record]:
    """The closed-book questions that no graph was built on: those of the distractor file stay out."""
    # By text, as the two files number their items each in its own way.
    known = {text_of(place, item, "question") for place, item in json_lines(graph)}
    return (each for each in read(closed_book) if each["problem"] not in known)


def _id(item: Mapping[str, Any], path: Path, number: int) -> str:
    if isinstance(item.get("dev_index"), int):
        return f"dev-{item['dev_index']}"
    return str(item.get("id") or f"{path.stem}-{number}")


def _pairs(place: str, item: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Titles and texts of an item's paragraphs."""
    try:
        titles, sentences = item["context"]["title"], item["context"]["sentences"]
        pairs = zip(titles, sentences, strict=True)
        return [(str(title), "".join(parts).strip()) for title, parts in pairs]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{place}: context: titles and sentences are expected") from error
