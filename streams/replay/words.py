"""Both sides of a changed text, as a diff of words with a little of what stands around it."""

from __future__ import annotations

from difflib import SequenceMatcher

CONTEXT = 3
WINDOW = 200
"""Words from the first that differs on which are looked at: comparing all with all would take for ever."""


def word_diff(recorded: str, now: str) -> tuple[str, str]:
    """The first change: ``could`` → ``can`` gives ``that [-could-] change`` and ``that [+can+] change``."""
    before, after = _around_change(recorded.split(), now.split())
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            return _marked(before, i1, i2, "-"), _marked(after, j1, j2, "+")
    return recorded[:80], now[:80]


def _around_change(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """Both from a little before the first word in which they differ, at most ``WINDOW`` words of it."""
    pairs = enumerate(zip(before, after, strict=False))
    changed = next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))
    start = max(0, changed - WINDOW)
    return before[start : changed + WINDOW], after[start : changed + WINDOW]


def _marked(words: list[str], start: int, end: int, sign: str) -> str:
    changed = " ".join(words[start:end])
    middle = [f"[{sign}{changed}{sign}]"] if changed else []
    return " ".join((*words[max(0, start - CONTEXT) : start], *middle, *words[end : end + CONTEXT]))
