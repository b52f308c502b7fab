"""Putting a memory version together from the one before, what was learned, and what was measured.

Source: MC² eq. (10), (11): lessons of the last w batches stay live, rules are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from handlers.learning.likeness import likeness_of
from handlers.learning.retire import AS_ONE, OVERTURNED, retired
from handlers.learning.sameness import joined
from schemas.events.learning import KnowledgeConsolidated
from schemas.memory import Labels, Memory, MemoryItem
from state.folds.learned import Learned, rules_of


@dataclass(frozen=True, slots=True)
class Measures:
    """The part of a version that is not items: learned numbers, what items are retired on, labels."""

    learned: Mapping[str, Any]
    standing: Mapping[str, Any] = field(default_factory=dict[str, Any])
    labels: Labels | None = None
    retirement: str | None = None
    """The rule of retirement."""
    embedder: str | None = None
    """What made the vectors among them, if that is known."""


def next_memory(
    previous: Memory,
    learned: Learned,
    number: int,
    live_from: int,
    measures: Measures | None = None,
) -> Memory:
    """The memory version that follows: new rules for old, old lessons while they are live, new lessons.

    ``measures`` is what was measured with the batch; left out, the previous version's stay.
    """
    said = learned.rules
    new = [rule for event in said.values() for rule in rules_of(event, number)]
    # A rule that is set aside stays in the memory, so that what is known of it is not lost with a
    # new set.
    aside = {id(item) for _, item in previous.aside}
    whole = previous.whole()
    rules = [i for i in whole if i.kind == "rule" and (i.role not in said or id(i) in aside)]
    # A rule that is written again word for word is the same rule: it stands once.
    if aside:
        marks = {rule.mark for rule in new}
        rules = [rule for rule in rules if rule.mark not in marks]
    rules = [*new, *rules]
    lessons = [i for i in whole if i.kind == "lesson" and i.batch >= live_from]
    kept = measures or Measures(
        previous.learned, previous.standing, previous.labels, embedder=learned.embedder
    )
    return assembled(previous, number, rules, [*lessons, *learned.items(number)], kept)


def rules_again(
    previous: Memory, old: Memory, said: Mapping[str, KnowledgeConsolidated], stale: Set[str]
) -> list[MemoryItem]:
    """The rules of a version that is closed again: as said anew; of a stale role, those before it."""
    rules = [rule for event in said.values() for rule in rules_of(event, old.number)]
    out = {*stale, *said}
    rules += [i for i in old.whole() if i.kind == "rule" and i.role not in out]
    back = out - said.keys()
    return rules + [i for i in previous.whole() if i.kind == "rule" and i.role in back]


def assembled(
    before: Memory,
    number: int,
    rules: Sequence[MemoryItem],
    lessons: Sequence[MemoryItem],
    measures: Measures,
    revision: int = 0,
) -> Memory:
    """A memory version of these items; those that are retired are set aside. Newer rules come first.

    A rule that was aside ``before`` stays there while a newer one has its id.
    """
    # Order is part of a version's digest, and rules of a role come in the order of their ids.
    whole = [*sorted(rules, key=lambda item: (item.role, item.id)), *lessons]
    standing, embedder = measures.standing, measures.embedder or before.embedder
    alike = measures.retirement in AS_ONE
    if alike:
        standing = joined(standing, lessons, before.number, likeness_of(embedder))
    standing = _pruned(standing, whole)
    if alike:
        standing = {name: part for name, part in standing.items() if part}
    out = retired(standing, measures.retirement)
    # The usual case, in which nothing is retired, keeps the list as it is.
    if not out and not before.aside:
        return Memory(
            *(before.scope, number, tuple(whole), measures.learned, revision, ()),
            *(standing, measures.labels, embedder),
        )
    old = {id(item) for _, item in before.aside}
    taken = {(rule.role, rule.id) for rule in rules if id(rule) not in old}
    live: list[MemoryItem] = []
    aside: list[tuple[int, MemoryItem]] = []
    # Places are kept with what is set aside, so that it can come back to where it stood.
    for place, item in enumerate(whole):
        hidden = id(item) in old and (item.role, item.id) in taken
        if hidden or item.mark in out:
            aside.append((place, item))
        else:
            live.append(item)
    return Memory(
        *(before.scope, number, tuple(live), measures.learned, revision, tuple(aside)),
        *(standing, measures.labels, embedder),
    )


def _pruned(standing: Mapping[str, Any], items: Sequence[MemoryItem]) -> Mapping[str, Any]:
    # Tallies of items that are gone would grow with every batch for ever.
    """The standing without tallies of items that are no more."""
    marks = {item.mark for item in items}
    marks |= {its for mark, its in standing.get("same", {}).items() if mark in marks}
    left = dict(standing)
    for name in ("tally", "tried", "same"):
        if name in standing:
            left[name] = {mark: of for mark, of in standing[name].items() if mark in marks}
    if OVERTURNED in standing:
        left[OVERTURNED] = [mark for mark in standing[OVERTURNED] if mark in marks]
        if not left[OVERTURNED]:
            del left[OVERTURNED]
    return left
