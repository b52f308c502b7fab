"""Outgoing messages of the command line: problems, feedback, dead letters and learning commands, each to its topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from schemas.carried import of_text
from schemas.events.base import Event
from schemas.events.codec import as_written
from schemas.letters import ERRORS, PLAN
from schemas.written import feedback_of
from streams.engine.judgements import feedback_name
from streams.engine.policies import find
from streams.runtime.embedded.intake import SCOPE
from streams.runtime.kafka.append import Appender, Lane, free, message_headers
from streams.runtime.kafka.envelope import Headers, named
from streams.runtime.kafka.letters import KafkaDeadLetter
from streams.runtime.kafka.place import partition_of

Message = tuple[str, str, Mapping[str, Any], bytes]
Command = tuple[str, str, Event]
ORDER = {"feedback": 0, "problems": 1, "dead-letters": 2}
"""Labels first: a problem must not be closed before its label is there."""
JSON_HEADERS = frozenset({PLAN})


async def publish(
    appender: Appender,
    partitions: int,
    messages: Iterable[Message],
    commands: Iterable[Command],
    homes: Mapping[str, int | None],
) -> None:
    """Send everything. Series are announced last: what died in between is sent again the same."""
    place = appender.place
    for topic in sorted({each[0] for each in messages}, key=lambda t: ORDER.get(t, 9)):
        lanes = {_send(appender, partitions, each) for each in messages if each[0] == topic}
        # Durable before the next topic begins, so that a crash leaves no problem without its label.
        for lane in lanes:
            await lane.commit()
    lanes = set[Lane]()
    for episode, address, event in commands:
        scope = getattr(event, "scope", None)
        # Of an episode that nobody admitted a command counts nowhere, so any partition will do.
        index = homes.get(episode) or 0
        if scope is not None:
            index = partition_of(scope.encode(), partitions)
        lane = appender.lane(place.topic("events" if scope is None else "learning"), index)
        free(lane, scope or episode, episode, address, as_written(event))
        lanes.add(lane)
    for lane in lanes:
        await lane.commit()


def _send(appender: Appender, partitions: int, message: Message) -> Lane:
    topic, key, headers, value = message
    place = appender.place
    if topic == "dead-letters":
        meant = str(headers.get(f"{ERRORS}topic", "problems"))
        name = place.dead(meant if meant in ("problems", "feedback") else "problems")
        raw: Headers = [
            (n, v.encode() if isinstance(v, str) else orjson.dumps(v)) for n, v in headers.items()
        ]
        lane = appender.lane(name, partition_of(key.encode(), partitions))
        lane.add(*KafkaDeadLetter(key.encode(), value, [], raw).row(appender.sizes, name))
        return lane
    said = partition_key(topic, value)
    lane = appender.lane(place.topic(topic), partition_of(said, partitions))
    kind = "feedback" if topic == "feedback" else "problem"
    more = [(f"ce_{SCOPE}", str(headers[SCOPE]).encode())] if SCOPE in headers else []
    theirs = of_text(headers) if kind == "problem" else []
    lane.add(said, value, [*message_headers(kind, key), *more, *theirs])
    return lane


def partition_key(topic: str, value: bytes) -> bytes:
    """Problems go by their id, those that are worked on in sets by their series; feedback by what it speaks of."""
    try:
        said = orjson.loads(value)
        if topic == "problems":
            together = said.get("position") is not None and takes_sets(said.get("policy"))
            return str(said["series" if together else "id"]).encode()
        return str(said.get("episode") or f"{said.get('domain')}/{said.get('problem_id')}").encode()
    except (ValueError, KeyError, AttributeError, TypeError):
        return value[:64]  # it will be refused; any partition may tell so


def takes_sets(policy: str | None) -> bool:
    """Whether a policy works on the members of a series in sets."""
    try:
        return policy is not None and find(policy).together is not None
    except LookupError:
        return False


def header_value(name: str, value: bytes | None) -> Any:
    """A header as it is shown."""
    if name in JSON_HEADERS and value is not None:
        try:
            return orjson.loads(value)
        except ValueError:
            pass
    return (value or b"").decode("utf-8", "backslashreplace")


def name_of(topic: str, record: Any) -> str:
    """Return the name of a message: what it speaks of, or else where it lies."""
    found = named(record.headers)
    place = f"{record.partition}/{record.offset}"
    if topic in ("answers", "dead-letters") and record.key:
        return str(record.key.decode("utf-8", "replace"))
    if "ce_subject" in found and "ce_type" in found:
        return str(found["ce_subject"].decode("utf-8", "replace"))
    if topic == "feedback":
        try:
            return feedback_name(feedback_of(record.value or b""))
        except ValueError:
            return place
    return place
