"""Changes of a log that nobody should get away with: one field, one record, or all of them in the same way."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, TypeAlias, cast

import orjson
from msgspec import structs

from schemas.events.codec import decode
from schemas.events.episode import EpisodeClosed
from schemas.stamps import stamp_of, stamps_of
from streams.runtime.embedded.log import SqliteLog

Change: TypeAlias = tuple[str, tuple[object, ...]]
"""A statement and its values."""
Named: TypeAlias = tuple[str, str]
"""Episode and address of a record, topic and key of a message: as they are after the change, or were before."""
RECORD = ["offset", "topic", "partition", "epoch", "episode", "address", "kind", "at_ms"]
MESSAGE = ["offset", "topic", "key", "at_ms", "headers"]
COLUMNS = {"records": (*RECORD, "body"), "messages": (*MESSAGE, "value")}
NAMES = {"records": ("episode", "address"), "messages": ("topic", "key")}


def other(value: Any) -> Any:
    """Something else of the same sort."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}0"
        case list():
            items = list(cast("list[Any]", value))
            return [*items[:-1], other(items[-1])] if items else ["more"]
        case dict():
            fields = cast("dict[str, Any]", value)
            first = next(iter(fields), None)
            return {"more": 1} if first is None else {**fields, first: other(fields[first])}
        case _:
            return "0"


@contextmanager
def spoilt(log: SqliteLog, *changes: Change) -> Generator[SqliteLog]:
    """The log with changes that are taken back."""
    log.db.execute("begin")
    try:
        for query, values in changes:
            assert log.db.execute(query, values).rowcount
        yield log
    finally:
        log.db.execute("rollback")


def places(log: SqliteLog, table: str) -> list[tuple[int, str, str]]:
    """The offset and the name of each row."""
    first, second = NAMES[table]
    return log.db.execute(f"select offset, {first}, {second} from {table} order by 1").fetchall()


def fields_of(log: SqliteLog, table: str, offset: int) -> Iterator[tuple[str, Change]]:
    """A change of every column of a row, and of every field of its JSON."""
    columns = COLUMNS[table]
    query = f"select {', '.join(columns)} from {table} where offset = ?"
    row = dict(zip(columns, log.db.execute(query, (offset,)).fetchone(), strict=True))
    said = row.pop("body" if table == "records" else "value")
    for name, value in row.items():
        now = value + 100_000 if isinstance(value, int) else f"{value}/other"
        yield name, (f"update {table} set {name} = ? where offset = ?", (now, offset))
    body = columns[-1]
    for name, value in orjson.loads(said).items():
        changed = orjson.dumps(orjson.loads(said) | {name: other(value)})
        kept = changed.decode() if isinstance(said, str) else changed
        yield f"{body}.{name}", (f"update {table} set {body} = ? where offset = ?", (kept, offset))


def drawn(log: SqliteLog, random: Random) -> tuple[str, Change, set[Named]]:
    """A random change of one row: what it is, how it is done, and the names that may be told for it."""
    table = random.choice(("records", "records", "records", "messages"))
    offset, *name = random.choice(places(log, table))
    one = (name[0], name[1])
    match random.choice(("field",) * 8 + ("delete", "double")):
        case "delete":
            return f"{one} gone", (f"delete from {table} where offset = ?", (offset,)), {one}
        case "double":
            rest = ", ".join(COLUMNS[table][1:]).replace(
                NAMES[table][1], f"{NAMES[table][1]} || '/again'"
            )
            query = f"insert into {table} select -offset, {rest} from {table} where offset = ?"
            return f"{one} twice", (query, (offset,)), {(one[0], f"{one[1]}/again")}
        case _:
            field, change = random.choice(list(fields_of(log, table, offset)))
            return f"{field} of {one}", change, {one}


# -- what verify alone cannot see ------------------------------------------------------------------


def forged(log: SqliteLog, change: Change) -> list[Change]:
    """A change, and after it every closing stamped anew: whoever has the log and this source can do that."""
    changes = [change]
    with spoilt(log, change):
        closed = "select episode, offset, at_ms, body from records where kind = 'episode.closed'"
        for episode, offset, at_ms, body in log.db.execute(closed).fetchall():
            event = decode("episode.closed", body)
            assert isinstance(event, EpisodeClosed)
            before = "select address, at_ms, body from records where episode = ? and offset < ? order by offset"
            rows = log.db.execute(before, (episode, offset)).fetchall()
            stamps = stamps_of([stamp_of(*row) for row in rows], at_ms)
            said = structs.replace(event, stamps=stamps).to_json().decode()
            changes.append(("update records set body = ? where offset = ?", (said, offset)))
    return changes


BLIND: dict[str, Change] = {
    "the model's name in every completion": (
        "update records set body = json_set(body, '$.model', 'another') where kind = 'completed'",
        (),
    ),
    "all times moved by a day": ("update records set at_ms = at_ms + 86400000", ()),
}
