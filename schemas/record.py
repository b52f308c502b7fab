"""A record: an event with its place in a log."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.events.base import Event


@dataclass(frozen=True, slots=True)
class Record:
    # The offset and not the time orders records: clocks of two workers need not agree.
    """One accepted line of a log. ``offset`` orders all records of one log; ``at_ms`` is Unix time."""

    offset: int
    topic: str
    partition: int
    epoch: int
    episode: str
    address: str
    at_ms: int
    event: Event


def event_id(episode: str, address: str) -> str:
    """What makes a record the same record: where in which episode."""
    return f"{episode}@{address}"
