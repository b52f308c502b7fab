"""The progress of a worker and the end of its run, for those who watch it and for its exit code."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from schemas.events.episode import EpisodeClosed

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Progress:
    """The work that a worker has done since it started, for those who watch."""

    admitted: int = 0
    closed: int = 0
    failed: int = 0
    resumed: int = 0
    batches: int = 0
    running: int = 0
    why: Callable[[], list[str]] = list
    """Why calls wait, in words."""

    def ended(self, closed: EpisodeClosed, fresh: bool) -> None:
        """Count an episode that ended. ``fresh``: it was opened in this run."""
        self.closed += 1
        # A failed episode is closed as well: its policy is broken, but the worker did its work.
        self.failed += closed.status == "failed"
        self.resumed += not fresh


@dataclass(slots=True)
class Outcome:
    """How a worker's run ended: what is held back and by what."""

    held: list[str] = field(default_factory=list[str])
    parked: list[str] = field(default_factory=list[str])
    spent: str | None = None
    asked: list[str] = field(default_factory=list[str])
    """Episodes that wait for a person's answer."""
    unpaid: dict[str, str] = field(default_factory=dict[str, str])
    """Episodes that wait for their tenant's next day, and why."""


def warn_of_stray(note: str) -> None:
    """Tell an operator that somebody else wrote on the log."""
    _log.warning("%s; metalogue verify names all such records", note)


def warn_of_lost(scope: str, why: str) -> None:
    """Tell an operator at once of a scope whose policy is not here: its problems wait without an end."""
    _log.warning("%s: nothing is begun or learned in it by this worker: %s", scope, why)
