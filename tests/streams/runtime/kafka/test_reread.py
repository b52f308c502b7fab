"""Second looks at records: a client that did not come up is not kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streams.runtime.kafka import aio
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.reread import Rereader


def test_a_look_that_was_given_up_while_brokers_were_away_leaves_the_next_one_a_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = list[Any]()

    class Client:
        def __init__(self) -> None:
            self.up, self.stopped, self.at = len(made) > 0, False, 0
            made.append(self)

        async def start(self) -> None:
            await asyncio.sleep(0 if self.up else 3600)

        async def stop(self) -> None:
            self.stopped = True

        def assign(self, _: Any) -> None:
            assert self.up, "it never started"

        def seek(self, _: Any, offset: int) -> None:
            self.at = offset

        async def position(self, _: Any) -> int:
            return self.at + 1

        async def getmany(self, *_: Any, **__: Any) -> dict[Any, Any]:
            return {}

    def consumer(*_: Any, **__: Any) -> Client:
        return Client()

    async def patiently(start: Any) -> None:
        await start()

    def spot(*at: Any) -> Any:
        return at

    async def looked() -> None:
        reread = Rereader(KafkaAddress.of("kafka://127.0.0.1:1"), 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reread.is_empty("t", 0, 1, 2), 0.01)
        assert await reread.is_empty("t", 0, 1, 2)

    monkeypatch.setattr(aio, "consumer", consumer)
    monkeypatch.setattr(aio, "patiently", patiently)
    monkeypatch.setattr(aio, "spot", spot)
    asyncio.run(looked())
    assert [each.stopped for each in made] == [True, False]
