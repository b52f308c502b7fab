"""What a cosine means by each embedder: from where on two texts have to do with each other, or say the same.

Read off our own 24 pairs of a lesson and a question in other words (``tests/streams/embedders``): of MiniLM's
cosines 96 % of a lesson's own lie above its floor and 82 % of another's below; hashed n-grams see no meaning, and
theirs only keeps out what shares next to no letters. Two lessons that differ in what to do, and in nothing else,
were seen at .95 by letters: there only what is next to the same letter by letter says the same.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Likeness(NamedTuple):
    """Cosines: below ``floor`` two texts have nothing to do with each other, from ``same`` on they are one."""

    floor: float
    same: float


# Hashed n-grams are told by their name; every other embedder is taken for one that knows meaning.
USUAL: Final = Likeness(0.20, 0.95)
BY_LETTERS: Final = Likeness(0.15, 0.98)


def likeness_of(embedder: str | None) -> Likeness:
    """What cosines of an embedder's vectors mean, by its full name."""
    return BY_LETTERS if (embedder or "").startswith("hashed") else USUAL
