"""Positions of a series as they are handed out while it is produced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from handlers.policies.base import Policy
from schemas.problem import Problem


@dataclass(slots=True)
class Places:
    """The positions of one scope's series: who holds each, and which are void from the start."""

    policy: Policy[Any]
    first: Problem
    size: int = 0
    voids: dict[int, str] = field(default_factory=dict[int, str])

    def next(self) -> int:
        """The next position."""
        self.size += 1
        return self.size - 1

    def void(self, reason: str) -> None:
        """A position that nobody will fill."""
        # It takes a position all the same, or those behind it would move up and fall
        # into other windows.
        self.voids[self.next()] = reason
