"""Rebuilding: every fold over the log from nothing, with no policy run and no model asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.events.episode import Completed
from schemas.record import Record
from state.folds.costs import CostsFold
from streams.learner import Learner


@dataclass(slots=True)
class Rebuild:
    """The folds that a log adds up to."""

    learner: Learner
    costs: CostsFold = field(default_factory=CostsFold)
    events: int = 0

    def feed(self, record: Record) -> None:
        """Take one record, in log order."""
        event = record.event
        self.events += 1
        if type(event) is Completed:
            self.costs.feed(record.episode, event)
        elif record.topic == "learning":
            self.learner.feed(record.episode, event)
