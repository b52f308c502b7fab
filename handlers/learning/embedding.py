"""Vectors of a memory by another embedder: asked for once, recorded, and folded into its next revision."""

from __future__ import annotations

from collections.abc import Callable

from schemas.asking import Steps
from schemas.memory import Memory, MemoryItem
from schemas.questions import Embed

TOGETHER = 128
"""Texts of one question, so that its record stays small."""


def embed_anew(memory: Memory, found_by: Callable[[MemoryItem], str]) -> Steps[None]:
    """One vector for each item that has one, in order, by what it is found by."""
    texts = [found_by(item) for item in memory.embedded()]
    for start in range(0, len(texts), TOGETHER):
        yield from Embed(tuple(texts[start : start + TOGETHER]))
