"""No connection is left open by a client that was cut short, or that was closed while it connected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from streams.runtime.kafka import aio
from streams.runtime.kafka.place import KafkaAddress
from tests.pace import soon

METADATA, VERSIONS = 3, 18


class Broker:
    """A broker of one connection after another, that says which requests it knows, and who it is if it is let."""

    def __init__(self) -> None:
        self.connected = self.left = 0
        self.asked, self.alone = asyncio.Event(), asyncio.Event()
        self.silent_from = METADATA
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client's connection, up to its end."""
        self.connected += 1
        self.alone.clear()
        try:
            while size := await reader.readexactly(4):
                request = await reader.readexactly(int.from_bytes(size, "big"))
                kind, number = int.from_bytes(request[:2], "big"), request[4:8]
                said = b""
                if kind == VERSIONS:
                    said = bytes(2) + (2).to_bytes(4, "big")
                    said += b"".join(each.to_bytes(2, "big") for each in (METADATA, 0, 1))
                    said += b"".join(each.to_bytes(2, "big") for each in (VERSIONS, 0, 0))
                if kind == METADATA:
                    self.asked.set()
                    host = b"127.0.0.1"
                    said = (1).to_bytes(4, "big") + bytes(4) + len(host).to_bytes(2, "big") + host
                    said += self.port.to_bytes(4, "big") + b"\xff\xff"  # of no rack
                    said += bytes(4) + bytes(4)  # the controller, and no topics
                if kind < self.silent_from or kind == VERSIONS:
                    writer.write((4 + len(said)).to_bytes(4, "big") + number + said)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left += 1
            if self.left == self.connected:
                self.alone.set()
        finally:
            writer.close()


@asynccontextmanager
async def broker() -> AsyncGenerator[Broker]:
    """A broker that listens."""
    given = Broker()
    server = await asyncio.start_server(given.serve, "127.0.0.1", 0)
    given.port = server.sockets[0].getsockname()[1]
    try:
        yield given
    finally:
        server.close()


def client(given: Broker) -> Any:
    """An administrator's client of it."""
    return aio.admin(KafkaAddress.of(f"kafka://127.0.0.1:{given.port}"))


async def until_left(given: Broker) -> None:
    """Wait until the broker has seen everybody go."""
    await asyncio.wait_for(given.alone.wait(), soon(5))


def test_a_client_that_is_cancelled_as_it_asks_for_the_brokers_closes_its_connection() -> None:
    async def run() -> None:
        async with broker() as given:
            admin = client(given)
            begun = asyncio.create_task(admin.start())
            await given.asked.wait()
            begun.cancel()
            with pytest.raises(asyncio.CancelledError):
                await begun
            await until_left(given)
            await admin.close()

    asyncio.run(run())


def test_a_connection_that_is_made_while_its_client_is_closed_does_not_stay() -> None:
    async def run() -> None:
        async with broker() as given:
            given.silent_from = METADATA + 1
            admin = client(given)
            await admin.start()
            connecting = asyncio.create_task(admin._client.ready(0))
            await asyncio.sleep(0)  # it has begun
            await admin.close()
            assert not await connecting
            assert given.connected == 2
            await until_left(given)

    asyncio.run(run())


def test_a_client_that_is_let_begins_as_ever() -> None:
    async def run() -> None:
        async with broker() as given:
            given.silent_from = METADATA + 1
            admin = client(given)
            await admin.start()
            assert await admin._client.ready(0)
            assert given.connected == 2
            assert not given.alone.is_set()
            await admin.close()
            await until_left(given)

    asyncio.run(run())
