"""Making and checking the topics of a log on Kafka."""

from __future__ import annotations

from typing import Any

from streams.runtime.kafka import aio
from streams.runtime.kafka.place import Place
from streams.topology import CHECKPOINTS, TOPICS

FOR_EVER = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
BY_THE_BROKER = {"cleanup.policy": "delete"}
COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": "600000",
}

MIN_ISR = "min.insync.replicas"


class NoTopics(Exception):
    """The log's topics are not all there, or do not fit each other."""


def config_of(place: Place, topic: str) -> dict[str, str]:
    """The settings of a topic, by its full name."""
    if topic == place.topic(CHECKPOINTS.name):
        return COMPACTED
    may_expire = {place.topic(each.name) for each in TOPICS if not each.kept}
    return BY_THE_BROKER if topic in may_expire else FOR_EVER


async def create(place: Place, partitions: int, replicas: int = 3) -> list[str]:
    """Make the topics that are missing, on as many brokers as there are but no more than asked."""
    admin = aio.admin(place)
    await admin.start()
    try:
        there = set(await aio.soon(admin.list_topics))
        missing = [name for name in place.topics() if name not in there]
        brokers = len((await aio.soon(admin.describe_cluster))["brokers"])
        copies = max(1, min(replicas, brokers))
        new = [
            aio.module(".admin").NewTopic(
                name, partitions, copies, topic_configs=config_of(place, name)
            )
            for name in missing
        ]
        if new:
            _raise_for(await admin.create_topics(new))
        return missing
    finally:
        await admin.close()


def _raise_for(response: Any) -> None:
    for_code = aio.module(".errors").for_code
    for topic, code, *message in response.topic_errors:
        if code not in (0, 36):  # 36: it exists already
            raise NoTopics(f"{topic}: {for_code(code).__name__} {message[0] if message else ''}")


async def partitions_of(place: Place) -> dict[str, int]:
    """How many partitions each of the log's topics has; those that are missing are left out."""
    admin = aio.admin(place)
    await admin.start()
    try:
        return await aio.soon(lambda: _counts(admin, place))
    finally:
        await admin.close()


async def _counts(admin: Any, place: Place) -> dict[str, int]:
    described = await admin.describe_topics()
    wanted = set(place.topics())
    found = {each["topic"]: len(each["partitions"]) for each in described}
    return {name: count for name, count in found.items() if name in wanted}


def faults(place: Place, found: dict[str, int]) -> list[str]:
    """What is wrong with the topics; nothing if they are sound."""
    wrong = [f"{name}: there is no such topic" for name in place.topics() if name not in found]
    counts = {found[name] for name in place.topics() if name in found}
    if len(counts) > 1:
        wrong += [
            f"{name}: {count} partitions; all topics need as many" for name, count in found.items()
        ]
    return wrong


async def checked(place: Place) -> int:
    """The number of partitions of a sound log. Raises ``NoTopics``."""
    return (await known(place))[0]


async def known(place: Place) -> tuple[int, str]:
    """The number of partitions of a sound log, and its cluster's name. Raises ``NoTopics``."""
    admin = aio.admin(place)
    await admin.start()
    try:
        found = await aio.soon(lambda: _counts(admin, place))
        wrong = faults(place, found)
        if wrong:
            raise NoTopics("; ".join(wrong[:3]))
        cluster = await aio.soon(admin.describe_cluster)
        return next(iter(found.values())), str(cluster["cluster_id"])
    finally:
        await admin.close()


async def thin(admin: Any, names: list[str]) -> list[tuple[str, int]]:
    """Partitions with fewer replicas in sync than their topic demands: their leaders take no append.

    What a topic demands is told to whoever may describe it; of others nothing is known, and none is thin.
    """
    resources = aio.module(".admin.config_resource")
    kind = resources.ConfigResourceType.TOPIC
    asked = [resources.ConfigResource(kind, name, {MIN_ISR: None}) for name in names]
    least = {
        name: int(entries[0][1])
        for response in await admin.describe_configs(asked)
        for code, _, _, name, entries in response.resources
        if code == 0 and entries
    }
    return [
        (each["topic"], partition["partition"])
        for each in await admin.describe_topics(names)
        for partition in each["partitions"]
        if len(partition["isr"]) < least.get(each["topic"], 0)
    ]


async def committed(place: Place) -> dict[int, int]:
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
