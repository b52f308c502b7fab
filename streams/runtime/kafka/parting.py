"""A client that is cut short, or closed while it connects, leaves no connection open.

aiokafka forgets the connection over which it first asks a cluster for its brokers where that question is cancelled,
and one that is made while its client is being closed. Both stay open until they are collected. ``install`` puts
itself around what connects, and closes them.
"""

# pyright: reportMissingTypeStubs=false, reportPrivateUsage=false

from __future__ import annotations

import asyncio
from functools import cache
from importlib import import_module
from typing import Any

_BEGINNING: dict[Any, list[Any]] = {}
"""The connections that a client has made so far, by the task in which it begins."""


@cache
def install() -> None:
    """Close them for every client of this process."""
    connection: Any = import_module("aiokafka.conn").AIOKafkaConnection
    client: Any = import_module("aiokafka.client").AIOKafkaClient
    connect, begin, reach, close = (
        connection.connect,
        client.bootstrap,
        client._get_conn,
        client.close,
    )

    async def connected(self: Any) -> Any:
        found = await connect(self)
        _BEGINNING.get(asyncio.current_task(), []).append(self)
        return found

    async def begun(self: Any) -> None:
        self._parted = False
        task = asyncio.current_task()
        made = _BEGINNING[task] = []
        try:
            await begin(self)
        except BaseException:
            for each in made:
                each.close()
            raise
        finally:
            del _BEGINNING[task]

    async def reached(self: Any, *where: Any, **how: Any) -> Any:
        found = await reach(self, *where, **how)
        if found is not None and getattr(self, "_parted", False):
            found.close()
            return None
        return found

    async def parted(self: Any) -> None:
        self._parted = True
        await close(self)

    connection.connect, client.bootstrap = connected, begun
    client._get_conn, client.close = reached, parted
