"""The snapshot that lies beside a log, and what tells that it is of this log."""

from __future__ import annotations

from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from schemas.identity import digest
from state.folds.strays import Strays
from state.snapshot import Snapshots
from streams.engine.learner import HEARD_KINDS, Learner, nobody
from streams.engine.policies import Find
from streams.engine.resuming import learner_of
from streams.runtime.embedded.files import SqliteError, connect_to_read
from streams.runtime.embedded.rebuild import fold, snapshot_path
from streams.runtime.embedded.records import LogRecords, known_of, learned

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

FIRST = "select episode, address, at_ms, body from main.records order by offset limit 1"
MARK = """
select episode, address, at_ms, body from main.records where offset <= ? order by offset desc limit 1
"""
HEAD = "select body from parts where part = 'meta' and key = 'head'"
WORTH = 20_000
"""A start that reads fewer records than these needs no newer snapshot."""


def log_id(log: SqliteLog) -> str:
    """Return what tells this log from another at the same path: its first record."""
    # Another log at the same path began at another moment, so even the same problem differs.
    return digest(log.db.execute(FIRST).fetchone())


def log_mark(log: SqliteLog, offset: int) -> int:
    """Return what tells a log up to an offset from others that began alike: its last record, with its time."""
    return int(digest(log.db.execute(MARK, (offset,)).fetchone()), 16)


def snapshots_of(log: SqliteLog) -> Snapshots:
    """Open the snapshot that lies beside a log."""
    return Snapshots(snapshot_path(log.path), log_id(log), partial(log_mark, log))


def newest_learned(log: SqliteLog, find: Find) -> Learner:
    """All that a log taught, from its snapshot where there is one, so that it takes as long as what came since."""
    kept, records = partial(snapshots_of, log), LogRecords(log)
    known, whole = partial(known_of, log), lambda: learned(log, find)
    learner, heard = learner_of(kept, log.end(), find, records, nobody, Strays(), known, whole)
    for record in log.records("learning", kinds=HEARD_KINDS, after=heard):
        learner.feed(record.episode, record.address, record.event)
    return learner


def folded_upto(log: Path) -> int | None:
    """The offset that the snapshot beside a log holds the folds of; none where there is none, or it is cut off."""
    kept = snapshot_path(log)
    if not kept.exists():
        return None
    with (
        suppress(SqliteError, KeyError, TypeError, ValueError),
        closing(connect_to_read(kept)) as db,
    ):
        # The head alone is read: whoever asks this is a diagnosis, and needs none of the folds.
        return int(orjson.loads(db.execute(HEAD).fetchone()[0])["offset"])
    return None


def keep(log: SqliteLog, tables: Path) -> bool:
    """Bring the snapshot beside a log up to its end, so that the next start reads little. Whether it was worth it.

    Where there are tables, the log's projector keeps both, and nothing is done here.
    """
    kept = snapshots_of(log)
    # Two who keep one file would overwrite each other's folds with older ones.
    if log.end() - kept.reaches() < WORTH or tables.exists():
        return False
    state = fold(log, kept.load())
    kept.tables = {}
    kept.save(state)
    return True
