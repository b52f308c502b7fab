"""Both sides of a changed text, as a diff of words with a little of what stands around it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

CONTEXT = 3


def word_diff(recorded: str, now: str) -> tuple[str, str]:
    """The first change: ``could`` → ``can`` gives ``that [-could-] change`` and ``that [+can+] change``."""
    before, after = re.findall(r"\S+", recorded), re.findall(r"\S+", now)
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            return _marked(before, i1, i2, "-"), _marked(after, j1, j2, "+")
    return recorded[:80], now[:80]


def _marked(words: list[str], start: int, end: int, sign: str) -> str:
    changed = " ".join(words[start:end])
    middle = [f"[{sign}{changed}{sign}]"] if changed else []
    return " ".join((*words[max(0, start - CONTEXT) : start], *middle, *words[end : end + CONTEXT]))
