"""Which episodes may open now, which wait for a memory version, and the tasks that are under way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from streams.drive import first_of, is_group
from streams.learner import Learner, Scope
from streams.world import Draining


@dataclass(frozen=True, slots=True)
class Seat:
    """What is kept of an episode that has no slot yet."""

    partition: int
    scope: str
    series: str | None
    position: int | None


class Schedule:
    """Ready, blocked and running episodes. A problem that waits for a version holds no slot."""

    def __init__(
        self, learner: Learner, slots: int, broken: Callable[[BaseException], None]
    ) -> None:
        self.learner, self.slots, self.broken = learner, slots, broken
        self.ready: deque[str] = deque()
        self.blocked: dict[str, deque[str]] = {}
        self.seats: dict[str, Seat] = {}
        self.tasks: dict[str, tuple[int, asyncio.Task[None]]] = {}
        self.changed = asyncio.Event()
        self.ended: Callable[[str], None] = lambda _: None

    def enqueue(self, episode: str, seat: Seat) -> None:
        """An admitted episode waits for its turn."""
        if episode in self.seats:
            return
        self.seats[episode] = seat
        if self.may_open(seat):
            self.ready.append(episode)
        else:
            self.blocked.setdefault(seat.scope, deque()).append(episode)
        self.changed.set()

    def may_open(self, seat: Seat) -> bool:
        """Whether the memory version that an episode needs exists. Its series must be announced."""
        scope = self.learner.scopes[seat.scope]
        window = scope.window
        if self.is_cold(scope):
            return False
        if seat.position is not None and seat.series not in window.series:
            return False
        return window.version_for(seat.series, seat.position) is not None

    def is_cold(self, scope: Scope) -> bool:
        """Whether version 0 of a series' scope is still to be taken over from another scope."""
        source = scope.warm_source
        return source is not None and source in self.learner.scopes and bool(scope.window.series)

    def release(self, scope: str) -> None:
        """Something was learned in a scope: those that may open now, may."""
        still: deque[str] = deque()
        for episode in self.blocked.pop(scope, ()):
            seat = self.seats.get(episode)
            if seat is not None:
                (self.ready if self.may_open(seat) else still).append(episode)
        if still:
            self.blocked[scope] = still
        self.changed.set()

    def next(self) -> tuple[str, Seat] | None:
        """The next episode that may open now, if there is a slot."""
        while self.ready and len(self.tasks) < self.slots:
            episode = self.ready.popleft()
            seat = self.seats.get(episode)
            if seat is not None and episode not in self.tasks:
                return episode, seat
        return None

    def start(self, name: str, partition: int, work: Coroutine[Any, Any, None]) -> None:
        """Run something for a partition."""
        task = asyncio.create_task(work)
        self.tasks[name] = (partition, task)
        task.add_done_callback(lambda done: self._ended(name, done))

    def _ended(self, name: str, task: asyncio.Task[None]) -> None:
        if self.tasks.get(name, (0, None))[1] is task:
            del self.tasks[name]
        self.changed.set()
        self.ended(name)
        error = None if task.cancelled() else task.exception()
        if error is None or isinstance(error, Draining):
            return
        self.broken(first_of(error) if is_group(error) else error)

    def cancel(self, partition: int, learning: bool) -> None:
        """Stop everything of a partition: it moved, or another worker claimed it."""
        for name, (home, task) in list(self.tasks.items()):
            if home == partition and name.startswith("b/") == learning:
                task.cancel()
        if not learning:
            self.seats = {e: s for e, s in self.seats.items() if s.partition != partition}

    def waiting(self) -> dict[int, list[str]]:
        """Episodes that wait for a version, by partition."""
        found: dict[int, list[str]] = {}
        for blocked in self.blocked.values():
            for episode in blocked:
                seat = self.seats.get(episode)
                if seat is not None:
                    found.setdefault(seat.partition, []).append(episode)
        return found
