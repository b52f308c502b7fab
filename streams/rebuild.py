"""Rebuilding: every fold over the log from nothing, with no policy run and no model asked."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.events.codec import decode
from state.folds.state import State

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

ROWS = "select offset, episode, kind, body from records where offset > ? and offset <= ? order by offset"
FOREVER = 1 << 62
EVERY = 50_000


def fold(
    log: SqliteLog,
    state: State,
    upto: int | None = None,
    told: Callable[[State], None] | None = None,
) -> State:
    """Feed the state with every record after its offset; each one is validated."""
    feed = state.feed
    with no_collections():
        for count, (offset, episode, kind, body) in enumerate(
            log.db.execute(ROWS, (state.offset, FOREVER if upto is None else upto)), 1
        ):
            feed(offset, episode, decode(kind, body))
            if told is not None and count % EVERY == 0:
                told(state)
    return state


@contextmanager
def no_collections() -> Generator[None]:
    """Without searches for cycles: events and folds make none, and the search costs a quarter."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def snapshot_path(log: Path) -> Path:
    """Where the folds of a log are kept."""
    return log.with_name(f"{log.name}.snapshot.db")


def offset_of_version(log: SqliteLog, number: int, scope: str | None = None) -> int | None:
    """Where the newest record that made this memory version stands, in any scope or in one."""
    query = (
        "select max(offset) from records where kind = 'memory.versioned' "
        "and json_extract(body, '$.number') = ? and (? is null or json_extract(body, '$.scope') = ?)"
    )
    row = log.db.execute(query, (number, scope, scope)).fetchone()
    return None if row[0] is None else int(row[0])
