"""Clients of a broker that may be away."""

from __future__ import annotations

import asyncio

import pytest

from streams.runtime.kafka import aio


def test_an_attempt_to_connect_is_not_cut_short() -> None:
    """A worker that stops as it takes over cancels what it asks the broker."""

    async def run() -> list[str]:
        begun, answered, said = asyncio.Event(), asyncio.Event(), list[str]()

        async def connect() -> None:
            begun.set()
            await answered.wait()
            said.append("connected")

        task = asyncio.create_task(aio.patiently(connect))
        await begun.wait()
        task.cancel()
        asyncio.get_running_loop().call_soon(answered.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        return said

    assert asyncio.run(run()) == ["connected"]


def test_who_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aio, "RETRY_S", 0)
    times: list[int] = []

    async def connect() -> str:
        times.append(len(times))
        if len(times) < 3:
            raise aio.kafka_error()
        return "here"

    assert asyncio.run(aio.patiently(connect)) == "here"
    assert len(times) == 3


def test_of_a_cluster_another_broker_is_asked_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aio, "RETRY_S", 0)
    gone = aio.module(".errors").NodeNotReadyError
    times: list[int] = []

    async def ask() -> str:
        times.append(len(times))
        if len(times) < 3:
            raise gone
        return "two are there"

    assert asyncio.run(aio.soon(ask)) == "two are there"
    times.clear()
    monkeypatch.setattr(aio, "REPLACED_S", -1)
    with pytest.raises(gone):
        asyncio.run(aio.soon(ask))
