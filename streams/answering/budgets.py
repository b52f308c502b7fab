"""Budgets while a worker works: whether a tenant may make another call, and who waits for its next day."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from schemas.budget import ANYBODY, Budget
from schemas.events.episode import Completed
from state.folds.budgets import DAY_MS, NOTHING, BudgetsFold, day_of
from streams.core.drive import Waiting

LANDS_MS = 10_000
NEWEST = 1 << 62
"""A moment after all others."""
Recorded: TypeAlias = Callable[[int, int], Iterable[tuple[str, int, Completed]]]
"""What was recorded from a moment on and before another, in Unix milliseconds: tenant, moment and reply."""


class OutOfBudget(Waiting):
    """A tenant has spent its budget of the day: the episode stays open, and goes on the next day."""


def nobody(episode: str) -> str | None:
    """No episode has a tenant."""
    return None


def nothing_recorded(from_ms: int, before_ms: int) -> Iterable[tuple[str, int, Completed]]:
    """Nothing was."""
    return ()


def no_folds() -> Iterable[BudgetsFold]:
    """Nothing was spent elsewhere."""
    return ()


@dataclass(slots=True)
class Budgets:
    """The budgets of a worker. ``clock`` is Unix milliseconds.

    ``tenant_of`` names the tenant of an episode that is worked on. What was spent is ``fold`` and, of other parts
    of the log, ``elsewhere``. Where ``books`` is off somebody else feeds the folds, off the log. ``recorded`` reads
    what was recorded before the work began, from one moment to another.
    """

    limits: Mapping[str, Budget]
    clock: Callable[[], int]
    fold: BudgetsFold = field(default_factory=BudgetsFold)
    tenant_of: Callable[[str], str | None] = nobody
    elsewhere: Callable[[], Iterable[BudgetsFold]] = no_folds
    books: bool = True
    open_calls: Counter[str] = field(default_factory=Counter[str])
    landing: dict[str, deque[int]] = field(default_factory=dict[str, "deque[int]"])
    """When replies came that are not read back yet, by tenant, where somebody else feeds the folds."""
    recorded: Recorded = nothing_recorded
    from_ms: int = NEWEST
    """From when on all that was recorded is in the fold."""

    def load(self, recorded: Recorded) -> None:
        """Take in what was recorded on this day, and on an earlier one once the clock says that it is that day."""
        self.recorded = recorded
        self._reach_back(self.clock())

    def _reach_back(self, now_ms: int) -> None:
        # A clock that went ahead when the work began, and was set right since, must give nobody a second budget.
        begins = now_ms // DAY_MS * DAY_MS
        if begins < self.from_ms:
            before, self.from_ms = self.from_ms, begins
            for tenant, at_ms, said in self.recorded(begins, before):
                self.fold.feed(tenant, at_ms, said)

    def why(self, tenant: str | None) -> str | None:
        """Why a tenant may make no call now, in words; nothing where it may."""
        # A tenant without a budget of its own has the one of anybody, if there is such a one.
        budget = None if tenant is None else self.limits.get(tenant, self.limits.get(ANYBODY))
        if tenant is None or budget is None:
            return None
        now_ms = self.clock()
        self._reach_back(now_ms)
        day = day_of(now_ms)
        folds = (self.fold, *self.elsewhere())
        spent = sum((each.of(tenant, day) for each in folds), NOTHING)
        # Replies that came and are not read back yet are in no fold. One that never is read back was not
        # recorded: after a while it counts no longer.
        since = now_ms - LANDS_MS
        landing = sum(at_ms > since for at_ms in self.landing.get(tenant, ()))
        over = spent.over(budget, self.open_calls[tenant] + landing)
        return None if over is None else f"{tenant} has spent its budget of {day} UTC ({over})"

    @contextmanager
    def call(self, episode: str) -> Generator[str | None]:
        """A call for an episode; whose it is. Raises ``OutOfBudget``. A set that was begun is finished."""
        tenant = self.tenant_of(episode)
        if tenant is None:
            yield None
            return
        over = self.why(tenant)
        # A set that waited would hold all its members, other tenants' among them, until tomorrow.
        if over is not None and not episode.startswith("s/"):
            raise OutOfBudget(over)
        self.open_calls[tenant] += 1
        try:
            yield tenant
        finally:
            self.open_calls[tenant] -= 1

    def book(self, tenant: str | None, said: Completed) -> None:
        """A reply came that is being recorded."""
        if tenant is not None and self.books:
            self.fold.feed(tenant, self.clock(), said)
        # Somebody else reads the log back into the fold. Until he does, the reply has to count
        # here, or a tenant could go on spending for as long as reading back takes.
        elif tenant is not None:
            self.landing.setdefault(tenant, deque()).append(self.clock())

    def landed(self, tenant: str) -> None:
        """A reply was read back."""
        if self.landing.get(tenant):
            self.landing[tenant].popleft()
