"""Episodes that may open, in the order in which they do.

The rule: the highest priority goes first, equal ones in the order in which they came; but each eighth turn is that
of whoever has waited longest, whatever its priority. So nobody starves: of those that came before it, at most
eight turns each pass before an episode has its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator

OLDEST_EVERY = 8


class Ready:
    """A queue with priorities; the higher goes first."""

    def __init__(self) -> None:
        self.levels: dict[int, deque[tuple[int, str]]] = {}
        """What waits, by priority: when it came, as a count, and its name."""
        self.came = 0
        self.turns = 0

    def __len__(self) -> int:
        return sum(map(len, self.levels.values()))

    def __iter__(self) -> Iterator[str]:
        return (name for each in self.levels.values() for _, name in each)

    def append(self, name: str, priority: int = 0) -> None:
        """One more waits."""
        self.came += 1
        self.levels.setdefault(priority, deque()).append((self.came, name))

    def popleft(self) -> str:
        """Whose turn it is. Raises ``IndexError`` where nobody waits."""
        if not self.levels:
            raise IndexError("nobody waits")
        self.turns += 1
        # By count and not by time: what is next must not depend on how long the
        # calls before it took.
        if self.turns % OLDEST_EVERY:
            level = max(self.levels)
        else:
            level = min(self.levels, key=lambda priority: self.levels[priority][0][0])
        _, name = self.levels[level].popleft()
        # An empty level would be the highest for ever.
        if not self.levels[level]:
            del self.levels[level]
        return name

    def keep(self, names: Container[str]) -> None:
        """Keep only those that are in a container of names."""
        wanted: dict[int, deque[tuple[int, str]]] = {
            level: deque(each for each in waiting if each[1] in names)
            for level, waiting in self.levels.items()
        }
        self.levels = {level: waiting for level, waiting in wanted.items() if waiting}
