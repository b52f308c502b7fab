"""Dead letters as they lie on a log: what was refused, where it came from and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from streams.cli.errors import usage
from streams.topology import TOPICS

if TYPE_CHECKING:
    from streams.runtime.embedded.log import SqliteLog

TOPIC = "dead-letters"
ERRORS = "__metalogue.errors."
ALL = """
select row_number() over (order by offset), offset, key, at_ms, headers, value
  from messages where topic = 'dead-letters' order by offset
"""
SENT_ON = "select offset from consumers where topic = 'dead-letters' and name like 'dlq/%'"
NUMBER = """
select count(*) from messages where topic = 'dead-letters'
  and offset <= (select offset from messages where topic = 'dead-letters' and key = ?)
"""


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter. ``number`` counts from 1 in the order in which they were refused."""

    number: int
    offset: int
    key: str
    at_ms: int
    headers: dict[str, Any]
    value: bytes
    sent_on: bool
    """Whether it was replayed since."""

    @property
    def topic(self) -> str:
        """The topic that it was meant for."""
        said = str(self.headers.get(f"{ERRORS}topic", ""))
        known = {topic.name for topic in TOPICS}
        first = self.key.partition("/")[0]
        return next((name for name in (said, first) if name in known), "problems")

    @property
    def place(self) -> str:
        """Where it came from: a line of a file, or an offset of a topic."""
        source = self.headers.get(f"{ERRORS}source") or self.headers.get(f"{ERRORS}topic")
        offset = self.headers.get(f"{ERRORS}offset")
        return self.key.rpartition("/")[0] if offset is None else f"{source}:{offset}"

    @property
    def reason(self) -> str:
        """Why it was refused."""
        return str(self.headers.get(f"{ERRORS}message", "refused by the reader of its topic"))

    @property
    def at(self) -> str:
        """When, in UTC."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def text(self) -> str:
        """Its bytes as text; what is no UTF-8 is shown by escapes."""
        return self.value.decode("utf-8", "backslashreplace")

    def record(self) -> dict[str, Any]:
        """What a listing says of it."""
        return {
            "number": self.number,
            "at": self.at,
            "topic": self.topic,
            "place": self.place,
            "reason": self.reason,
            "bytes": len(self.value),
            "replayed": self.sent_on,
        }


def letters(log: SqliteLog) -> Iterator[Letter]:
    """Every dead letter, oldest first."""
    import orjson

    sent_on = {row[0] for row in log.db.execute(SENT_ON)}
    for number, offset, key, at_ms, headers, value in log.db.execute(ALL):
        raw = value if isinstance(value, bytes) else str(value).encode()
        said = orjson.loads(headers)
        yield Letter(number, offset, key, at_ms, said, raw, offset in sent_on)


def number_of(log: SqliteLog, key: str) -> int:
    """The number of the dead letter with this key; 0 if there is none."""
    return int(log.db.execute(NUMBER, (key,)).fetchone()[0])


def letter(log: SqliteLog, number: int) -> Letter:
    """One dead letter. Raises a usage error if there is none of this number."""
    found = list(letters(log))
    if not 1 <= number <= len(found):
        raise usage(f"no dead letter {number}; there are {len(found)}", error="dlq.missing")
    return found[number - 1]
