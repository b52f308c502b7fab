"""A fold over what the problems of each tenant spent on each day, and whether its budget is spent. Pure.

A day is one of UTC, and a call belongs to the day on which its reply was recorded. The sums are whole numbers,
so that they are the same in whatever order calls come and partitions are added up. Unknown is not zero: a call
whose tokens or cost nobody knows counts as the dearest one of its tenant and day; where none of them is known, the
budget counts as spent, since nobody could say that it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.budget import Budget
from schemas.events.episode import Completed

DAY_MS = 86_400_000
# Costs are kept in billionths.
NANO = 1_000_000_000


def day_of(at_ms: int) -> str:
    """The day of a moment in Unix milliseconds, in UTC: ``2026-11-25``."""
    # The platform's own conversion of time stamps depends on its zone; an addition does not.
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).date().isoformat()


@dataclass(frozen=True, slots=True)
class DaySpent:
    """The calls of one tenant on one day, and what is known of them."""

    calls: int = 0
    tokens: int = 0
    nanos: int = 0
    """What is known of the cost, in billionths."""
    unknown_tokens: int = 0
    """Calls whose tokens nobody reported."""
    unknown_cost: int = 0
    """Calls whose cost nobody knows."""
    most_tokens: int = 0
    """Those of the largest call."""
    most_nanos: int = 0
    """The cost of the dearest call."""

    @classmethod
    def of(cls, said: Completed) -> DaySpent:
        """What one call spent; nothing where its reply was taken over from elsewhere."""
        # A reply that was taken over was paid by the episode that it came from.
        if said.reused:
            return cls()
        tokens, cost = said.tokens, said.cost
        # Words of an endpoint in the stead of a reply, after one attempt, are a refusal, for which nobody is
        # charged: what may have been paid for (a timeout, junk) was asked once more. Else one prompt that is
        # filtered or too long would spend any budget of a tenant who has no known call yet.
        if said.detail and said.attempts == 1 and said.finish in ("error", "refusal"):
            tokens, cost = tokens or 0, cost or 0.0
        nanos = None if cost is None else round(cost * NANO)
        return cls(
            1,
            tokens or 0,
            nanos or 0,
            int(tokens is None),
            int(nanos is None),
            tokens or 0,
            nanos or 0,
        )

    def __add__(self, other: DaySpent) -> DaySpent:
        return DaySpent(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.nanos + other.nanos,
            self.unknown_tokens + other.unknown_tokens,
            self.unknown_cost + other.unknown_cost,
            max(self.most_tokens, other.most_tokens),
            max(self.most_nanos, other.most_nanos),
        )

    @property
    def known_tokens(self) -> int | None:
        """The tokens, unknown where those of any call are."""
        return None if self.unknown_tokens else self.tokens

    @property
    def known_cost(self) -> float | None:
        """The cost, unknown where that of any call is."""
        return None if self.unknown_cost else self.nanos / NANO

    def over(self, budget: Budget, open_calls: int = 0) -> str | None:
        """Why a budget covers no other call, in words; nothing where it does. ``open_calls`` wait for replies."""
        # Calls under way count, or else a budget of one call would let all lanes of an episode
        # begin.
        if budget.calls is not None and self.calls + open_calls >= budget.calls:
            return f"{budget.calls:,} call{'' if budget.calls == 1 else 's'}"
        if budget.tokens is not None:
            if self.unknown_tokens and not self.most_tokens:
                return f"{budget.tokens:,} tokens; those of its calls are unknown"
            # Unknown calls count as the dearest known one: a budget that is passed because an
            # endpoint reports nothing would be none.
            if self.tokens + self.unknown_tokens * self.most_tokens >= budget.tokens:
                return f"{budget.tokens:,} tokens"
        if budget.cost is not None:
            if self.unknown_cost and not self.most_nanos:
                return f"cost {budget.cost:g}; that of its calls is unknown"
            if self.nanos + self.unknown_cost * self.most_nanos >= round(budget.cost * NANO):
                return f"cost {budget.cost:g}"
        return None


NOTHING = DaySpent()


@dataclass(slots=True)
class BudgetsFold:
    """What each tenant spent on each day."""

    spent: dict[tuple[str, str], DaySpent] = field(default_factory=dict[tuple[str, str], DaySpent])

    def feed(self, tenant: str, at_ms: int, said: Completed) -> None:
        """A reply to a call for a problem of a tenant, and when it was recorded."""
        day = day_of(at_ms)
        self.spent[tenant, day] = self.of(tenant, day) + DaySpent.of(said)

    def of(self, tenant: str, day: str) -> DaySpent:
        """What a tenant spent on a day."""
        return self.spent.get((tenant, day), NOTHING)

    def rows(self) -> list[list[Any]]:
        """The sums of the two newest days as plain values: tenant, day, and the fields of ``DaySpent``."""
        # Today's budget alone can refuse anything, and earlier days stand in the log. Which day it is each
        # worker knows by its own clock: one that goes ahead, or was set back since, must not leave the
        # others without today's sums.
        newest = sorted({day for _, day in self.spent})[-2:]
        found = sorted(
            ((key, each) for key, each in self.spent.items() if key[1] in newest),
            key=lambda found: found[0],
        )
        return [[*key, *astuple(each)] for key, each in found]

    def add_rows(self, rows: Iterable[list[Any]]) -> None:
        """Add such sums, of another part of the log."""
        for tenant, day, *sums in rows:
            said = DaySpent(*map(int, sums))
            self.spent[str(tenant), str(day)] = self.of(str(tenant), str(day)) + said

    def days(self) -> Iterator[tuple[str, str, DaySpent]]:
        """Tenant, day and sums; the newest day first."""
        for day in sorted({day for _, day in self.spent}, reverse=True):
            for tenant in sorted(tenant for tenant, at in self.spent if at == day):
                yield tenant, day, self.spent[tenant, day]
