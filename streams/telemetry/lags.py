"""How far each stage of the topology is behind what it reads. A stage that nobody runs has no lag."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import orjson

from streams.runtime.embedded.files import connect_to_read
from streams.runtime.embedded.rebuild import snapshot_path
from streams.telemetry.figures import Figures

UNREAD = """
select name, (select count(*) from messages m where m.topic = c.topic and m.offset > c.offset)
  from consumers c where topic = ? and name glob ?
"""
BEHIND = """
select sum(max(r.offset - i.offset, 0)) from consumers i
  join consumers r on r.topic = i.topic and r.name = 'kafka/' || substr(i.name, 8)
  where i.name glob 'intake/*'
"""
"""On Kafka: problems that were imported from a partition, and that its workers have not read."""
END = "select coalesce(max(offset), 0) from records"
HEAD = "select body from parts where part = 'meta' and key = 'head'"


def _open(figures: Figures) -> int:
    """Episodes that a worker is still to end: those that are parked or cancelled wait for none."""
    left = figures.held.keys() | figures.taken_out
    return max(figures.admitted - figures.closed - len(left), 0)


def lags(db: sqlite3.Connection, figures: Figures, answers: int) -> dict[str, int]:
    """Return what waits before each stage: problems, episodes, closings, reflections, records, answers."""
    found = {
        "intake": _intake(db, figures.problems - figures.admitted),
        "driver": _open(figures),
        "relay": max(figures.closed - answers, 0),
        "learner": len(figures.open),
        "consume": _unread(db, "answers", "group/*", None),
        "projector": _unfolded(db),
    }
    return {stage: lag for stage, lag in found.items() if lag is not None}


def _intake(db: sqlite3.Connection, otherwise: int) -> int | None:
    (behind,) = db.execute(BEHIND).fetchone()
    return _unread(db, "problems", "intake", otherwise) if behind is None else int(behind)


def _unread(db: sqlite3.Connection, topic: str, name: str, otherwise: int | None) -> int | None:
    """Messages that the slowest of these consumers has not read; else what was given."""
    rows = db.execute(UNREAD, (topic, name)).fetchall()
    return max((int(count) for _, count in rows), default=otherwise)


def _unfolded(db: sqlite3.Connection) -> int | None:
    """Records after the projector's last snapshot; none where there is no snapshot."""
    file = db.execute("select file from pragma_database_list where name = 'main'").fetchone()[0]
    kept = snapshot_path(Path(file))
    if not file or not kept.exists():
        return None
    with suppress(sqlite3.Error, KeyError, TypeError, ValueError):
        with closing(connect_to_read(kept)) as read:
            offset = int(orjson.loads(read.execute(HEAD).fetchone()[0])["offset"])
        return max(int(db.execute(END).fetchone()[0]) - offset, 0)
    return None
