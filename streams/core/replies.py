"""From a recorded answer to the reply that a policy gets: the same live and on replay."""

from __future__ import annotations

from typing import Any

from handlers.learning.recall import unrelated
from schemas.asking import Ask, ReplayError
from schemas.events.base import Event
from schemas.events.episode import Checked, Completed, Embedded, Recalled, ReviewAnswered
from schemas.events.graph import ToolCalled
from schemas.memory import Memory
from schemas.questions import (
    Complete,
    Completion,
    Credit,
    Recall,
    RecalledItem,
    Recollection,
    Reviewed,
    ToolResult,
)
from schemas.spoken import spoken
from schemas.vectors import unpack


class NotInMemory(ReplayError, LookupError):
    """A recorded answer names an item that the pinned memory version does not hold."""


def reply_to(question: Ask[Any], answer: Event, address: str, memory: Memory) -> Any:
    """Return what the author of a question gets for its recorded answer."""
    match answer:
        case Completed():
            # The record keeps the whole text. A policy never reads the thoughts in it, or a model's
            # own doubts would be read as its answer.
            said = spoken(answer.text)
            return Completion(
                address,
                said.text,
                "length" if said.cut else answer.finish,
                answer.model,
                bool(answer.truncated),
                answer.logprob,
                answer.tokens,
                answer.answer_logprob,
                question.template if isinstance(question, Complete) else None,
            )
        case Recalled():
            if not isinstance(question, Recall):
                raise TypeError(f"{answer.kind} answers no {type(question).__name__}")
            return recollection(question, answer, memory)
        case Embedded():
            return tuple(tuple(unpack(vector)) for vector in answer.vectors)
        case Checked():
            return answer.credit if isinstance(question, Credit) else answer.outcome
        case ReviewAnswered():
            return Reviewed(answer.result, answer.answer, answer.verdict, answer.by)
        case ToolCalled():
            return ToolResult(answer.text, answer.result)
        case _:
            raise TypeError(f"{answer.kind} answers no {type(question).__name__}")


def recollection(question: Recall, answer: Recalled, memory: Memory) -> Recollection:
    """References resolved in the pinned memory version. Raises ``NotInMemory`` if one is not there."""
    # Both must fit: the record names the very text that was shown, not just whose it was.
    wanted = {item_id for item_id, _, _ in answer.items}
    known = {(item.id, item.text_digest): item for item in memory.items if item.id in wanted}
    items: list[RecalledItem] = []
    for item_id, text, similarity in answer.items:
        item = known.get((item_id, text))
        if item is None:
            # To leave it out would show the policy another memory than the one that
            # its record tells of.
            raise NotInMemory(f"{item_id} is not in version {memory.number} of {memory.scope}")
        items.append(RecalledItem(item.id, item.kind, item.role, item.text, similarity))
    return Recollection(
        answer.memory_version,
        tuple(items),
        memory.learned,
        unrelated(memory, question, items),
        memory.embedder,
    )
