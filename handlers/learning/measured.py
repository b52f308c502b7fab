"""What learning rules are given: what the episodes of a batch measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from schemas.events.learning import Reflected


@dataclass(frozen=True, slots=True)
class Measured:
    """What one member of a batch measured: its policy's summary, and its outcome when the batch closed.

    ``problem`` is the problem's text, ``answer`` and ``calls`` what the episode ended with.
    """

    episode: str
    outcome: str
    summary: Mapping[str, Any]
    problem: str = ""
    answer: str | None = None
    calls: int = 0

    @classmethod
    def of(cls, episode: str, outcome: str, left: Reflected) -> Self:
        """What a member left to learn from, as learning rules see it."""
        return cls(episode, outcome, left.summary, left.problem, left.answer, left.usage.calls)
