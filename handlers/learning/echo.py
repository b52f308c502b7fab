"""Guidance that a text merely repeats is cut, so that memory does not learn from its own echo."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

# Without this a rule would be distilled from an attempt that recites it, would seem confirmed, and
# would be shown again. Fewer than five words in a row are common speech ("the sum of the two"),
# and are no echo.
WIDTH = 5
"""Words in a row that two texts must share to count as an echo."""
MARK = "[...]"
"""Stands where something was cut; words on its two sides are not in a row."""

Word: TypeAlias = tuple[str, int, int]
Gram: TypeAlias = tuple[str, ...]

_WORD = re.compile(r"\w+|\[\.\.\.\]")


def cut_echoes(text: str, guidance: Iterable[str], width: int = WIDTH) -> str:
    """The text without the spans of at least ``width`` words in a row that stand in a guidance.

    Source: design/architecture.md#learning-and-order.
    """
    # Guidance may have been cut itself. Words left and right of a cut never stood in a row, and a
    # text that was cut in the same way would else be taken for its echo.
    grams = {gram for part in guidance for gram in _grams(_words(part), width)}
    known = {gram for gram in grams if MARK not in gram}
    if not known:
        return text
    words = _words(text)
    spans: list[tuple[int, int]] = []
    for at, gram in enumerate(_grams(words, width)):
        if gram not in known:
            continue
        start, end = words[at][1], words[at + width - 1][2]
        # Echoes that overlap are one: two marks would say that something of its own stood between.
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    pieces: list[str] = []
    kept = 0
    for start, end in spans:
        pieces += [text[kept:start], MARK]
        kept = end
    return "".join((*pieces, text[kept:]))


def _words(text: str) -> list[Word]:
    return [(found[0].casefold(), found.start(), found.end()) for found in _WORD.finditer(text)]


def _grams(words: Sequence[Word], width: int) -> list[Gram]:
    plain = [word for word, _, _ in words]
    return [tuple(plain[at : at + width]) for at in range(len(plain) - width + 1)]
