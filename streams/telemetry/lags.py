"""How far each stage of the topology is behind what it reads. A stage that nobody runs has no lag."""

from __future__ import annotations

from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import counts
from streams.runtime.embedded.snapshots import folded_upto
from streams.telemetry.figures import Figures


def _open(figures: Figures) -> int:
    """Episodes that a worker is still to end: those that are parked or cancelled wait for none."""
    left = figures.held.keys() | figures.taken_out
    return max(figures.admitted - figures.closed - len(left), 0)


def lags(log: SqliteLog, figures: Figures, answers: int) -> dict[str, int]:
    """Return what waits before each stage: problems, episodes, closings, reflections, records, answers."""
    found = {
        "intake": _intake(log, figures.problems - figures.admitted),
        "driver": _open(figures),
        "relay": max(figures.closed - answers, 0),
        "learner": len(figures.open),
        "consume": counts.unread(log, "answers", "group/*"),
        "projector": _unfolded(log),
    }
    return {stage: lag for stage, lag in found.items() if lag is not None}


def _intake(log: SqliteLog, otherwise: int) -> int:
    known = (counts.unread_on_kafka(log), counts.unread(log, "problems", "intake"), otherwise)
    return next(lag for lag in known if lag is not None)


def _unfolded(log: SqliteLog) -> int | None:
    """Records after the projector's last snapshot; none where there is no snapshot."""
    folded = folded_upto(log.path)
    return None if folded is None else max(log.end() - folded, 0)
