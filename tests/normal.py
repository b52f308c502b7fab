"""What a log holds is as every reader of it would write it again."""

from __future__ import annotations

from schemas.events.codec import UnknownEvent, decode, encode
from streams.runtime.embedded.log import SqliteLog

ROWS = "select episode, address, kind, body from records order by offset"


def spelled_otherwise(log: SqliteLog) -> list[tuple[str, str, str]]:
    """Records that would be written in other bytes once they were read: place, bytes, and the other bytes."""
    found: list[tuple[str, str, str]] = []
    for episode, address, kind, body in log.db.execute(ROWS):
        event = decode(kind, body)
        assert not isinstance(event, UnknownEvent), kind
        again = encode(event).decode()
        if again != body:
            found.append((f"{episode}@{address}", body, again))
    return found
