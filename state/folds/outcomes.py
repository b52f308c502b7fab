"""What is known of each episode's answer, kept small: one outcome from feedback, one from a checker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from schemas.events.learning import Graded

Known: TypeAlias = tuple[str | None, str | None, int]
"""Outcome by feedback, outcome by checker, offset of the newest grade."""


@dataclass(slots=True)
class OutcomesFold:
    """The newest grades of every episode, without their words."""

    known: dict[str, Known] = field(default_factory=dict[str, Known])

    def feed(self, offset: int, episode: str, event: Graded) -> None:
        """Take one grade; a later one of the same kind replaces the earlier."""
        feedback, checker, _ = self.known.get(episode, (None, None, 0))
        if event.by == "feedback":
            self.known[episode] = (event.outcome, checker, offset)
        else:
            self.known[episode] = (feedback, event.outcome, offset)

    def forget(self, episodes: Iterable[str]) -> None:
        """Drop what is known of a forgotten problem's episodes."""
        for episode in episodes:
            self.known.pop(episode, None)

    def outcome(self, episode: str) -> str:
        """What feedback says, else the checker, else ``unknown``."""
        feedback, checker, _ = self.known.get(episode, (None, None, 0))
        return feedback or checker or "unknown"

    def offset(self, episode: str) -> int:
        """Where the newest grade stands; 0 before the first."""
        return self.known.get(episode, (None, None, 0))[2]
