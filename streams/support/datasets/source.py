"""Sources by name: ``game24:901-1000``, ``gsm8k``, ``math500:1-50`` with a path to their file.

``NAME`` takes every problem, ``NAME:K`` the K-th, ``NAME:FIRST-LAST`` a range; positions count from
1 in the order of the file and both ends are included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, Self

from streams.support.datasets import game24, hotpotqa, mathematics, theoremqa
from streams.support.datasets.record import Record

Reader = Callable[[Path], Iterator[Record | None]]
"""A file's problems in order; ``None`` for an item that cannot be asked."""

_READERS: Final[Mapping[str, Reader]] = {
    "game24": game24.ranked,
    "gsm8k": mathematics.gsm8k,
    "math500": mathematics.math500,
    "aime": mathematics.aime,
    "scibench": mathematics.scibench,
    "theoremqa": theoremqa.read,
    "hotpotqa": hotpotqa.read,
    "hotpotqa_open": hotpotqa.questions,
}
NAMES: Final = tuple(_READERS)
# Digits are bounded: Python refuses to read numbers of thousands of them, with an error
# that names no source.
_SOURCE = re.compile(r"(?P<name>[a-z0-9_]+)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?")


class Records(Iterator[Record]):
    """The problems of a source; ``skipped`` counts items so far that cannot be asked (pictures)."""

    def __init__(self, items: Iterator[Record | None]) -> None:
        self._items = items
        self.skipped = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        for item in self._items:
            if item is not None:
                return item
            self.skipped += 1
        raise StopIteration


def open_source(source: str, *, path: str | None = None) -> Records:
    """The problems of a built-in source; ``ValueError`` names what is wrong with it.

    The file is looked for at once; a malformed line raises when it is reached.
    """
    name, first, last = parse(source)
    if path is None and name == "game24":
        items: Iterator[Record | None] = game24.enumerated()
    elif path is None:
        raise ValueError(f"{name} needs a path to its file")
    elif not Path(path).is_file():
        raise ValueError(f"{name}: no file at {path}")
    else:
        items = _READERS[name](Path(path))
    return Records(_window(items, source, first, last))


def parse(source: str) -> tuple[str, int, int | None]:
    """Name, first and last position of a source (``None``: to the end)."""
    found = _SOURCE.fullmatch(source)
    if found is None or found["name"] not in NAMES:
        raise ValueError(f"{source!r} is no built-in set; these are: {', '.join(NAMES)}")
    first = int(found["first"] or 1)
    last = int(found["last"]) if found["last"] else (first if found["first"] else None)
    if first < 1 or (last is not None and last < first):
        raise ValueError(f"{source!r}: positions count from 1, and the first comes first")
    return found["name"], first, last


def _window(
    items: Iterator[Record | None], source: str, first: int, last: int | None
) -> Iterator[Record | None]:
    """The items at the positions asked for; ``ValueError`` when there are not so many."""
    # Items with pictures count too: a position must mean the same item as in the
    # papers, and to everybody.
    count = first - 1
    for item in islice(items, first - 1, last):
        count += 1
        yield item
    if last is not None and count < last:
        raise ValueError(f"{source!r}: the set ends before position {last}")
