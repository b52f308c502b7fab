"""Whether the topics of a log on Kafka are made so that what is acknowledged stays: pure, from what a cluster says.

What a cluster does not tell (a right to describe a topic's settings may be missing) is unknown, and said to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streams.core.topology import CHECKPOINTS, TOPICS
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.sizes import MAX_BYTES, USUAL_BYTES

# Nothing may expire, for the log is the only place of what was paid for; and nothing may be compacted, since the
# first record of an id counts and compaction keeps the last.
FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
BY_THE_BROKER = {"cleanup.policy": "delete"}
COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": "600000",
}
MIN_ISR: Final = "min.insync.replicas"
REPLICAS: Final = 3
"""Copies of each partition where nobody says otherwise: one broker may be away, and another one lost meanwhile."""
_NEEDED = ("retention.ms", "retention.bytes", "cleanup.policy")
_LOSES = {
    "retention.ms": "records expire, and the log cannot be rebuilt without them",
    "retention.bytes": "old records are deleted, and the log cannot be rebuilt without them",
    "cleanup.policy": "its records are cleaned up another way than this log needs",
}


class CannotCopy(ValueError):
    """So many copies cannot be made. ``field`` names the option."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


@dataclass(frozen=True, slots=True)
class Copies:
    """How many copies each partition has, and how many of them must have an append before it counts."""

    replicas: int
    min_isr: int
    note: str | None = None
    """What this does not survive, where it is less than is usual."""

    @classmethod
    def of(cls, brokers: int, replicas: int | None = None, min_isr: int | None = None) -> Copies:
        """As was asked for, else three copies of which two must be there, as far as there are brokers.

        Raises ``CannotCopy`` for more copies than brokers, or more that must be there than there are copies.
        """
        if replicas is not None and replicas > brokers:
            raise CannotCopy(
                "--replicas", f"{replicas} replicas, but the cluster has {_brokers(brokers)}"
            )
        copies = min(REPLICAS, brokers) if replicas is None else replicas
        least = max(1, copies - 1) if min_isr is None else min_isr
        if least > copies:
            raise CannotCopy("--min-isr", f"{least} in sync of {copies} replicas can never be")
        few = f"the cluster has {_brokers(brokers)}" if brokers < REPLICAS else "as asked"
        note: str | None = None
        # The first that holds is the worst: whoever reads one line should read that.
        if copies == 1:
            note = f"1 replica ({few}): what its broker loses is lost, and while it is away nothing goes on"
        elif least == copies:
            note = f"all {copies} replicas must be in sync ({few}): while a broker is away nothing is appended"
        elif least == 1:
            note = f"1 of {copies} replicas must be in sync ({few}): what a broker acknowledged alone is lost with it"
        return cls(copies, least, note)

    @property
    def config(self) -> dict[str, str]:
        """Return what a topic's settings say of it."""
        return {MIN_ISR: str(self.min_isr)}


def _brokers(count: int) -> str:
    return "1 broker" if count == 1 else f"{count} brokers"


@dataclass(frozen=True, slots=True)
class Described:
    """A topic as its cluster describes it."""

    replicas: tuple[int, ...]
    """Copies of each partition."""
    in_sync: tuple[int, ...]
    """Copies of each partition that are up to date."""
    config: Mapping[str, str] | None = None
    """Its settings; none where they may not be asked for."""

    @property
    def min_isr(self) -> int | None:
        """Copies that must have an append before it is acknowledged; unknown where it is not told."""
        said = None if self.config is None else self.config.get(MIN_ISR)
        return None if said is None else int(said)

    @property
    def behind(self) -> int:
        """Partitions that have replicas which are not in sync."""
        return sum(map(int.__lt__, self.in_sync, self.replicas))

    def as_json(self, name: str) -> dict[str, Any]:
        """Its figures as plain values, null where they are unknown."""
        config = self.config or {}
        return {
            "topic": name,
            "partitions": len(self.replicas),
            "replicas": min(self.replicas, default=None),
            "in_sync": min(self.in_sync, default=None),
            "under_replicated": self.behind,
            "min_isr": self.min_isr,
            **{name: config.get(name) for name in (*_NEEDED, MAX_BYTES)},
        }


def config_of(place: KafkaAddress, topic: str) -> dict[str, str]:
    """The settings of a topic, by its full name."""
    if topic == place.topic(CHECKPOINTS.name):
        return COMPACTED
    may_expire = {place.topic(each.name) for each in TOPICS if not each.kept}
    return BY_THE_BROKER if topic in may_expire else FOR_EVER


def miscounted(place: KafkaAddress, found: Mapping[str, int]) -> list[str]:
    """Which topics are missing, or have other numbers of partitions; nothing if a worker can begin."""
    wrong = [f"{name}: there is no such topic" for name in place.topics() if name not in found]
    counts = {found[name] for name in place.topics() if name in found}
    if len(counts) > 1:
        wrong += [
            f"{name}: {count} partitions; all topics need as many" for name, count in found.items()
        ]
    return wrong


def faults(place: KafkaAddress, found: Mapping[str, Described], brokers: int) -> list[str]:
    """Return what is wrong with the topics, a line each; nothing if they are sound."""
    wrong = miscounted(place, {name: len(topic.replicas) for name, topic in found.items()})
    for name, topic in found.items():
        wrong += (f"{name}: {fault}" for fault in _faults_of(place, name, topic, brokers))
    return wrong


def _faults_of(place: KafkaAddress, name: str, topic: Described, brokers: int) -> list[str]:
    copies, behind = min(topic.replicas, default=0), topic.behind
    wrong: list[str] = []
    if copies < min(REPLICAS, brokers):
        wrong.append(f"{copies} of {min(REPLICAS, brokers)} replicas that this cluster allows")
    if behind:
        wrong.append(
            f"{behind} of {len(topic.replicas)} partitions have replicas that are not in sync"
        )
    least = topic.min_isr
    # Each of these faults is silent until a broker fails, and then costs records or stops all work.
    if least is not None:
        closed = sum(count < least for count in topic.in_sync)
        if closed:
            wrong.append(
                f"{closed} partitions are below {MIN_ISR} {least}: nothing is appended to them"
            )
        if least == 1 and copies > 1:
            wrong.append(
                f"{MIN_ISR} is 1 of {copies} replicas: an acknowledged append may be on one broker alone"
            )
        if least == copies > 1:
            wrong.append(f"{MIN_ISR} is {least} of {copies} replicas: no broker may be away")
    config, meant = topic.config or {}, config_of(place, name)
    wrong += [
        f"{key} is {config[key]}, not {meant[key]}: {_LOSES[key]}"
        for key in _NEEDED
        if key in meant and key in config and config[key] != meant[key]
    ]
    most = config.get(MAX_BYTES)
    if most is not None and int(most) < USUAL_BYTES:
        wrong.append(
            f"{MAX_BYTES} is {most}, less than the usual {USUAL_BYTES}: long replies are refused or cut"
        )
    return wrong


def untold(found: Mapping[str, Described]) -> list[str]:
    """Topics whose settings may not be asked for: of their retention nothing is known."""
    return [name for name, topic in found.items() if topic.config is None]
