"""Records of subjects as they lie in a log that was begun with keys, and how every query reads them all the same.

Bodies and messages of a subject are sealed before they reach SQLite: no page, no write-ahead log and no free page ever
holds them in the clear. On each connection, temporary views stand before the tables of the same name and open what
is sealed, so that no reader knows of it. Where a key was destroyed the views leave its rows out; ``main.records`` and
``main.messages`` are the rows as they lie, for chains, places and counts.

A log that was begun without keys has none of this, and no query of it changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import orjson

from schemas.identity import canonical
from schemas.subjects import subject_of
from streams.runtime.embedded.keys import Keys, NoKeys
from streams.runtime.embedded.tables import VIEWS

Row: TypeAlias = tuple[Any, ...]
BEGUN: Final = "create table keyed(token text not null, place text not null);"
"""A log that was begun with keys has this table: their token, and the file where they were last."""
OPENS: Final = '{"sealed":"subject-'
_IS = f"as text), 1, {len(OPENS)}) = '{OPENS}'"
_RECORD, _MESSAGE = f"substr(cast(body {_IS}", f"substr(cast(value {_IS}"
# A row is opened only when somebody asks for its body, and rows whose key is gone are left out. All
# other bodies pass through one comparison of their first characters.
SEES = f"""
create temp view if not exists records as
  select offset, topic, partition, epoch, episode, address, kind, at_ms,
    case when {_RECORD} then opened_record(body, episode, address, kind) else body end body
  from main.records where not {_RECORD} or is_readable(body);
create temp view if not exists messages as
  select offset, topic, key, at_ms,
    case when {_MESSAGE} then opened_headers(value, topic, key) else headers end headers,
    case when {_MESSAGE} then opened_value(value, topic, key) else value end value
  from main.messages where not {_MESSAGE} or is_readable(value);
{VIEWS.replace("create view", "create temp view")}
"""
SEALED = f"select episode, address, body from main.records where {_RECORD} order by offset"
NAMED = ("subject", "episode", "problem_id", "id")
"""Fields of a message that may say whose it is, where its key does not."""


def unlock(db: sqlite3.Connection, place: Path | None = None) -> Sealing:
    """Let every query of a connection read what is sealed on its log, which was begun with keys.

    They are at ``place``, or where they were last. Raises ``NoKeys``.
    """
    token, last = db.execute("select token, place from keyed").fetchone()
    keys = Keys(Path(last) if place is None else place, token)
    (reads_only,) = db.execute("pragma query_only").fetchone()
    # Even temporary views are not made on a connection that only reads.
    db.execute("pragma query_only=off")

    def is_readable(raw: str | bytes) -> bool:
        found = _parts(raw)
        return found is not None and keys.holds(found[0])

    def opened_record(raw: str, episode: str, address: str, kind: str) -> str:
        found = _parts(raw)
        where = _at(("record", episode, address, kind))
        said = None if found is None else keys.open(*found, where)
        # What cannot be opened is no event, and whoever reads it says so with its place.
        return raw if said is None else said.decode("utf-8", "surrogatepass")

    def opened_value(raw: str | bytes, topic: str, key: str) -> str | bytes:
        return _message(keys, raw, topic, key)[1]

    def opened_headers(raw: str | bytes, topic: str, key: str) -> str:
        return _message(keys, raw, topic, key)[0]

    # The views call these by name, so they are there before the views are made.
    db.create_function("is_readable", 1, is_readable)
    db.create_function("opened_record", 4, opened_record)
    db.create_function("opened_value", 3, opened_value)
    db.create_function("opened_headers", 3, opened_headers)
    try:
        db.executescript(SEES)
    finally:
        db.execute(f"pragma query_only={reads_only}")
    # Whoever says where the keys are by now says it once.
    if place is not None and str(place) != last and not reads_only:
        db.execute("update keyed set place = ?", (str(place),))
    return Sealing(keys)


def begun(log: Path, place: Path) -> str:
    """What makes a new log one with keys, which are made at ``place``. Raises ``NoKeys`` if they cannot be."""
    if log.absolute().parent == place.parent:
        raise NoKeys(f"{place} lies beside the log: whoever copies its folder would have both")
    token, where = Keys.begun(place).token, str(place).replace("'", "''")
    return f"{BEGUN} insert into keyed values ('{token}', '{where}');"


# -- writing -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sealing:
    """What stands between those who write to a log and its tables."""

    keys: Keys

    def records(self, rows: Iterable[Row]) -> list[Row]:
        """Rows of records as they are put into the log: those of subjects sealed. Raises ``NoKeys``."""
        sealed: list[Row] = []
        for row in rows:
            episode, address, kind, body = *row[3:6], row[-1]
            subject = subject_of(episode)
            if subject is not None:
                # Its place is sealed with it: no body can be passed off as another record's.
                box = self._box(subject, body.encode(), "record", episode, address, kind)
                row = (*row[:-1], box)
            sealed.append(row)
        return sealed

    def messages(self, rows: Iterable[Row]) -> list[Row]:
        """Rows of messages as they are put into the log: those of subjects sealed, headers too. Raises ``NoKeys``.

        The key of a judgement is a digest of its words: in its place stands one that takes the subject's key to make.
        """
        sealed: list[Row] = []
        for topic, key, at_ms, headers, value in rows:
            subject = subject_of_message(key, value)
            if subject is None:
                sealed.append((topic, key, at_ms, headers, value))
                continue
            if topic == "feedback":
                key = self.keys.digest(subject, value)
                value = orjson.dumps(orjson.loads(value) | {"mark": key})
            # Headers may name a person as well as the value does, so both go into one envelope.
            said = headers.encode() + b"\n" + value
            box = self._box(subject, said, "message", topic, key)
            sealed.append((topic, key, at_ms, "{}", box.encode()))
        return sealed

    def keyed(self, name: str, said: Any) -> Any:
        """What stands for something in a name that is made of it. Raises ``NoKeys``."""
        subject = subject_of(name)
        return said if subject is None else {"mark": self.keys.digest(subject, canonical(said))}

    def _box(self, subject: str, said: bytes, *where: str) -> str:
        box = self.keys.seal(subject, said, _at(where))
        return f'{{"sealed":"{subject}","box":"{box}"}}'


def subject_of_message(key: str, value: bytes) -> str | None:
    """Whose a message is: by its key, or by the ids that it names."""
    found = subject_of(key)
    # Almost no message names a subject, and reading each as JSON would cost more than storing it.
    if found is not None or b"subject-" not in value:
        return found
    try:
        said: Any = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    named = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    texts = (named.get(name) for name in NAMED)
    return next((m for text in texts if isinstance(text, str) and (m := subject_of(text))), None)


# -- reading -----------------------------------------------------------------------------------


def _message(keys: Keys, raw: str | bytes, topic: str, key: str) -> tuple[str, str | bytes]:
    """Headers and value of a message that was sealed; no headers where it cannot be opened."""
    found = _parts(raw)
    said = None if found is None else keys.open(*found, _at(("message", topic, key)))
    if said is None:
        return "{}", raw
    headers, _, value = said.partition(b"\n")
    return headers.decode(), value


def _at(where: Iterable[str]) -> str:
    return "\x1f".join(where)


def _parts(raw: str | bytes) -> tuple[str, str] | None:
    """Mark and contents of an envelope; nothing where it is none."""
    try:
        said: Any = orjson.loads(raw)
        mark, box = said["sealed"], said["box"]
    except (orjson.JSONDecodeError, TypeError, KeyError):
        return None
    return (mark, box) if isinstance(mark, str) and isinstance(box, str) else None


def marks(db: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    """Episode and address of every sealed record as it lies, and whose it is."""
    for episode, address, body in db.execute(SEALED):
        found = _parts(body)
        yield episode, address, "" if found is None else found[0]
