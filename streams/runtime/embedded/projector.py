"""The projector: follows one log, folds it, and keeps tables and snapshot up with it. One a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from schemas.events.codec import decode
from schemas.identity import is_taken, learning_id
from state.folds.state import State
from state.tables.registry import TABLES
from state.tables.table import Found
from state.tables.tableset import TableSet
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.scopes import made_at
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.snapshots import log_mark, snapshots_of

POLL_S = 0.1
FLUSH_S = 0.3
FLUSH_KEYS = 500
SNAPSHOT_S = 5.0
FOUND = """
select episode, address, offset, at_ms, kind, body from records
where episode in ({}) and address in ('admitted', 'opened', 'closed', 'reflected')
  and topic in ('events', 'learning') and offset <= ?
order by episode, offset
"""
EPISODES = """
select distinct episode from records where kind in ('problem.admitted', 'episode.opened')
  and offset <= ? order by episode
"""
AT_ONCE = 200


def tables_path(log: Path) -> Path:
    """Where the tables of a log lie."""
    return log.with_name(f"{log.name}.tables")


class LogSource:
    """Rows are made from the folds and from single episodes of the log, up to the folds' offset."""

    def __init__(self, log: SqliteLog, state: State) -> None:
        self.log, self.state = log, state

    def records(self, episodes: Sequence[str]) -> Iterator[tuple[str, Found]]:
        """The records that tables show, by episode in order of names."""
        for first in range(0, len(episodes), AT_ONCE):
            # SQLite takes a limited number of values in one query.
            names = episodes[first : first + AT_ONCE]
            query = FOUND.format(",".join("?" * len(names)))
            rows = self.log.db.execute(query, (*names, self.state.offset))
            for episode, group in groupby(rows, key=itemgetter(0)):
                if not episode.startswith("b/") and not is_taken(episode):
                    yield (
                        episode,
                        {at: (off, ms, decode(kind, body)) for _, at, off, ms, kind, body in group},
                    )

    def episodes(self) -> Iterable[str]:
        """Every episode that was admitted or opened."""
        return [row[0] for row in self.log.db.execute(EPISODES, (self.state.offset,))]

    def mark(self, offset: int) -> int:
        """A number made of the last record up to an offset."""
        return log_mark(self.log, offset)

    def version_offset(self, scope: str, number: int) -> int:
        """Where the record that made a memory version stands; 0 for the empty one."""
        revision = self.state.memories[scope].versions[number].revision
        return made_at(self.log, learning_id(scope, number, revision)) or 0


class Projector:
    """Folds and sinks of one log, from the snapshot on."""

    def __init__(
        self,
        log: SqliteLog,
        names: Iterable[str] = TABLES,
        told: Callable[[str], None] | None = None,
    ) -> None:
        self.log = log
        self.snapshots = snapshots_of(log)
        self.state = self.snapshots.load()
        # The log is shorter than its snapshot says: it was cut off, or is another one at the same path.
        if self.state.offset > log.end():
            self.snapshots.drop()
            self.state = self.snapshots.load()
        self.touched = self.state.watch()
        self.tables = TableSet(tables_path(log.path), LogSource(log, self.state), names, told)
        self.stopped = False
        self.kept_at = self.flushed_at = time.monotonic()

    def open(self) -> None:
        """Fold up to the log's end; then open the tables as they were at the snapshot, or write them anew."""
        fold(self.log, self.state)
        self.tables.open(self.snapshots.tables)
        self.keep()

    def follow(self, until: Callable[[], bool] = lambda: False) -> None:
        """Keep up with the log until stopped, or until told that nothing more will come."""
        version = -1
        while not self.stopped:
            # Asked before we look: what came until then is folded in this turn, and nothing is missed.
            last = self.stopped or until()
            seen = self.log.data_version()
            if seen != version:
                version = seen
                fold(self.log, self.state)
            # Tables are written in batches: each flush is a commit, and most changes touch the same rows again.
            waiting, now = len(self.touched.lives) + len(self.touched.episodes), time.monotonic()
            if waiting >= FLUSH_KEYS or (waiting and now - self.flushed_at >= FLUSH_S):
                self.flush()
            if now - self.kept_at >= SNAPSHOT_S:
                self.keep()
            if last:
                break
            time.sleep(POLL_S)
        fold(self.log, self.state)
        self.flush()

    def flush(self) -> int:
        """Write what changed to the tables."""
        self.flushed_at = time.monotonic()
        return self.tables.flush(self.touched)

    def keep(self) -> None:
        """Write a snapshot; the tables hold at least what it holds."""
        # Tables first: rows that a snapshot holds and no table shows would never be written again.
        self.flush()
        self.snapshots.tables = self.tables.watermarks()
        self.snapshots.save(self.state)
        self.kept_at = time.monotonic()

    def close(self) -> None:
        """Everything written, in good order."""
        self.keep()
        self.tables.close()
