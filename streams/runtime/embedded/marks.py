"""What a worker leaves on its log for whoever comes after it: how much there is of each kind, and where work is open.

Without it a start looks at every episode that was ever admitted, and a count at every record. Marks are kept among the
counters, which are no part of the record. They hold up to an offset and name its record: a log that was cut off since,
or made anew of its lines, has none, and is read from its beginning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from streams.runtime.embedded.queries.conditions import IS_CLOSED, IS_TAKEN_OUT
from streams.runtime.embedded.snapshots import log_mark

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

Kind: TypeAlias = tuple[str, str]
"""A topic of records, and a kind on it."""
MARKS = "select name, value from counters where name glob 'mark/*'"
LEAVE = "insert or replace into counters values (?, ?)"
SINCE = """
select topic, kind, count(*) from records where offset > ? and offset <= ? group by topic, kind
"""
# The first open one bounds the look of the next start; those behind it are told apart then. One that a solve began
# and left is open too: whoever puts its problem for workers later makes it theirs, at the place where it stands.
OPEN = f"""
select min(offset) from (select offset from records a where address = 'admitted'
  and offset >= ? and offset <= ? and not {IS_CLOSED} and not {IS_TAKEN_OUT}
  order by offset limit 1)
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of a log up to an offset."""

    offset: int = 0
    open_from: int = 0
    """Whatever was admitted before this offset is closed, or given up."""
    counts: Mapping[Kind, int] = field(default_factory=dict[Kind, int])


def left(log: SqliteLog) -> Mark:
    """The mark that was left on a log; one that knows nothing where there is none that holds."""
    # A log that was cut off and went on may have as many records again: so the mark names its record too.
    found = dict(log.db.execute(MARKS).fetchall())
    offset = found.get("mark/offset", 0)
    if not offset or offset > log.end() or found.get("mark/record") != log_mark(log, offset):
        return Mark()
    counts = {
        (topic, kind): count
        for name, count in found.items()
        if name.startswith("mark/count/")
        for topic, _, kind in [name.removeprefix("mark/count/").partition("/")]
    }
    return Mark(offset, found.get("mark/unclosed", 0), counts)


def counted(log: SqliteLog) -> dict[Kind, int]:
    """How many records a log has of each kind: those up to its mark as they were counted then."""
    # Mark and records behind it are of one moment, or what a worker adds in between is missed or
    # counted twice.
    with log.reading():
        return _counted(log, left(log), log.end())


def _counted(log: SqliteLog, before: Mark, end: int) -> dict[Kind, int]:
    counts = Counter(before.counts)
    for topic, kind, count in log.db.execute(SINCE, (before.offset, end)):
        counts[topic, kind] += count
    return dict(counts)


def leave(log: SqliteLog) -> None:
    """Leave a mark at the log's end. It costs what came since the last one. Raises what SQLite says of the file."""
    with log.transaction():
        # Counted in the same transaction: nobody may append between counting and noting.
        before, end = left(log), log.end()
        if end == before.offset:
            return
        (first,) = log.db.execute(OPEN, (before.open_from, end)).fetchone()
        told = {
            "mark/offset": end,
            "mark/record": log_mark(log, end),
            # Nothing is open, so nothing before the end need be looked at; what comes later lies
            # behind it.
            "mark/unclosed": end if first is None else first,
        }
        kinds = _counted(log, before, end).items()
        told |= {f"mark/count/{topic}/{kind}": count for (topic, kind), count in kinds}
        log.db.executemany(LEAVE, told.items())
