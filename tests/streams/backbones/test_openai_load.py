from __future__ import annotations

import asyncio

import pytest

from streams.answering.backbones.openai import OpenAIBackbone
from streams.core.backbone import ModelReply
from tests.endpoint import Answer, Asked, echo, fails, serving, whole
from tests.streams.backbones.asking import asking, with_backbone


async def many(backbone: OpenAIBackbone, count: int) -> list[ModelReply]:
    calls = (backbone.complete(asking(f"problem {n}", seed=n)) for n in range(count))
    return await asyncio.gather(*calls)


def slow(asked: Asked) -> Answer:
    return whole(asked.body["messages"][-1]["content"], latency_s=0.05)


def test_hundreds_at_once_get_their_own_replies_within_the_connection_limit() -> None:
    with serving(slow) as endpoint:
        replies = with_backbone(endpoint, lambda b: many(b, 500), max_connections=200)
        assert [reply.text for reply in replies] == [f"problem {n}" for n in range(500)]
        assert 1 < endpoint.most_inside <= 200
        assert endpoint.repeats() == 0


def test_a_busy_endpoint_narrows_the_way_and_every_attempt_is_counted() -> None:
    def script(asked: Asked) -> Answer:
        return fails(429, headers={"Retry-After": "0.01"}) if asked.times == 1 else slow(asked)

    async def use(backbone: OpenAIBackbone) -> tuple[list[ModelReply], int]:
        return await many(backbone, 40), backbone.limit

    with serving(script) as endpoint:
        replies, limit = with_backbone(endpoint, use, max_connections=16)
        assert {reply.attempts for reply in replies} == {2}
        assert sum(reply.attempts for reply in replies) == len(endpoint.asked)
    assert limit < 16


def test_a_pause_asked_of_one_call_is_kept_by_all() -> None:
    async def use(backbone: OpenAIBackbone) -> float:
        loop = asyncio.get_running_loop()
        busy = asyncio.Event()

        def script(asked: Asked) -> Answer:
            loop.call_soon_threadsafe(busy.set)
            return fails(429, headers={"Retry-After": "0.5"}) if asked.number == 0 else echo(asked)

        endpoint.script = script
        first = asyncio.create_task(backbone.complete(asking(seed=0)))
        await busy.wait()
        began = loop.time()
        await asyncio.gather(*(backbone.complete(asking(seed=n)) for n in range(1, 4)))
        took = loop.time() - began
        await first
        return took

    with serving() as endpoint:
        assert with_backbone(endpoint, use, max_connections=1, longest_pause_s=5) >= 0.4


def test_a_call_that_tries_again_goes_before_newcomers() -> None:
    def script(asked: Asked) -> Answer:
        return fails(500) if asked.number == 0 else slow(asked)

    with serving(script) as endpoint:
        with_backbone(endpoint, lambda b: many(b, 4), max_connections=1, backoff_s=0)
        assert [asked.body["seed"] for asked in endpoint.asked] == [0, 1, 0, 2, 3]


def test_a_cancelled_call_gives_its_place_back() -> None:
    async def use(backbone: OpenAIBackbone) -> str:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()

        def script(asked: Asked) -> Answer:
            loop.call_soon_threadsafe(arrived.set)
            return whole("late", latency_s=30) if asked.body["seed"] == 0 else echo(asked)

        endpoint.script = script
        stuck = asyncio.create_task(backbone.complete(asking(seed=0)))
        await arrived.wait()
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck
        return (await backbone.complete(asking(seed=1))).text

    with serving() as endpoint:
        assert with_backbone(endpoint, use, max_connections=1) == "2+2"


def test_closing_twice_is_closing_once_and_a_closed_backbone_says_so() -> None:
    async def use(backbone: OpenAIBackbone) -> None:
        await backbone.complete(asking())
        await backbone.close()
        await backbone.close()
        with pytest.raises(RuntimeError, match="closed"):
            await backbone.complete(asking())

    with serving() as endpoint:
        with_backbone(endpoint, use)


def test_a_connection_that_the_server_closed_meanwhile_costs_an_attempt_and_no_reply() -> None:
    def script(asked: Asked) -> Answer:
        return whole("ok", drop="before") if asked.times == 1 and asked.number else whole("ok")

    async def use(backbone: OpenAIBackbone) -> list[int]:
        return [(await backbone.complete(asking(seed=n))).attempts for n in range(3)]

    with serving(script) as endpoint:
        assert with_backbone(endpoint, use) == [1, 2, 2]
        assert len(endpoint.asked) == 5
