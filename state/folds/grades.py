"""Outcomes of episodes: the newest grade from feedback, else the checker's."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.events.learning import Graded
from schemas.outcome import Outcome


@dataclass(slots=True)
class GradesFold:
    """What is known of each episode's answer: outcomes alone, for a worker keeps those of all."""

    feedback: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    checker: dict[str, Outcome] = field(default_factory=dict[str, Outcome])

    def feed(self, episode: str, event: Graded) -> None:
        """Take one grade; a later one of the same kind replaces the earlier."""
        (self.feedback if event.by == "feedback" else self.checker)[episode] = event.outcome

    def outcome(self, episode: str) -> Outcome:
        """How it turned out, as far as is known."""
        return self.feedback.get(episode) or self.checker.get(episode) or "unknown"
