"""Which memory items an episode is reminded of: a pure function of memory, question and query vector.

Source: MC² eq. (12), (15), (16): cosine between the problem and each live lesson, the top k, all if
fewer. Decisions compare similarities rounded to 1e-9; ties go by id.
"""

from __future__ import annotations

from collections.abc import Sequence

from handlers.learning.cosine import cosine
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall
from schemas.vectors import unpack

Hit = tuple[MemoryItem, float | None]


def select(memory: Memory, question: Recall, query: Sequence[float]) -> list[Hit]:
    """For each role its rules in order, then its ``top`` nearest lessons."""
    hits: list[Hit] = []
    for role in question.roles:
        if "rule" in question.kinds:
            hits.extend((rule, None) for rule in memory.of(role, "rule"))
        if "lesson" in question.kinds:
            hits.extend(nearest(memory.of(role, "lesson"), question, query))
    return hits


def nearest(lessons: Sequence[MemoryItem], question: Recall, query: Sequence[float]) -> list[Hit]:
    """The ``top`` lessons most similar to the query that did not come from the same problem."""
    scored = [
        (item, round(cosine(query, unpack(item.vector)), 9) if item.vector else 0.0)
        for item in lessons
        if not question.exclude or item.subject != question.exclude
    ]
    scored.sort(key=lambda hit: (-hit[1], hit[0].id))
    return [(item, similarity) for item, similarity in scored[: question.top]]
