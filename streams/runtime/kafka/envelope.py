"""CloudEvents on Kafka: binary mode is written (value = data, attributes = headers), both modes are read.

The claim that an append stands under travels as the extension ``epoch``; commands and projections have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import count
from typing import Any

import orjson

from schemas.record import event_id
from schemas.written import Twice, loads

Headers = list[tuple[str, bytes]]
Given = Iterable[tuple[str, bytes | None]]
"""Headers as they come: a foreign client may send a name without a value."""
TYPE, SOURCE = "io.metalogue.", "metalogue"
_JSON = ("content-type", b"application/json")
_FIXED = (_JSON, ("ce_specversion", b"1.0"), ("ce_source", SOURCE.encode()))
_STRUCTURED = b"application/cloudevents+json"
_sequence = count(1)
# Nearly all headers of a record are those of another one of its episode or its kind: hence the caches.


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of a log topic, before its body is read."""

    episode: str
    address: str
    kind: str
    epoch: int | None
    body: bytes
    at_ms: int | None = None
    """When it was stated, by its writer's clock; unknown of what others sent without a time."""


class NotOurs(ValueError):
    """A record carries no envelope that this build can read."""


@lru_cache(maxsize=512)
def _typed(kind: str) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    schema = f"metalogue:{kind}.v1".encode()
    return ("ce_type", f"{TYPE}{kind}.v1".encode()), ("ce_dataschema", schema)


@lru_cache(maxsize=8192)
def _named(episode: str) -> tuple[tuple[str, bytes], ...]:
    name = episode.encode()
    caused = event_id(episode, "admitted").encode()
    # Everything in an episode follows from its admission, which names itself.
    return (
        ("ce_subject", name),
        ("ce_correlationid", name),
        ("ce_partitionkey", name),
        ("ce_causationid", caused),
    )


@lru_cache(maxsize=16)
def time_of(at_ms: int) -> tuple[str, bytes]:
    """The header that says when."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return "ce_time", moment.replace("+00:00", "Z").encode()


@lru_cache(maxsize=16)
def _ms_of(said: bytes) -> int | None:
    """The moment of such a header, in Unix milliseconds."""
    try:
        return round(datetime.fromisoformat(said.decode()).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def headers_of(
    kind: str, episode: str, address: str, at_ms: int, epoch: bytes | None = None
) -> Headers:
    """The headers of a record in binary mode."""
    made = [
        ("ce_id", event_id(episode, address).encode()),
        *_typed(kind),
        *_named(episode),
        time_of(at_ms),
        ("ce_sequence", b"%020d" % next(_sequence)),
        *_FIXED,
    ]
    if epoch is not None:
        made.append(("ce_epoch", epoch))
    return made


def named(headers: Given) -> dict[str, bytes]:
    """Headers by name, without those that say nothing; of several with one name the last."""
    return {name: value for name, value in headers if value is not None}


def read(headers: Given, value: bytes | None) -> LogRecord:
    """Return what a record says. Raises ``NotOurs``."""
    found = named(headers)
    name = found.get("ce_id")
    try:
        if name is not None:
            kind = found["ce_type"].decode()
            episode, _, address = name.decode().rpartition("@")
            epoch = found.get("ce_epoch")
            claim = None if epoch is None else int(epoch)
            at_ms = _ms_of(found.get("ce_time", b""))
            return LogRecord(episode, address, _kind(kind), claim, value or b"", at_ms)
        # Ours are never written so. Other clients may send a whole CloudEvent as the value.
        if not is_structured(found) or value is None:
            raise NotOurs("no CloudEvents attributes")
        whole: dict[str, Any] = orjson.loads(value)
        episode, _, address = str(whole["id"]).rpartition("@")
        said = whole.get("epoch")
        body, claim = orjson.dumps(whole["data"]), None if said is None else int(said)
        return LogRecord(episode, address, _kind(whole["type"]), claim, body)
    except (KeyError, ValueError, TypeError) as error:
        raise NotOurs(str(error)) from error


def _kind(type_: str) -> str:
    # Anything else on the topic is a foreign client's own matter, and no reader of ours fails on it.
    if not type_.startswith(TYPE):
        raise NotOurs(f"type {type_}")
    return type_[len(TYPE) :].rpartition(".v")[0]


def is_structured(headers: dict[str, bytes]) -> bool:
    """Whether the value is a whole CloudEvent."""
    return headers.get("content-type", b"").startswith(_STRUCTURED)


def data_of(headers: Given, value: bytes | None) -> tuple[bytes, bool]:
    """The data of a message, and whether it came in an envelope. Raises ``NotOurs`` and ``Twice``."""
    found = named(headers)
    if is_structured(found):
        try:
            return orjson.dumps(loads(value or b"")["data"]), True
        except Twice:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise NotOurs(f"a structured CloudEvent without data: {error}") from error
    return value or b"", "ce_type" in found
