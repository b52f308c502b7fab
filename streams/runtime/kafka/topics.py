"""Making and checking the topics of a log on Kafka."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streams.runtime.kafka import aio
from streams.runtime.kafka.place import DEAD, KafkaAddress
from streams.runtime.kafka.soundness import MIN_ISR, Copies, Described, config_of, miscounted


class NoTopics(Exception):
    """The log's topics are not all there, or do not fit each other."""


@dataclass(frozen=True, slots=True)
class Made:
    """The topics that were made, by full name, and with how many copies."""

    topics: list[str]
    copies: Copies
    partitions: int
    """How many partitions the topics of the log have: as many as those that were there."""


async def create(
    place: KafkaAddress, partitions: int, replicas: int | None = None, min_isr: int | None = None
) -> Made:
    """Make the topics that are missing, and wait until the cluster tells of them.

    A broker learns of a new topic a moment after the controller made it: whoever began at once was told that
    there is none. Raises ``CannotCopy`` for copies that the cluster does not allow.
    """
    admin = aio.admin(place)
    await admin.start()
    try:
        there = set(await aio.soon(admin.list_topics))
        missing = [name for name in place.topics() if name not in there]
        brokers = len((await aio.soon(admin.describe_cluster))["brokers"])
        copies = Copies.of(brokers, replicas, min_isr)
        new = [
            aio.module(".admin").NewTopic(
                name,
                partitions,
                copies.replicas,
                topic_configs=config_of(place, name) | copies.config,
            )
            for name in missing
        ]
        if new:
            for topic, code, *message in (await admin.create_topics(new)).topic_errors:
                if code not in (
                    0,
                    36,
                ):  # 36: it exists already, for somebody else made it meanwhile
                    error = aio.module(".errors").for_code(code).__name__
                    raise NoTopics(f"{topic}: {error} {message[0] if message else ''}")
            await aio.soon(lambda: _all_there(admin, place))
        counts = await _counts(admin, place)
        return Made(missing, copies, counts.get(place.topic("problems"), partitions))
    finally:
        await admin.close()


async def _all_there(admin: Any, place: KafkaAddress) -> None:
    """Raises what ``aio.soon`` takes for something that passes while a topic is still unknown."""
    if miscounted(place, await _counts(admin, place)):
        raise aio.module(".errors").UnknownTopicOrPartitionError


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster's description of the topics of a log."""

    brokers: int
    topics: dict[str, Described]
    """By full name; those that are missing are left out."""
    others: list[str]
    """Topics of dead letters that earlier builds made beside the prefix."""


async def described(place: KafkaAddress) -> Cluster:
    """Each topic of the log with its copies and settings."""
    admin = aio.admin(place)
    await admin.start()
    try:
        brokers = len((await aio.soon(admin.describe_cluster))["brokers"])
        every = await aio.soon(admin.describe_topics)
        wanted = [each for each in every if each["topic"] in set(place.topics())]
        told = await aio.configs(admin, [each["topic"] for each in wanted])
        found = {
            name: Described(
                tuple(len(each["replicas"]) for each in topic["partitions"]),
                tuple(len(each["isr"]) for each in topic["partitions"]),
                told.get(name),
            )
            for topic in wanted
            for name in [topic["topic"]]
        }
        before = {place.dead_before(name) for name in DEAD} - set(place.topics())
        others = sorted(before & {each["topic"] for each in every})
        return Cluster(brokers, {n: found[n] for n in place.topics() if n in found}, others)
    finally:
        await admin.close()


async def _counts(admin: Any, place: KafkaAddress) -> dict[str, int]:
    described = await admin.describe_topics()
    wanted = set(place.topics())
    found = {each["topic"]: len(each["partitions"]) for each in described}
    return {name: count for name, count in found.items() if name in wanted}


async def checked(place: KafkaAddress) -> int:
    """The number of partitions of a sound log. Raises ``NoTopics``."""
    return (await known(place))[0]


async def known(place: KafkaAddress) -> tuple[int, str]:
    """The number of partitions of a sound log, and its cluster's name. Raises ``NoTopics``."""
    # Whatever is wrong with the topics is told before anything is read: half a log would look like a whole one.
    admin = aio.admin(place)
    await admin.start()
    try:
        found = await aio.soon(lambda: _counts(admin, place))
        wrong = miscounted(place, found)
        if wrong:
            raise NoTopics("; ".join(wrong[:3]))
        cluster = await aio.soon(admin.describe_cluster)
        return next(iter(found.values())), str(cluster["cluster_id"])
    finally:
        await admin.close()


@dataclass(frozen=True, slots=True)
class Replication:
    """How many brokers there are, and which partitions lack copies, by their topics' full names."""

    brokers: int
    behind: dict[str, list[int]]
    """Partitions with fewer replicas in sync than they have."""
    thin: dict[str, list[int]]
    """Partitions with fewer than their topic demands: their leaders take no append.

    What a topic demands is told to whoever may describe it; the others are left out: of them nothing is known.
    """


async def replication(admin: Any, names: list[str]) -> Replication:
    """Return what the cluster says now of these topics' copies."""
    brokers = len((await admin.describe_cluster())["brokers"])
    told = await aio.configs(admin, names, MIN_ISR)
    least = {name: int(config[MIN_ISR]) for name, config in told.items() if MIN_ISR in config}
    behind, thin = dict[str, list[int]](), dict[str, list[int]]()
    for each in await admin.describe_topics(names):
        name = str(each["topic"])
        copies = {p["partition"]: (len(p["isr"]), len(p["replicas"])) for p in each["partitions"]}
        behind[name] = [p for p, (in_sync, replicas) in copies.items() if in_sync < replicas]
        if name in least:
            thin[name] = [p for p, (in_sync, _) in copies.items() if in_sync < least[name]]
    return Replication(brokers, behind, thin)


async def committed(place: KafkaAddress) -> dict[int, int]:
    """The next offset of ``problems`` that the workers' group will read, by partition."""
    admin = aio.admin(place)
    await admin.start()
    try:
        found = await admin.list_consumer_group_offsets(place.group)
    finally:
        await admin.close()
    problems = place.topic("problems")
    return {
        tp.partition: max(0, int(at.offset)) for tp, at in found.items() if tp.topic == problems
    }
