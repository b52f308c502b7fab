"""The Faust app: it joins the group, hands problems to the intake, and says which partitions are ours.

Faust is not trusted with durability: an offset means "admitted", nothing more. Its driver is used with a
commit that never passes a message in flight.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Protocol

from streams.runtime.kafka import deadlines, lenient, parting
from streams.runtime.kafka.lease import Lease
from streams.runtime.kafka.place import KafkaAddress

POLL_RECORDS = 500
NEVER_S = 2_000_000.0
REBALANCED_S = 5.0
"""How much longer than for the other members who joins waits for an answer; for nothing else as long."""
DRIVER = "streams.runtime.kafka.driver:Transport"


class Member(Protocol):
    """A member of the group is told of assignments and problems."""

    def offered(self, event: Any) -> None:
        """A record of `problems` came in."""
        ...

    async def assigned(self, partitions: set[int]) -> None:
        """These partitions are ours now, and no others."""
        ...


def make(place: KafkaAddress, member: Member, lease: Lease) -> Any:
    """The app, ready to be started."""
    transports: Any = import_module("faust.transport.drivers").TRANSPORTS

    from streams.runtime.kafka import driver

    transports.aliases["metalogue"] = DRIVER
    deadlines.install()
    parting.install()
    lenient.install()
    driver.LEASE = lease
    app: Any = driver.App(place.group, **settings_of(place, lease.session_s))
    problems = app.topic(
        place.topic("problems"),
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
    )

    async def intake(stream: Any) -> None:
        async for event in stream.noack().events():
            member.offered(event)

    app.agent(problems, name="intake")(intake)

    async def assigned(_: Any, assigned: Any, **__: Any) -> None:
        ours = {tp.partition for tp in assigned if tp.topic == place.topic("problems")}
        await member.assigned(ours)
        # Whoever was dealt partitions is in the group, though its first heartbeat is still to come. Not before
        # they are ours: who waits to claim a partition again would do so for one that has just moved.
        if lease.dealt is not None:
            lease.renew(lease.dealt)

    app.on_partitions_assigned.connect(assigned, weak=False)
    return app


def settings_of(place: KafkaAddress, session_s: float) -> dict[str, Any]:
    """Faust's settings, each for a measured reason."""
    rebalance_s = max(10.0, session_s)
    # Topics are made by `topics create` alone: Faust would make them with settings of its own.
    return {
        "broker": ";".join(f"metalogue://{server}" for server in place.servers.split(",")),
        "value_serializer": "raw",
        "key_serializer": "raw",
        "store": "memory://",
        "web_enabled": False,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "table_standby_replicas": 0,
        "TableManager": "streams.runtime.kafka.driver:NoTables",
        "stream_wait_empty": False,
        "stream_buffer_maxsize": 4096,
        "consumer_auto_offset_reset": "earliest",
        "broker_max_poll_records": POLL_RECORDS,
        "broker_max_poll_interval": NEVER_S,
        "broker_commit_interval": 0.5,
        "broker_session_timeout": session_s,
        "broker_heartbeat_interval": max(0.2, min(3.0, session_s / 4)),
        "broker_request_timeout": rebalance_s + REBALANCED_S,
        "broker_rebalance_timeout": rebalance_s,
        "producer_linger": 0.01,
        **credentials(place),
    }


def credentials(place: KafkaAddress) -> dict[str, Any]:
    """SASL and TLS in Faust's words."""
    clients = place.clients
    protocol = str(clients.get("security_protocol", "PLAINTEXT"))
    if protocol == "PLAINTEXT":
        return {}
    faust: Any = import_module("faust")
    context = clients.get("ssl_context")
    if protocol == "SSL":
        return {"broker_credentials": context}
    return {
        "broker_credentials": faust.SASLCredentials(
            username=clients.get("sasl_plain_username"),
            password=clients.get("sasl_plain_password"),
            mechanism=clients.get("sasl_mechanism"),
            ssl_context=context,
        )
    }


def quiet() -> None:
    """Faust and aiokafka say much; what matters is said by the worker."""
    for name in ("faust", "mode", "aiokafka", "kafka"):
        logging.getLogger(name).setLevel(logging.ERROR)


async def commit(app: Any) -> None:
    """Commit what was acknowledged."""
    consumer = app.consumer
    work: Callable[[], Awaitable[Any]] = consumer.commit
    await asyncio.wait_for(work(), 5)
