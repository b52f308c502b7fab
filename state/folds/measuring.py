"""Measures of a batch: learning rules learn from what its members measured, and items are retired on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from handlers.learning.measured import Measured
from handlers.learning.retire import Opportunity
from handlers.learning.rules import learned_after
from schemas.events.base import Event
from schemas.events.learning import BatchClosed, Reflected
from schemas.memory import Memory
from state.folds.versions import Versions

Reflection: TypeAlias = Callable[[str], Reflected]
"""Finds what an episode left to learn from."""


def members_of(closed: BatchClosed, reflection: Reflection) -> list[Measured]:
    """Return the measures of a batch's members, if its rule asks for them."""
    if closed.rule is None:
        return []
    pairs = zip(closed.members, closed.outcomes, strict=True)
    return [Measured.of(episode, outcome, reflection(episode)) for episode, outcome in pairs]


def numbers_after(
    previous: Memory, closed: BatchClosed, facts: Sequence[Event], members: Sequence[Measured]
) -> Mapping[str, Any]:
    """The learned state after a batch, by the rule that the batch names."""
    return learned_after(closed.rule, previous.learned, members, closed.constants or {}, facts)


def opportunities(
    closed: BatchClosed, reflection: Reflection, versions: Versions
) -> Iterator[Opportunity]:
    """Marks of the items that each member had in its prompts, with its outcome."""
    known: dict[tuple[int, int | None], dict[str, str]] = {}
    for episode, outcome in zip(closed.members, closed.outcomes, strict=True):
        said = reflection(episode)
        pinned = (said.memory_version, said.memory_revision)
        if pinned not in known:
            items = versions.pinned(*pinned).items if pinned[0] in versions else ()
            known[pinned] = {item.id: item.mark for item in items}
        marks = known[pinned]
        yield tuple(filter(None, map(marks.get, said.items))), outcome
