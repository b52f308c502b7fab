"""A record: an event with its place in a log; and the CloudEvents attributes that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.events.base import Event


@dataclass(frozen=True, slots=True)
class Record:
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


def cloud_attributes(record: Record, source: str) -> dict[str, str]:
    """CloudEvents 1.0 context attributes, derived and never stored."""
    kind = record.event.kind
    return {
        "specversion": "1.0",
        "id": event_id(record.episode, record.address),
        "source": source,
        "type": f"io.metalogue.{kind}.v{record.event.version}",
        "subject": record.episode,
        "dataschema": f"metalogue:{kind}.v{record.event.version}",
        "datacontenttype": "application/json",
        "sequence": f"{record.offset:020d}",
        "correlationid": record.episode,
        "partitionkey": record.episode,
    }
