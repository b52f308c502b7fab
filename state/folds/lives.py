"""The life of every lesson and rule: since which version it stands, until which, and what it was part of.

An opportunity is an episode that had the item in its prompts; it counts by what became of that
episode's answer. Absolute numbers, so that a row made from them can be written again at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from schemas.memory import Memory, MemoryItem
from state.folds.forgetting import blank

LifeKey: TypeAlias = tuple[str, str]
"""Scope, and the item's id; a rule's id with the digest of its text, since ids of rules return."""


@dataclass(slots=True)
class Life:
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

    @property
    def item(self) -> MemoryItem:
        """The item itself."""
        held = self.held
        if not isinstance(held, MemoryItem):
            held = self.held = held()
        return held

    @property
    def key(self) -> LifeKey:
        """Its name in its log."""
        return self.scope, name_of(self.item)


def name_of(item: MemoryItem) -> str:
    """The item's name among all that its scope ever knew."""
    return item.id if item.kind == "lesson" else f"{item.role}/{item.id}~{item.text_digest}"


Uses: TypeAlias = tuple[Life, ...] | Callable[[], tuple[Life, ...]]
"""The items that an episode had in its prompts; from a snapshot they are read when they are needed."""


@dataclass(slots=True)
class LivesFold:
    """Every item of every scope, and which episodes had it in their prompts."""

    known: dict[LifeKey, Life] = field(default_factory=dict[LifeKey, Life])
    uses: dict[str, Uses] = field(default_factory=dict[str, Uses])
    index: dict[str, tuple[Memory, dict[str, Life]]] = field(
        default_factory=dict[str, tuple[Memory, dict[str, Life]]]
    )

    def versioned(self, before: Memory, after: Memory, offset: int) -> Iterator[Life]:
        """A version came: new items begin, those left out end. The lives that changed."""
        named = self._named(before)
        stays, old = set(map(id, after.items)), set(map(id, before.items))
        for item in before.items:
            if id(item) not in stays:
                named.pop(item.id, None)
                yield self._end(after, item, offset)
        for item in after.items:
            if id(item) not in old:
                named[item.id] = life = self._begin(after, item, offset)
                yield life
        if len(named) == len(after.items):
            self.index[after.scope] = (after, named)
        else:  # rules of two roles share an id: the index is made anew
            del self.index[after.scope]
        yield from self._retired(before, after, offset)

    def _retired(self, before: Memory, after: Memory, offset: int) -> Iterator[Life]:
        """Items that were set aside, and those that are back."""
        if not (before.aside or after.aside):
            return
        now = {name_of(item): item for _, item in after.aside}
        for name in now.keys() ^ {name_of(item) for _, item in before.aside}:
            life = self.known.get((after.scope, name))
            if life is None:  # a rule with a retired text, written again under another id
                life = Life(after.scope, now[name], after.number, offset, after.number)
                self.known[after.scope, name] = life
            life.retired, life.off = name in now, offset
            yield life

    def withdraw(self, old: Memory, new: Memory, offset: int) -> Iterator[Life]:
        """A version was closed again: what it lost is withdrawn, and only its name stays."""
        stays = {name_of(item) for item in new.whole()}
        for item in old.whole():
            if name_of(item) not in stays:
                life = self.known[old.scope, name_of(item)]
                life.held, life.withdrawn, life.off = blank(item), True, offset
                life.until = new.number if life.until is None else life.until
                yield life
        yield from self._restored(old, new, offset)

    def _restored(self, old: Memory, new: Memory, offset: int) -> Iterator[Life]:
        """Rules that a withdrawn rule had replaced stand again."""
        was = {name_of(item) for item in old.whole()}
        for item in new.whole():
            life = self.known[new.scope, name_of(item)]
            if life.until is not None and name_of(item) not in was:
                life.until, life.off = None, offset
                yield life

    def forget(self, prefix: str, outcome: Callable[[str], str], offset: int) -> Iterator[Life]:
        """Take back the opportunities that a problem's episodes were."""
        for episode in [name for name in self.uses if name.startswith(prefix)]:
            lives = self.used_in(episode)
            del self.uses[episode]
            self._count(lives, outcome(episode), -1)
            for life in lives:
                life.uses -= 1
                life.off = offset
            yield from lives

    def _end(self, after: Memory, item: MemoryItem, offset: int) -> Life:
        life = self.known[after.scope, name_of(item)]
        life.until, life.off = after.number, offset
        return life

    def _begin(self, after: Memory, item: MemoryItem, offset: int) -> Life:
        key, maker = (after.scope, name_of(item)), after.embedder if item.vector else None
        life = self.known.get(key)
        if life is None:
            life = self.known[key] = Life(after.scope, item, after.number, offset, None, maker)
            return life
        if life.until is not None and life.until < after.number:  # it comes back after a break
            life.since = after.number
        life.held, life.until, life.off, life.withdrawn = item, None, offset, False
        life.embedder = maker
        return life

    def used(
        self, episode: str, memory: Memory, ids: Iterable[str], outcome: str, offset: int
    ) -> tuple[Life, ...]:
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

    def graded(self, episode: str, before: str, now: str, offset: int) -> tuple[Life, ...]:
        """An episode's outcome changed. The lives that changed with it."""
        lives = self.used_in(episode)
        self._count(lives, before, -1)
        self._count(lives, now, 1)
        for life in lives:
            life.off = offset
        return lives

    def _count(self, lives: Iterable[Life], outcome: str, by: int) -> None:
        """Book, or take back, one opportunity's outcome for each."""
        if outcome == "right":
            for life in lives:
                life.right += by
        elif outcome == "wrong":
            for life in lives:
                life.wrong += by

    def used_in(self, episode: str) -> tuple[Life, ...]:
        """The items that an episode had in its prompts."""
        lives = self.uses.get(episode, ())
        if callable(lives):
            lives = self.uses[episode] = lives()
        return lives

    def _named(self, memory: Memory) -> dict[str, Life]:
        known = self.index.get(memory.scope)
        if known is None or known[0] is not memory:
            scope = memory.scope
            found = {item.id: self.known[scope, name_of(item)] for item in memory.items}
            known = self.index[scope] = (memory, found)
        return known[1]
