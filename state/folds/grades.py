"""Outcomes of episodes: the newest grade from feedback, else the checker's."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.events.learning import Graded


@dataclass(slots=True)
class GradesFold:
    """What is known of each episode's answer."""

    feedback: dict[str, Graded] = field(default_factory=dict[str, Graded])
    checker: dict[str, Graded] = field(default_factory=dict[str, Graded])

    def feed(self, episode: str, event: Graded) -> None:
        """Take one grade; a later one of the same kind replaces the earlier."""
        (self.feedback if event.by == "feedback" else self.checker)[episode] = event

    def outcome(self, episode: str) -> str:
        """``right``, ``wrong``, ``withheld`` or ``unknown``."""
        grade = self.feedback.get(episode) or self.checker.get(episode)
        return "unknown" if grade is None else grade.outcome

    def disagreements(self) -> list[str]:
        """Episodes on which feedback and checker differ."""
        both = self.feedback.keys() & self.checker.keys()
        return sorted(e for e in both if self.feedback[e].outcome != self.checker[e].outcome)
