"""The outcome of each episode, with the place of its newest grade, as the rows of tables need it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.events.learning import Graded
from state.folds.grades import GradesFold


@dataclass(slots=True)
class OutcomesFold(GradesFold):
    """Grades of every episode, and where the newest of each stands."""

    offsets: dict[str, int] = field(default_factory=dict[str, int])

    def take(self, offset: int, episode: str, event: Graded) -> None:
        """Take one grade from its place on the log."""
        # The place of the newest grade is kept, since rows say which record changed them last.
        self.feed(episode, event)
        self.offsets[episode] = offset

    def forget(self, episodes: Iterable[str]) -> None:
        """Drop what is known of a forgotten problem's episodes."""
        for episode in episodes:
            self.known.pop(episode, None)
            self.offsets.pop(episode, None)

    def offset(self, episode: str) -> int:
        """Where the newest grade stands; 0 before the first."""
        return self.offsets.get(episode, 0)
