"""The demo's log: an unfinished one is gone on with, any other is set aside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.events.episode import EpisodeOpened
from schemas.events.learning import SeriesOpened
from streams.runtime.embedded.queries.counts import worked_off

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

BESIDE = ("-wal", "-shm", ".tables")


@dataclass(frozen=True, slots=True)
class Begun:
    """How far a demo's log is, and which model it was begun with."""

    problems: int
    closed: int
    versions: int
    expected: int
    parked: int
    backbones: str | None

    @property
    def finished(self) -> bool:
        """Whether every problem is closed and every batch learned from."""
        done = self.closed >= self.problems and self.versions >= self.expected
        return self.problems > 0 and done

    def why_aside(self, backbones: str, *, afresh: bool = True) -> str | None:
        """Why this log is not gone on with, if it is not; ``afresh``: nor one that is finished."""
        if afresh and self.finished:
            return "finished"
        # Each demo must end: one that waits for a person's decision would never end.
        if self.parked:
            return "begun by another build, and cannot go on"
        if self.backbones is not None and self.backbones != backbones:
            return f"begun with {self.backbones}"
        return None


def begun(log: SqliteLog) -> Begun:
    """How far a log is."""
    # All of it is asked of the log, which is the demo's only state: it may
    # have been killed at any moment.
    done = worked_off(log)
    series = (record.event for record in log.records("learning", kinds=("series.opened",)))
    opened = next(iter(log.records("events", kinds=("episode.opened",))), None)
    event = opened.event if opened is not None else None
    return Begun(
        done.problems,
        done.closed,
        done.versions,
        sum(-(-one.size // one.window) for one in series if isinstance(one, SeriesOpened)),
        done.parked,
        event.backbones if isinstance(event, EpisodeOpened) else None,
    )


def set_aside(path: Path) -> Path:
    """Rename a log that nobody has open, with what lies beside it; its new path.

    What lies beside it goes first: after a crash in between, the log itself is still whole, for its
    last connection has folded the write-ahead log into it.
    """
    # It is kept, as it may hold what somebody has paid for; only its name is wanted.
    number = 1
    while (target := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    for ending in BESIDE:
        beside = Path(f"{path}{ending}")
        if beside.exists():
            os.replace(beside, f"{target}{ending}")
    os.replace(path, target)
    return target
