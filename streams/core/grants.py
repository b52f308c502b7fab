"""Grants of a worker to the episodes that it opens: who answers them, limits, and prices under a cost limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.price import Price
from schemas.problem import Limits, Problem
from streams.core.backbone import SetupBroken
from streams.core.drive import Waiting

SIMULATED = "SIMULATED"
"""What the names of an episode's backbones hold where a simulator is among them."""


class Lacking(SetupBroken, Waiting):
    """What one problem asks for is not here: it waits for a worker that has it, and the others go on.

    It limits its cost, and nobody knows what a call costs (``price``); it names a backbone that is no longer offered
    (``offer``), or one that is and cannot be asked, for the reason that ``code`` gives as for any set-up. A solve
    beside is told so where its memory still holds what a forgotten problem taught (``forgetting``).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A worker's own limits, and the prices of its models by role; ``unpriced`` names those without."""

    limits: Limits = field(default_factory=Limits)
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    unpriced: tuple[str, ...] = ()
    price_list: str | None = None
    """Name and date of the list that the prices are from."""

    def limits_of(self, problem: Problem) -> Limits:
        """The problem's limits, and the worker's where it has none."""
        return problem.limits.over(self.limits)

    def prices_of(self, limits: Limits) -> dict[str, Price] | None:
        """The prices that a limit of cost is kept by; nothing where cost is not limited."""
        # They go on the record of the opening: a replay reserves by the same prices, whatever
        # the list says now.
        return None if limits.cost is None else dict(self.prices) or None

    def check(self, problem: Problem) -> None:
        """Raises ``SetupBroken`` where cost is limited and nobody knows what a call costs.

        Where the problem limits it and not the worker, ``Lacking``: the others can be worked on.
        """
        # Checked before the first call. A limit that nobody can keep would be found out
        # by the bill alone.
        if self.unpriced and self.limits_of(problem).cost is not None:
            broken = SetupBroken if problem.limits.cost is None else Lacking
            detail = f"{problem.id} has a limit of cost, and no price is known"
            raise broken("price", ", ".join(self.unpriced), detail)


NO_GRANT = Grant()


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms on which an episode is opened: who answers it, as its record names them, and its grant."""

    backbones: str
    grant: Grant = NO_GRANT


NOBODY = Terms("")
"""The terms of who derives a record again: nothing is opened, and nobody is asked."""
