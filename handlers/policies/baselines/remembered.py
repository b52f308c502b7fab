"""What the memory baselines share: guidance from memory before tool-integrated reasoning, and excerpts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import NonNegativeInt, PositiveInt

from handlers.policies.base import Batch, Conclusion, Task, Trace
from handlers.policies.baselines.tool_reasoning import reason
from handlers.roles.excerpt import excerpt
from schemas.asking import Steps
from schemas.events.graph import ExperienceShown
from schemas.events.reasoning import Generated
from schemas.questions import Recall, RecalledItem
from schemas.settings import PolicySettings

# The memories of other papers differ in what they keep and how they find it. Everything else is the
# same agent here, so that a comparison of them compares memories and not prompts.


class MemorySettings(PolicySettings):
    """Settings of the memory baselines."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}
    learning: ClassVar[frozenset[str]] = frozenset({"shown", "excerpt_chars", "batch_size"})

    shown: NonNegativeInt = 3
    """k: so many items are put into the prompt."""
    excerpt_chars: PositiveInt = 1_500
    """How much of a trajectory is kept."""
    tool_calls: PositiveInt = 6
    """After so many calls without an answer there is none."""
    batch_size: PositiveInt = 10
    """Problems that are learned from together."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""
    frozen: bool = False
    """Whether nothing is learned of these problems: what was learned before is only tried on them."""

    def batch_of(self, size: int | None) -> int:
        """How many learn together; a whole series where nothing is learned, as nobody waits for anybody."""
        return size if self.frozen and size else self.batch_size


def guided(
    task: Task, settings: MemorySettings, role: str, kinds: tuple[str, ...]
) -> Steps[Conclusion]:
    """Tool-integrated reasoning with the nearest items of memory as guidance."""
    items: tuple[RecalledItem, ...] = ()
    if task.memory_version > 0 and settings.shown:
        found = yield from Recall(
            task.problem, (role,), settings.shown, kinds, exclude=task.subject
        )
        items = found.items
    if items:
        yield ExperienceShown(
            sort=role,
            items=tuple(item.id for item in items),
            scores=tuple(item.similarity or 0.0 for item in items),
        )
    guidance = "\n\n".join(item.text for item in items)
    return (yield from reason(task, settings.tool_calls, settings.output_cap, guidance))


def reflect(trace: Trace, conclusion: Conclusion, settings: MemorySettings) -> dict[str, Any]:
    """The trajectory, head and tail, turn by turn."""
    texts = [trace.text(e.source) for _, e in trace.events if isinstance(e, Generated)]
    return {
        # Said only where it holds, for summaries of earlier builds lack the word and must
        # stay as they are.
        **({"frozen": True} if settings.frozen else {}),
        "ended_by": conclusion.ended_by,
        "answer": conclusion.answer,
        "trajectory": excerpt("\n\n".join(texts), settings.excerpt_chars),
    }


def fresh(batch: Batch) -> Batch:
    """The batch without the problems of which nothing is learned."""
    members = (each for each in batch.members if not each.reflected.summary.get("frozen"))
    return replace(batch, members=tuple(members))
