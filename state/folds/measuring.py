"""Measures of a batch: learning rules learn from what its members measured, and items are retired on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from handlers.learning.measured import Measured
from handlers.learning.retire import AS_ONE, BY_ITSELF, Opportunity, Standing, shared, tallied
from handlers.learning.rules import learned_after
from handlers.learning.trials import Trial, tried
from schemas.events.base import Event
from schemas.events.learning import BatchClosed, Reflected
from schemas.identity import is_taken
from schemas.memory import Memory, MemoryItem
from state.folds.versions import Versions

Reflection: TypeAlias = Callable[[str], Reflected]
"""Finds what an episode left to learn from."""


def members_of(closed: BatchClosed, reflection: Reflection) -> list[Measured]:
    """Return the measures of a batch's members, if its rule asks for them."""
    # A policy that names no rule measures nothing, and its members need not be read again.
    if closed.rule is None:
        return []
    pairs = zip(closed.members, closed.outcomes, strict=True)
    return [Measured.of(episode, outcome, reflection(episode)) for episode, outcome in pairs]


def numbers_after(
    previous: Memory, closed: BatchClosed, facts: Sequence[Event], members: Sequence[Measured]
) -> Mapping[str, Any]:
    """The learned state after a batch, by the rule that the batch names."""
    return learned_after(closed.rule, previous.learned, members, closed.constants or {}, facts)


@dataclass(frozen=True, slots=True)
class Met:
    """What a member was shown of its memory version, what was held out of its prompts, and its outcome."""

    shown: tuple[MemoryItem, ...]
    held_out: tuple[MemoryItem, ...]
    outcome: str

    def opportunity(self, *kinds: str) -> Opportunity:
        """Marks of the items that it was shown, of these kinds or of all, with its outcome."""
        return _marks(self.shown, kinds), self.outcome

    def trial(self) -> Trial:
        """Marks of the rules that it was shown and did without, with its outcome."""
        rules = ("rule",)
        return _marks(self.shown, rules), _marks(self.held_out, rules), self.outcome


def _marks(items: Sequence[MemoryItem], kinds: Sequence[str]) -> tuple[str, ...]:
    return tuple(item.mark for item in items if not kinds or item.kind in kinds)


def met(closed: BatchClosed, reflection: Reflection, versions: Versions) -> Iterator[Met]:
    """What each member of a batch met, in its order. Another tool's trace met nothing: it tells of no item's worth."""
    known: dict[tuple[int, int | None], dict[str, MemoryItem]] = {}
    for episode, outcome in zip(closed.members, closed.outcomes, strict=True):
        # A trace of another tool pinned no memory of ours.
        if is_taken(episode):
            continue
        said = reflection(episode)
        pinned = (said.memory_version, said.memory_revision)
        if pinned not in known:
            # Episodes pin the version that they opened with, and may have been shown items that
            # are gone by now.
            items = versions.pinned(*pinned).items if pinned[0] in versions else ()
            known[pinned] = {item.id: item for item in items}
        of = known[pinned].get
        held = said.held_out or ()
        yield Met(
            tuple(filter(None, map(of, said.items))), tuple(filter(None, map(of, held))), outcome
        )


def standing_after(
    standing: Standing, closed: BatchClosed, reflection: Reflection, versions: Versions
) -> Mapping[str, Any]:
    """The standing of a scope's items after a batch, by the rule of retirement that the batch names."""
    members = list(met(closed, reflection, versions))
    kinds = ("lesson",) if closed.retirement == BY_ITSELF else ()
    found: Iterable[Opportunity] = [member.opportunity(*kinds) for member in members]
    # Lessons that say the same are counted as one before they are tallied, else each alone would
    # have too few opportunities to be judged.
    if closed.retirement in AS_ONE:
        found = shared(standing, found)
    after = tallied(standing, found)
    if closed.retirement == BY_ITSELF:
        after = tried(after, (member.trial() for member in members))
    return after
