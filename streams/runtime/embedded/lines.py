"""A log as JSON Lines: every record and message, as `log cat` writes them and `jsonl:PATH` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import orjson

from schemas.events.codec import BadEvent
from streams.runtime.embedded.queries.messages import as_bytes

if TYPE_CHECKING:
    from streams.replay.cut import Cut
    from streams.runtime.embedded.log import SqliteLog

TYPES: dict[str, tuple[type[Any], str]] = {
    **dict.fromkeys(("offset", "at_ms", "partition", "epoch"), (int, "a whole number")),
    **dict.fromkeys(("event", "headers"), (dict, "an object")),
    **dict.fromkeys(
        ("topic", "episode", "address", "kind", "body", "key", "value", "bytes", "token", "place"),
        (str, "a text"),
    ),
}
"""What the fields of a line are, and how that is said."""
CLOCK = range(-62_135_596_800_000, 253_402_300_800_000)
"""Milliseconds of the years 1 to 9999, which are all that a clock can show."""
NAMES = ("offset", "topic", "partition", "epoch", "episode", "address", "kind", "at_ms")
RECORD = "insert into main.records values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
MESSAGE = "insert into main.messages values (?, ?, ?, ?, ?, ?)"
LAIN = """
create table if not exists lain(offset integer primary key, topic text, partition integer, place integer)
"""
"""Where messages of a log on Kafka lie there: topic, partition, offset. No other log has this table."""
HAS_LAIN = "select 1 from sqlite_master where name = 'lain'"
LIES = "insert into lain values (?, ?, ?, ?)"
PLACE = ("offset", "topic", "partition", "epoch", "episode", "address", "at_ms", "kind")
"""What stands before the event in a line of a record, in this order."""
BEGINNING = (-1, -1)
"""Before the first record and the first message."""
KEYED: tuple[str, ...] = ("keyed", "place")
"""Of a line that says which keys a log was begun with: their token, and the file where they were last."""
_KEYED = """
select token, place from keyed where ?1 is null or exists (select 1 from main.records
  where offset in (select value from json_each(?1)) and instr(episode, 'subject-'))
"""
_KEEPS = "create table keyed(token text not null, place text not null)"
_LAIN = "select topic, partition, place from lain where offset = ?"
_CHOSEN = (
    "where offset > ?3 and (?1 is null or topic = ?1) and "
    "(?2 is null or offset in (select value from json_each(?2))) order by offset"
)


def lines_of(
    log: SqliteLog,
    topic: str | None = None,
    found: Cut | None = None,
    after: tuple[int, int] = BEGINNING,
) -> Iterator[dict[str, Any]]:
    """Every record and message of a log as it lies, of one topic, or of what was cut out of it.

    ``after`` is the offset of a record and that of a message behind which it begins. What is sealed stays so: of a log
    with keys a line comes first that says which they are.
    """
    records = messages = None
    if found is not None:
        records = orjson.dumps(sorted(found.records)).decode()
        messages = orjson.dumps(sorted(found.messages)).decode()
    # Whoever reads the lines back must know which keys open them before the first one that is
    # sealed. A tail that is written on behind an earlier file follows a line that said so.
    if log.sealing is not None and after == BEGINNING:
        yield from (
            dict(zip(KEYED, row, strict=True)) for row in log.db.execute(_KEYED, (records,))
        )
    query = f"select offset, topic, partition, epoch, episode, address, at_ms, kind, body from main.records {_CHOSEN}"
    for *place, body in log.db.execute(query, (topic, records, after[0])):
        told: dict[str, Any] = dict(zip(PLACE, place, strict=True))
        try:
            told["event"] = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            where = f"record {told['offset']}, {told['episode']} at {told['address']}"
            raise BadEvent(f"{where}: {error}") from error
        # Whoever reads it back has to get the same bytes, of which digests and stamps are made: `1e50` would
        # become `1e+50`.
        if isinstance(body, str) and orjson.dumps(told["event"]).decode() != body:
            told["body"] = body
        yield told
    query = f"select offset, topic, key, at_ms, headers, value from main.messages {_CHOSEN}"
    lain = log.db.execute(HAS_LAIN).fetchone()
    for row in log.db.execute(query, (topic, messages, after[1])):
        offset, name, key, at_ms, headers, value = row
        raw = as_bytes(value)
        line: dict[str, Any] = {"offset": offset, "topic": name, "key": key, "at_ms": at_ms}
        line["headers"] = orjson.loads(headers)
        try:
            line["value"] = raw.decode()
        except UnicodeDecodeError:
            # Anybody may put any bytes on a topic, and they have to come back the same.
            line["bytes"] = raw.hex()
        lies = log.db.execute(_LAIN, row[:1]).fetchone() if lain else None
        if lies is not None:
            line["lies"] = [*lies]
        yield line


def put(log: SqliteLog, line: dict[str, Any]) -> None:
    """Put a line on a log where it stood before. Who put all of them unlocks the log.

    Raises what ``imported.BAD`` names for a line that is none of a log; a ``ValueError`` names the field.
    """
    _need(line)
    if "keyed" in line:
        # By this table a log is known to be one with keys, so no other import may make it.
        log.db.execute(_KEEPS)
        log.db.execute("insert into keyed values (?, ?)", tuple(line[name] for name in KEYED))
        return
    if "episode" in line:
        body = line.get("body")
        if body is None:
            body = orjson.dumps(line["event"]).decode()
        # Both are in the file where they differ in writing; people edit the event, and digests are of the body.
        elif orjson.loads(body) != line["event"]:
            raise ValueError("body: not what the event says")
        log.db.execute(RECORD, (*(line[name] for name in NAMES), body))
        return
    value = line["value"].encode() if "value" in line else bytes.fromhex(line["bytes"])
    headers = orjson.dumps(line["headers"]).decode()
    place = (line["offset"], line["topic"], line["key"], line["at_ms"])
    log.db.execute(MESSAGE, (*place, headers, value))
    if "lies" in line:
        topic, partition, offset = line["lies"]
        log.db.execute(LAIN)
        log.db.execute(LIES, (line["offset"], topic, partition, offset))


def _need(line: object) -> None:
    """Raises a ``ValueError`` that names the first field of a line which is missing or of another type."""
    if not isinstance(line, dict):
        raise ValueError("expected an object")
    said = cast("dict[str, Any]", line)
    needed: tuple[str, ...]
    if "episode" in said:
        needed = (*NAMES, "event")
    elif "keyed" in said:
        needed = KEYED
    elif "value" in said or "bytes" in said:
        needed = ("offset", "topic", "key", "at_ms", "headers")
    else:
        raise ValueError("neither a record (episode, event) nor a message (key, value)")
    for name in needed:
        if name not in said:
            raise ValueError(f"{name}: missing")
    # SQLite takes any value in any column, and whoever reads the log could not say which line it came from.
    for name, (kind, called) in TYPES.items():
        if name in said and type(said[name]) is not kind:
            raise ValueError(f"{name}: expected {called}")
    # A message may have come from anybody, with a time in microseconds; a record's is a worker's own.
    if "episode" in said and said["at_ms"] not in CLOCK:
        raise ValueError("at_ms: no time between the years 1 and 9999, in milliseconds since 1970")
