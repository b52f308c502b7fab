"""Memory versions by number; those of a snapshot are put together when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping

from schemas.memory import Memory


class Versions(MutableMapping[int, Memory]):
    """A mapping from number to memory version."""

    def __init__(self) -> None:
        self._made: dict[int, Memory] = {}
        self._later: dict[int, Callable[[], Memory]] = {}

    def later(self, number: int, make: Callable[[], Memory]) -> None:
        """Put a version in that is made when it is asked for."""
        self._made.pop(number, None)
        self._later[number] = make

    def __getitem__(self, number: int) -> Memory:
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._later.pop(number)()
        return made

    def __setitem__(self, number: int, memory: Memory) -> None:
        self._later.pop(number, None)
        self._made[number] = memory

    def __delitem__(self, number: int) -> None:
        if self._later.pop(number, None) is None:
            del self._made[number]

    def __iter__(self) -> Iterator[int]:
        yield from sorted({*self._made, *self._later})

    def __len__(self) -> int:
        return len(self._made) + len(self._later)

    def __contains__(self, number: object) -> bool:
        return number in self._made or number in self._later
