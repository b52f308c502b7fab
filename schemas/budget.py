"""Budgets of a tenant for one day, as an operator writes them: ``calls=500,tokens=2000000,cost=5``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ANYBODY = "*"
"""The budget of each tenant that has none of its own."""
NAMES = ("calls", "tokens", "cost")
# No budget is as much: beyond it not every whole number can be told from its neighbours.
MOST = 1e15
SPELLING = "TENANT=calls=N,tokens=N,cost=X, one or more of the three"


@dataclass(frozen=True, slots=True)
class Budget:
    """What the problems of one tenant may spend on a day; left out means unlimited.

    ``calls`` to models and ``tokens`` of prompts and replies; ``cost`` in the currency of the prices.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None


def read(text: str) -> Budget:
    """A budget as it is spelled. Raises ``ValueError``."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, said = part.strip().partition("=")
        try:
            amount = float(said)
        except ValueError:
            amount = -1.0
        # Calls and tokens are counted one by one, so that half of one is a slip of the pen.
        fits = 0 < amount < MOST and (name == "cost" or amount.is_integer())
        if name not in NAMES or not equals or name in found or not fits:
            raise ValueError(f"{text!r} is no budget; write {SPELLING}")
        found[name] = amount
    whole_numbers = {name: int(found[name]) for name in ("calls", "tokens") if name in found}
    return Budget(**whole_numbers, cost=found.get("cost"))


def book_of(configured: Mapping[str, str], given: Iterable[str] = ()) -> dict[str, Budget]:
    """Budgets by tenant: the configured ones, and in their places those of the command line."""
    book = {tenant: read(text) for tenant, text in configured.items()}
    for each in given:
        tenant, equals, text = each.partition("=")
        # A bare ``calls=500`` would read as a tenant of the name "calls".
        if not equals or not tenant:
            raise ValueError(f"{each!r} is no budget; write {SPELLING}")
        book[tenant] = read(text)
    return book
