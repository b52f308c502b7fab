"""A service's rules, whatever the protocol: what a guest may spend, and who is put off."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest
from metalogue import Client

from streams.interfaces.door.access import Access, Guest, Holder
from streams.interfaces.door.errors import Error
from streams.interfaces.door.service import Offer, Service
from streams.runtime.embedded.log import SqliteLog
from tests.streams.door.served import LOG

HOLDERS = {name: Holder(sha256="a" * 64) for name in ("ann", "bob")}
OFFER = Offer(policies=["cot"])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("limit", ["call_limit", "token_limit"])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    ("allowed", "asked", "holds"),
    [
        *((2, None, 2), (2, 500, 2), (24, None, 2), (24, 500, 2), (24, 1, 1), (1, 500, 1)),
        *((None, None, 2), (None, 500, 2), (None, 1, 1)),
    ],
)
def test_the_least_of_the_operators_limit_the_holders_and_the_requests_holds(
    limit: str, named: bool, allowed: int | None, asked: int | None, holds: int
) -> None:
    guest = Guest("ann", **{limit: allowed}, is_named=named)  # type: ignore[arg-type]

    async def put() -> None:
        async with Client(LOG, policy="cot", **{limit: 2}) as client:  # type: ignore[arg-type]
            service = Service(client, OFFER, Access(HOLDERS if named else {}))
            await service.submit(guest, "1 + 1?", "q", "cot", new=False, **{limit: asked})

    asyncio.run(put())
    with closing(SqliteLog(Path("a.db"))) as log:
        ((*_, value),) = log.messages("problems")
    assert json.loads(value)["limits"] == {limit.partition("_")[0] + "s": holds}


@pytest.mark.usefixtures("folder")
def test_who_only_asks_how_far_episodes_are_takes_no_place_of_who_puts_one() -> None:
    ann, bob = (Guest(name, is_named=True) for name in HOLDERS)

    async def work() -> None:
        async with Client(LOG, policy="cot") as other:
            handles = [await other.submit("1 + 1?", id=f"q{n}", tenant="ann") for n in range(5)]
        async with Client(LOG, policy="cot", max_pending=4) as client:
            service = Service(client, OFFER, Access(HOLDERS))
            for each in handles:
                assert not (await service.own(each.episode, ann)).done()
            assert client.pending == 0
            put = await service.submit(bob, "1 + 1?", "q", "cot", new=False)
            assert (put.done(), client.pending) == (False, 1)
            # Put again it is the same one, and is counted once.
            await service.submit(bob, "1 + 1?", "q", "cot", new=False)
            assert client.pending == 1
            client.give_up(Error("over", code="stopping"))
            assert client.pending == 0

    asyncio.run(work())
