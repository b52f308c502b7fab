"""Which memory items an episode is reminded of: a pure function of memory, question and query vector.

Source: MC² eq. (12), (15), (16): cosine between the problem and each live lesson, the top k, all if
fewer. Decisions compare similarities rounded to 1e-9; ties go by id. Ours: who asks for what is related gets
nothing below the embedder's floor, and of lessons that say the same the one that is nearest.
"""

from __future__ import annotations

from collections.abc import Sequence

from handlers.learning.cosine import cosine
from handlers.learning.likeness import USUAL, Likeness, likeness_of
from handlers.learning.sameness import Pointed
from schemas.memory import Memory, MemoryItem
from schemas.questions import Recall, RecalledItem
from schemas.vectors import unpack

# The mirror in ``state`` proposes candidates in single precision, and ``nearest`` decides among
# them here. So nothing that is shown hangs on single precision, or on who proposed.

Hit = tuple[MemoryItem, float | None]


def select(memory: Memory, question: Recall, query: Sequence[float]) -> list[Hit]:
    """For each role its rules in order, then its ``top`` nearest lessons."""
    hits: list[Hit] = []
    meant = likeness_of(memory.embedder)
    for role in question.roles:
        if "rule" in question.kinds:
            hits.extend((rule, None) for rule in memory.of(role, "rule"))
        if "lesson" in question.kinds:
            hits.extend(nearest(memory.of(role, "lesson"), question, query, meant))
    return hits


def nearest(
    lessons: Sequence[MemoryItem],
    question: Recall,
    query: Sequence[float],
    meant: Likeness = USUAL,
) -> list[Hit]:
    """The ``top`` lessons most similar to the query that did not come from the same problem."""
    scored = [
        (item, round(cosine(query, unpack(item.vector)), 9) if item.vector else 0.0)
        for item in lessons
        if not question.exclude or item.subject != question.exclude
    ]
    # A problem that comes again must not be shown its own answer (design/mc2.md D11): lessons of
    # the same subject are out before anything is ranked, so they take no place among the top.
    scored.sort(key=lambda hit: (-hit[1], hit[0].id))
    return wanted(scored, question, meant)


def wanted(
    scored: Sequence[tuple[MemoryItem, float]], question: Recall, meant: Likeness
) -> list[Hit]:
    """The first ``top`` of scored lessons; of related ones only, where those are asked for, each once."""
    if not question.related:
        return list(scored[: question.top])
    found: list[Hit] = []
    said: list[Pointed] = []
    for item, similarity in scored:
        if similarity < meant.floor or len(found) == question.top:
            break
        # Three lessons in the same words would tell no more than one, and push out
        # what else was near.
        own = Pointed.at(item)
        if not any(own.same(other, meant) for other in said):
            found.append((item, similarity))
            said.append(own)
    return found


def same(item: MemoryItem, other: MemoryItem, meant: Likeness) -> bool:
    """Whether two lessons say the same: by their texts, else by their vectors."""
    return Pointed.at(item).same(Pointed.at(other), meant)


def unrelated(memory: Memory, question: Recall, items: Sequence[RecalledItem]) -> tuple[str, ...]:
    """Roles that have lessons to be shown, none of which has to do with the query."""
    if not question.related or question.top == 0:
        return ()
    near = {item.role for item in items if item.kind == "lesson"}
    known = {
        item.role
        for item in memory.items
        if item.kind == "lesson" and (not question.exclude or item.subject != question.exclude)
    }
    return tuple(role for role in question.roles if role in known - near)
