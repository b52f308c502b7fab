"""Where a log on Kafka lies: its brokers, the names of its topics, and how its clients connect."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from schemas.identity import canonical

SCHEME = "kafka://"
LOG_TOPICS = ("problems", "events", "answers", "learning", "feedback", "checkpoints")
DEAD = ("problems", "feedback")
"""Topics whose unreadable records become dead letters."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,120}")
_SERVER = re.compile(r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")


class BadPlace(ValueError):
    """The URL does not name a log on Kafka."""


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """A log on Kafka. ``prefix`` keeps several logs of one cluster apart."""

    servers: str
    prefix: str = ""
    clients: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What every client needs to connect: SASL and TLS."""

    @classmethod
    def of(cls, url: str, clients: Mapping[str, Any] | None = None) -> KafkaAddress:
        """The place that a URL names. Raises ``BadPlace``."""
        servers, _, prefix = url.removeprefix(SCHEME).partition("/")
        # URLs stand in process lists, logs and error texts.
        if "@" in servers:
            raise BadPlace("a log's URL holds no credentials: it would be printed with them")
        if not servers or not all(_SERVER.fullmatch(each) for each in servers.split(",")):
            raise BadPlace(f"{url} is not kafka://HOST:PORT[,HOST:PORT][/PREFIX]")
        if prefix and not _NAME.fullmatch(prefix):
            raise BadPlace(f"{prefix!r} is no prefix: letters, digits, dot, dash and underscore")
        return cls(servers, prefix, clients or {})

    @property
    def url(self) -> str:
        """The URL, without secrets."""
        return f"{SCHEME}{self.servers}" + (f"/{self.prefix}" if self.prefix else "")

    @property
    def group(self) -> str:
        """The consumer group of the workers."""
        return f"{self.prefix}.metalogue" if self.prefix else "metalogue"

    def topic(self, name: str) -> str:
        """The full name of a topic."""
        dot = f"{self.prefix}." if self.prefix else ""
        return f"{dot}metalogue.{name}.v1"

    def dead(self, name: str) -> str:
        """The full name of the topic of a topic's dead letters."""
        dot = f"{self.prefix}." if self.prefix else ""
        return f"{dot}dlq.metalogue.{name}.v1"

    def dead_before(self, name: str) -> str:
        """The same as builds before 0.2 named it: outside the prefix, where a right on the prefix missed it."""
        return f"dlq.{self.topic(name)}"

    def topics(self) -> list[str]:
        """Every topic of the log."""
        return [*map(self.topic, LOG_TOPICS), *map(self.dead, DEAD)]

    def connection(self) -> dict[str, Any]:
        """Return the options with which every aiokafka client is made."""
        return {"bootstrap_servers": self.servers.split(","), **self.clients}


def clients_of(
    *,
    protocol: str = "PLAINTEXT",
    mechanism: str = "PLAIN",
    username: str | None = None,
    password: str | None = None,
    ca: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
) -> dict[str, Any]:
    """Connection settings of aiokafka's clients for SASL and TLS."""
    made: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL"):
        made |= {"sasl_mechanism": mechanism, "sasl_plain_username": username}
        made |= {"sasl_plain_password": password}
    if protocol.endswith("SSL"):
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
        made["ssl_context"] = context
    return made


# Its murmur2 is plain Python, and the scope of many an episode is the same.
@lru_cache(maxsize=4096)
def partition_of(key: bytes, partitions: int) -> int:
    """Where a key lies among this many partitions: murmur2, as Kafka's own clients place it."""
    # Foreign producers place records by themselves; ours have to come to the same partition.
    from streams.runtime.kafka.aio import module

    hashed: int = module(".partitioner").murmur2(key)
    return (hashed & 0x7FFFFFFF) % partitions


def checkpoint_bytes(value: Mapping[str, Any]) -> bytes:
    """A checkpoint as it is written."""
    return canonical(dict(value))
