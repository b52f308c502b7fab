"""Memory versions by number; those of a snapshot are put together when they are first asked for."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial

from schemas.memory import Memory


class Versions(MutableMapping[int, Memory]):
    """The newest revision of every memory version by number; earlier revisions are kept beside."""

    def __init__(self) -> None:
        self._made: dict[int, Memory] = {}
        self._later: dict[int, Callable[[], Memory]] = {}
        # Numbers are kept in order beside, because the newest one is asked for at every record.
        self._numbers: list[int] = []
        self._former: dict[tuple[int, int], Memory | Callable[[], Memory]] = {}
        self._revisions: dict[int, int] = {}
        """Of those that are made later: which revision each is."""

    @property
    def latest(self) -> Memory:
        """The version with the highest number."""
        return self[self._numbers[-1]]

    @property
    def revised(self) -> bool:
        """Whether any version was made again."""
        return bool(self._former)

    def revision(self, number: int) -> int | None:
        """Which revision the newest of a version is, without making it; none where there is no such version."""
        if number in self._later:
            return self._revisions[number]
        made = self._made.get(number)
        return None if made is None else made.revision

    def has(self, number: int, revision: int | None) -> bool:
        """Whether this revision of a version is known, or one that came after it."""
        newest = self.revision(number)
        return newest is not None and newest >= (revision or 0)

    def later(self, number: int, revision: int, make: Callable[[], Memory]) -> None:
        """Put a version in that is made when it is asked for."""
        self._revisions[number] = revision
        if number not in self:
            insort(self._numbers, number)
        self._made.pop(number, None)
        self._later[number] = make

    def former_later(self, number: int, revision: int, make: Callable[[], Memory]) -> None:
        """The same for a revision that is not the newest."""
        self._former[number, revision] = make

    def checked(
        self, digests: Mapping[tuple[str, int], str], again: Callable[[str, int, int], Memory]
    ) -> None:
        """Let ``again`` make what a snapshot may not hold as it was: earlier revisions, and what misses its digest."""
        # A snapshot keeps each item once, as it is now: not the text of one that was withdrawn since, nor the
        # vector by an embedder that another one replaced.

        def held(make: Callable[[], Memory], former: bool) -> Memory:
            made = make()
            same = not former and made.state() == digests[made.scope, made.number]
            return made if same else again(made.scope, made.number, made.revision)

        for key, kept in self._former.items():
            if not isinstance(kept, Memory):
                self._former[key] = partial(held, kept, True)
        for number, make in self._later.items():
            self._later[number] = partial(held, make, False)

    def revise(self, memory: Memory) -> None:
        """A newer revision of a version; the one before stays for the episodes that pinned it."""
        # Episodes that pinned the earlier revision must stay verifiable against it.
        before = self[memory.number]
        self._former[before.number, before.revision] = before
        self[memory.number] = memory

    def pinned(self, number: int, revision: int | None) -> Memory:
        """Exactly this revision. Raises ``KeyError``."""
        newest = self[number]
        if newest.revision == (revision or 0):
            return newest
        found = self._former[number, revision or 0]
        if not isinstance(found, Memory):
            found = self._former[number, revision or 0] = found()
        return found

    def revisions(self, number: int) -> Iterator[Memory]:
        """All revisions of one version, in order."""
        # Few versions are ever revised; without any there is nothing to sort.
        if self._former:
            former = sorted(revision for at, revision in self._former if at == number)
            yield from (self.pinned(number, revision) for revision in former)
        yield self[number]

    def __getitem__(self, number: int) -> Memory:
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._later.pop(number)()
        return made

    def __setitem__(self, number: int, memory: Memory) -> None:
        if number not in self:
            insort(self._numbers, number)
        self._later.pop(number, None)
        self._made[number] = memory

    def __delitem__(self, number: int) -> None:
        if self._later.pop(number, None) is None:
            del self._made[number]
        del self._numbers[bisect_left(self._numbers, number)]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: object) -> bool:
        return number in self._made or number in self._later


def pinned(memories: Mapping[int, Memory], number: int, revision: int | None) -> Memory:
    """The version that an episode named. Raises ``KeyError`` where it is gone."""
    if isinstance(memories, Versions):
        return memories.pinned(number, revision)
    return memories[number]


def latest(memories: Mapping[int, Memory]) -> Memory:
    """The newest of some versions; at once where they are kept in order."""
    return memories.latest if isinstance(memories, Versions) else memories[max(memories)]
