"""Rights that a program needs from a broker with an authoriser, as lines for Kafka's own ``kafka-acls.sh``.

A log under a prefix needs one rule for all of its topics, dead letters among them; one without a prefix two.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from streams.runtime.kafka.place import KafkaAddress

Who: TypeAlias = Literal["worker", "producer", "consumer", "reader", "admin"]
TOPICS: Final[Mapping[Who, tuple[str, ...]]] = {
    "worker": ("Read", "Write", "Describe", "DescribeConfigs"),
    "reader": ("Read", "Describe", "DescribeConfigs"),
    "admin": ("Create", "Describe", "DescribeConfigs"),
}
"""What is done with every topic of the log."""
ABOUT: Final[Mapping[Who, str]] = {
    "worker": "metalogue worker, and whoever sends feedback or dead letters on",
    "producer": "an application that puts problems, labels and scores there",
    "consumer": "an application that takes the answers; allow it Read on its own consumer group, too",
    "reader": "dashboard, verify, show, export, projector: everything that only reads",
    "admin": "metalogue topics create and check",
}


def lines(place: KafkaAddress, who: Who, principal: str) -> Iterator[str]:
    """The rules of one kind of program for one principal, each a line to be run."""
    start = f"kafka-acls.sh --bootstrap-server {place.servers} --add --allow-principal {shlex.quote(principal)}"
    if who in TOPICS:
        prefixes = [f"{place.prefix}."] if place.prefix else ["metalogue.", "dlq.metalogue."]
        for prefix in prefixes:
            yield f"{start} {_operations(*TOPICS[who])} --topic {prefix} --resource-pattern-type prefixed"
    if who == "worker":
        yield f"{start} {_operations('Read', 'Describe')} --group {place.group}"
        yield f"{start} {_operations('IdempotentWrite')} --cluster"
    if who == "reader":
        yield f"{start} {_operations('Describe')} --group {place.group}"
    if who == "producer":
        for name in ("problems", "feedback"):
            yield f"{start} {_operations('Write', 'Describe')} --topic {place.topic(name)}"
    if who == "consumer":
        yield f"{start} {_operations('Read', 'Describe')} --topic {place.topic('answers')}"


def _operations(*names: str) -> str:
    return " ".join(f"--operation {name}" for name in names)
