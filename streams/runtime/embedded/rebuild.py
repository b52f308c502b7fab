"""Rebuilding: every fold over the log from nothing, with no policy run and no model asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.events.codec import READERS, Refused, UnknownEvent, decode
from schemas.events.union import KINDS
from state.collecting import uncollected
from state.folds.state import State
from streams.runtime.embedded.records import LogRecords

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

ROWS = (
    "select offset, episode, address, kind, cast(body as blob) from records "
    "where offset > ? and offset <= ? order by offset"
)
EVERY = 20_000
"""Offsets that are folded between two looks."""
WAYS = {kind: (READERS[kind], State.TAKES.get(model)) for kind, model in KINDS.items()}
"""What reads an event of a kind and what takes it: of kinds that this build does not know, nothing does."""


def fold(
    log: SqliteLog,
    state: State,
    upto: int | None = None,
    told: Callable[[State], None] | None = None,
) -> State:
    """Feed the state with every record after its offset; each one is validated.

    ``told`` is called now and then, for those who watch.
    """
    end = log.end() if upto is None else min(upto, log.end())
    # Forgetting needs records that folds do not keep, and finds them on the log.
    state.attach(LogRecords(log))
    with uncollected():
        # In stretches, so that whoever watches sees it move; rows are read as they are folded, and never all held.
        while state.offset < end:
            _stretch(log, state, min(state.offset + EVERY, end))
            if told is not None:
                told(state)
    return state


def _stretch(log: SqliteLog, state: State, upto: int) -> None:
    """Fold up to an offset. Spelled out, for it runs for every record that there is."""
    count = 0
    for offset, episode, address, kind, body in log.db.execute(ROWS, (state.offset, upto)):
        count += 1
        if kind in WAYS:
            read, take = WAYS[kind]
            try:
                event = read(body)
            except Refused:
                # This says what is wrong, if anything is. A record of another version is passed over,
                # as one of an unknown kind is: an older build must still read the log of a newer one.
                event = decode(kind, body)
                if isinstance(event, UnknownEvent):
                    continue
            if take is not None:  # a kind that no fold takes is read all the same, to be validated
                take(state, offset, episode, address, event)
    state.passed(upto, count)


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


def scopes_of_version(log: SqliteLog, number: int) -> list[str]:
    """The scopes that have a memory version of this number."""
    query = (
        "select distinct json_extract(body, '$.scope') from records where kind = 'memory.versioned' "
        "and json_extract(body, '$.number') = ? order by 1"
    )
    return [str(scope) for (scope,) in log.db.execute(query, (number,))]
