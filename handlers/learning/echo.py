"""Guidance that a text merely repeats is cut, so that memory does not learn from its own echo."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

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
    known = _known(guidance, width)
    return _without(text, _spans(_words(text), known, width)) if known else text


def echoes(text: str, guidance: Iterable[str], width: int = WIDTH) -> bool:
    """Whether the text repeats ``width`` words in a row of a guidance."""
    known = _known(guidance, width)
    return any(gram in known for gram in _grams(_words(text), width))


def _known(guidance: Iterable[str], width: int) -> set[Gram]:
    grams = {gram for part in guidance for gram in _grams(_words(part), width)}
    return {gram for gram in grams if MARK not in gram}


def _words(text: str) -> list[Word]:
    return [(found[0].casefold(), found.start(), found.end()) for found in _WORD.finditer(text)]


def _grams(words: Sequence[Word], width: int) -> list[Gram]:
    plain = [word for word, _, _ in words]
    return [tuple(plain[at : at + width]) for at in range(len(plain) - width + 1)]


def _spans(words: Sequence[Word], known: set[Gram], width: int) -> list[tuple[int, int]]:
    """Where in the text the echoes stand, overlapping ones as one."""
    spans: list[tuple[int, int]] = []
    for at, gram in enumerate(_grams(words, width)):
        if gram not in known:
            continue
        start, end = words[at][1], words[at + width - 1][2]
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += [text[at:start], MARK]
        at = end
    return "".join((*pieces, text[at:]))
