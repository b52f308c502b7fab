"""The life of every lesson and rule: since which version it stands, until which, and what it was part of.

An opportunity is an episode that had the item in its prompts; it counts by what became of that
episode's answer. Absolute numbers, so that a row made from them can be written again at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from schemas.memory import Memory, MemoryItem
from state.folds.forgetting import blank

ItemKey: TypeAlias = tuple[str, str]
"""Scope, and the item's id; a rule's id with the digest of its text, since ids of rules return."""


@dataclass(slots=True)
class ItemUsage:
    """One memory item, and what became of it."""

    scope: str
    held: MemoryItem | Callable[[], MemoryItem]
    """The item; from a snapshot it is read when it is needed."""
    since: int
    off: int
    """Offset of the record that changed it last."""
    until: int | None = None
    """The first version without it; none while it stands."""
    embedder: str | None = None
    withdrawn: bool = False
    """Whether it went since its problem was forgotten."""
    uses: int = 0
    right: int = 0
    wrong: int = 0
    retired: bool = False
    """Whether the newest version that knows it keeps it out of prompts."""
    kept: bool = False
    """Whether the snapshot holds the item as it is now."""

    @property
    def item(self) -> MemoryItem:
        """The item itself."""
        held = self.held
        if not isinstance(held, MemoryItem):
            held = self.held = held()
        return held

    def becomes(self, item: MemoryItem) -> None:
        """Take the item as a version has it, or as little of it as is left."""
        self.held, self.kept = item, False

    @property
    def key(self) -> ItemKey:
        """Its name in its log."""
        return self.scope, name_of(self.item)


def name_of(item: MemoryItem) -> str:
    """The item's name among all that its scope ever knew."""
    # Ids of rules return with other texts: R1 of one version is not R1 of another. Lessons have
    # ids of their own.
    return item.id if item.kind == "lesson" else f"{item.role}/{item.id}~{item.text_digest}"


Span: TypeAlias = tuple[int, int | None, MemoryItem]
"""Since which version an item stands, until which, and the item."""
Uses: TypeAlias = tuple[ItemUsage, ...] | Callable[[], tuple[ItemUsage, ...]]
"""The items that an episode had in its prompts; from a snapshot they are read when they are needed."""


@dataclass(slots=True)
class LivesFold:
    """Every item of every scope, and which episodes had it in their prompts."""

    known: dict[ItemKey, ItemUsage] = field(default_factory=dict[ItemKey, ItemUsage])
    uses: dict[str, Uses] = field(default_factory=dict[str, Uses])
    index: dict[str, tuple[Memory, dict[str, ItemUsage]]] = field(
        default_factory=dict[str, tuple[Memory, dict[str, ItemUsage]]]
    )

    def versioned(self, before: Memory, after: Memory, offset: int) -> Iterator[ItemUsage]:
        """A version came: new items begin, those left out end. The lives that changed."""
        named = self._named(before)
        # Items are the same objects while they stand, so that identity tells what is new without
        # comparing texts.
        stays, old = set(map(id, after.items)), set(map(id, before.items))
        for item in before.items:
            if id(item) not in stays:
                # It stands up to the version before, whatever becomes of its id.
                named.pop(item.id, None)
                life = self.known[after.scope, name_of(item)]
                life.until, life.off = after.number, offset
                yield life
        for item in after.items:
            if id(item) in old:
                continue
            key, maker = (after.scope, name_of(item)), after.embedder if item.vector else None
            life = self.known.get(key) or ItemUsage(
                after.scope, item, after.number, offset, None, maker
            )
            if key not in self.known:
                self.known[key] = life
            else:
                if life.until is not None and life.until < after.number:  # back after a break
                    life.since = after.number
                life.until, life.off, life.withdrawn, life.embedder = None, offset, False, maker
                life.becomes(item)
            named[item.id] = life
            yield life
        if len(named) == len(after.items):
            self.index[after.scope] = (after, named)
        else:  # rules of two roles share an id: the index is made anew
            del self.index[after.scope]
        yield from self._retired(before, after, offset)

    def _retired(self, before: Memory, after: Memory, offset: int) -> Iterator[ItemUsage]:
        """Items that were set aside, and those that are back."""
        if not (before.aside or after.aside):
            return
        now = {name_of(item): item for _, item in after.aside}
        # Those in one of the two, and not in both, changed.
        for name in now.keys() ^ {name_of(item) for _, item in before.aside}:
            life = self.known.get((after.scope, name))
            if life is None:  # a rule with a retired text, written again under another id
                life = ItemUsage(after.scope, now[name], after.number, offset, after.number)
                self.known[after.scope, name] = life
            life.retired, life.off = name in now, offset
            yield life

    def revised(
        self, old: Memory, versions: Mapping[int, Memory], offset: int
    ) -> Iterator[ItemUsage]:
        """A version was closed again: what it lost, or has back, stands as versions up to it say.

        What none of them holds is withdrawn, and only its name stays.
        """
        new, spans = versions[old.number], Spans(versions, old.number)
        was, now = _by_name(old.whole()), _by_name(new.whole())
        for name in sorted(was.keys() ^ now.keys()):
            life = self.known[new.scope, name]
            life.off = offset
            span = spans.last(name)
            if span is not None:
                life.since, life.until, item = span
                life.withdrawn = False
                life.becomes(item)
            elif name not in now:
                # No version holds it any more. Its name and its uses stay, its text goes.
                life.until, life.withdrawn = new.number, True
                life.becomes(blank(life.item))
            yield life
        aside = _by_name(item for _, item in new.aside)
        for name in sorted(aside.keys() ^ _by_name(item for _, item in old.aside).keys()):
            life, span = self.known[new.scope, name], spans.last(name)
            life.retired, life.off = name in aside, offset
            # What was set aside in the very version that brought it never stood.
            life.since, life.until = (life.since, life.since) if span is None else span[:2]
            yield life

    def forget(
        self, episodes: Collection[str], outcome: Callable[[str], str], offset: int
    ) -> Iterator[ItemUsage]:
        """Take back the opportunities that a forgotten problem's episodes were."""
        # By name, so that rows which follow from it are written in one order on every machine.
        for episode in sorted(self.uses.keys() & episodes):
            lives = self.used_in(episode)
            del self.uses[episode]
            self._count(lives, outcome(episode), -1)
            for life in lives:
                life.uses -= 1
                life.off = offset
            yield from lives

    def used(
        self, episode: str, memory: Memory, ids: Iterable[str], outcome: str, offset: int
    ) -> tuple[ItemUsage, ...]:
        """An episode ended that had these items in its prompts. The lives that changed."""
        lives = tuple(filter(None, map(self._named(memory).get, ids)))
        if lives:
            self.uses[episode] = lives
        for life in lives:
            life.uses += 1
            life.off = offset
        if outcome in ("right", "wrong"):
            self._count(lives, outcome, 1)
        return lives

    def graded(self, episode: str, before: str, now: str, offset: int) -> tuple[ItemUsage, ...]:
        # The old outcome is taken back first: counts are absolute, and an episode counts once.
        """An episode's outcome changed. The lives that changed with it."""
        lives = self.used_in(episode)
        self._count(lives, before, -1)
        self._count(lives, now, 1)
        for life in lives:
            life.off = offset
        return lives

    def _count(self, lives: Iterable[ItemUsage], outcome: str, by: int) -> None:
        """Book, or take back, one opportunity's outcome for each."""
        if outcome == "right":
            for life in lives:
                life.right += by
        elif outcome == "wrong":
            for life in lives:
                life.wrong += by

    def used_in(self, episode: str) -> tuple[ItemUsage, ...]:
        """The items that an episode had in its prompts."""
        lives = self.uses.get(episode, ())
        if callable(lives):
            lives = self.uses[episode] = lives()
        return lives

    def _named(self, memory: Memory) -> dict[str, ItemUsage]:
        known = self.index.get(memory.scope)
        if known is None or known[0] is not memory:
            scope = memory.scope
            found = {item.id: self.known[scope, name_of(item)] for item in memory.items}
            known = self.index[scope] = (memory, found)
        return known[1]


# -- versions that are closed again ------------------------------------------------------------


def _by_name(items: Iterable[MemoryItem]) -> dict[str, MemoryItem]:
    return {name_of(item): item for item in items}


class Spans:
    """Where items stand in versions up to one: in which they were last, and since when without a break."""

    def __init__(self, versions: Mapping[int, Memory], upto: int) -> None:
        self.versions, self.upto = versions, upto
        self.read: dict[int, dict[str, MemoryItem]] = {}

    def _at(self, number: int) -> dict[str, MemoryItem]:
        if number not in self.read:
            memory = self.versions.get(number)
            self.read[number] = {} if memory is None else _by_name(memory.items)
        return self.read[number]

    def last(self, name: str) -> Span | None:
        """The last stretch of versions that hold an item, if any does."""
        numbers = range(self.upto, -1, -1)
        until = next((at for at in numbers if name in self._at(at)), None)
        if until is None:
            return None
        since = until
        while since > 0 and name in self._at(since - 1):
            since -= 1
        return since, None if until == self.upto else until + 1, self._at(until)[name]
