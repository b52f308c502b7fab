"""Both sides of a changed text, as a diff of words with a little of what stands around it."""

from __future__ import annotations

from difflib import SequenceMatcher

CONTEXT = 3
WINDOW = 200
"""Words from the first that differs on which are looked at: comparing all with all would take for ever."""


def word_diff(recorded: str, now: str) -> tuple[str, str]:
    """The first change: ``could`` → ``can`` gives ``that [-could-] change`` and ``that [+can+] change``."""
    one, other = recorded.split(), now.split()
    pairs = enumerate(zip(one, other, strict=False))
    # The first change alone is shown, so that nothing far from it has to be compared.
    changed = next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
    start, end = max(0, changed - WINDOW), changed + WINDOW
    before, after = one[start:end], other[start:end]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            return _marked(before, i1, i2, "-"), _marked(after, j1, j2, "+")
    return recorded[:80], now[:80]


def _marked(words: list[str], start: int, end: int, sign: str) -> str:
    changed = " ".join(words[start:end])
    middle = [f"[{sign}{changed}{sign}]"] if changed else []
    return " ".join((*words[max(0, start - CONTEXT) : start], *middle, *words[end : end + CONTEXT]))
