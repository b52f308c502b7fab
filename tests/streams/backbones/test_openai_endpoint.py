"""Calls to one endpoint: hedging, silence, outages, what people are told, and being sent away."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.endpoint import EndpointPool
from streams.core.backbone import ModelReply, NotSent, SetupBroken, Unreachable
from tests.endpoint import Answer, Asked, echo, fails, serving, streamed, whole
from tests.streams.backbones.asking import QUICK, always, asking, one, with_backbone


async def many(backbone: OpenAIBackbone, count: int) -> list[ModelReply]:
    return await asyncio.gather(*(backbone.complete(asking(seed=n)) for n in range(count)))


async def until(ready: Callable[[], object]) -> None:
    while not ready():  # noqa: ASYNC110 - a server in another thread makes it so
        await asyncio.sleep(0.005)


# -- hedging


def slow_at_first(asked: Asked) -> Answer:
    return whole("late" if asked.times == 1 else "ok", latency_s=1.0 if asked.times == 1 else 0.0)


def test_a_slow_call_is_waited_for_unless_hedging_is_asked_for() -> None:
    plain, hedged = one(slow_at_first), one(slow_at_first, hedge_s=0.05)
    assert (plain.text, plain.attempts, plain.free) == ("late", 1, True)
    assert (hedged.text, hedged.attempts, hedged.free) == ("ok", 2, False)


def test_the_second_of_two_is_no_fault_and_the_better_one_counts() -> None:
    def script(asked: Asked) -> Answer:
        return whole("late", latency_s=0.3) if asked.times == 1 else fails(500)

    assert one(script, hedge_s=0.05).text == "late"


def test_hedging_takes_no_place_that_another_call_waits_for() -> None:
    async def use(backbone: OpenAIBackbone) -> list[ModelReply]:
        return await many(backbone, 4)

    with serving(lambda _: whole("x", latency_s=0.1)) as endpoint:
        replies = with_backbone(endpoint, use, hedge_s=0.02, max_connections=1)
        assert (endpoint.most_inside, len(endpoint.asked)) == (1, 4)
    assert {reply.attempts for reply in replies} == {1}


def test_a_worker_that_is_stopped_waits_for_what_it_paid_for_and_sends_no_second() -> None:
    async def use(backbone: OpenAIBackbone) -> ModelReply:
        call = asyncio.create_task(backbone.complete(asking()))
        await until(lambda: endpoint.asked)
        backbone.drain()
        return await call

    with serving(lambda _: whole("late", latency_s=3.0)) as endpoint:
        reply = with_backbone(endpoint, use, hedge_s=2.0)
        assert (reply.text, reply.attempts, len(endpoint.asked)) == ("late", 1, 1)


# -- an endpoint that refuses whatever it is asked


def test_what_is_said_of_each_prompt_is_no_fault_of_the_prompts() -> None:
    """A server whose template wants other roles says so of every one; none of them is closed without an answer."""

    async def use(backbone: OpenAIBackbone) -> list[str]:
        found: list[str] = []
        for text in ("a", "a", "b", "c"):
            try:
                found.append((await backbone.complete(asking(text))).finish)
            except SetupBroken as broken:
                found.append(f"{broken.code}: {broken.detail}")
        return found

    with serving(lambda _: fails(400, message="Conversation roles must alternate")) as endpoint:
        *recorded, last = with_backbone(endpoint, use)
    assert recorded == ["error"] * 3
    assert last.startswith("refused: ")
    assert "must alternate" in last


def test_once_it_has_replied_a_refused_prompt_is_at_fault_itself() -> None:
    async def use(backbone: OpenAIBackbone) -> list[str]:
        return [(await backbone.complete(asking(text))).finish for text in ("ok", *"abcde")]

    def script(asked: Asked) -> Answer:
        is_first = asked.body["messages"][-1]["content"] == "ok"
        return whole("4") if is_first else fails(400, message="Bad prompt")

    with serving(script) as endpoint:
        assert with_backbone(endpoint, use) == ["stop", *["error"] * 5]


# -- silence within a reply


def test_a_stream_that_falls_silent_is_a_timeout_and_a_steady_one_is_not() -> None:
    pieces = streamed(["word "] * 20)
    steady = one(always(pieces.paced(0.3)), stream=True, idle_s=0.8)
    assert (steady.finish, steady.attempts) == ("stop", 1)
    silent = one(always(pieces.paced(0.3, stalls_s=30)), stream=True, idle_s=0.3)
    assert (silent.finish, silent.attempts, silent.free) == ("timeout", 2, False)


def test_a_reply_that_came_while_the_process_was_held_up_is_read() -> None:
    """It was starved or stopped beyond the end of the call's time: what it paid for lies in its socket."""

    async def use(backbone: OpenAIBackbone) -> ModelReply:
        call = asyncio.create_task(backbone.complete(asking()))
        await until(lambda: endpoint.asked)
        began = time.monotonic()
        while time.monotonic() - began < 0.8 or not endpoint.sent:
            time.sleep(0.05)  # noqa: ASYNC251 - it is what happens to it
        return await call

    for stream, answer in (
        (False, whole("x", latency_s=0.1)),
        (True, streamed(["x "] * 9).paced(0.2)),
    ):
        with serving(always(answer)) as endpoint:
            reply = with_backbone(endpoint, use, stream=stream, idle_s=0.4, timeout_s=0.5)
            assert (reply.finish, len(endpoint.asked)) == ("stop", 1)


# -- an outage


def test_after_failures_in_a_row_the_endpoint_is_left_alone() -> None:
    async def use(backbone: OpenAIBackbone) -> list[ModelReply | BaseException]:
        calls = (backbone.complete(asking(seed=n)) for n in range(60))
        return await asyncio.gather(*calls, return_exceptions=True)

    with serving(always(fails(500))) as endpoint:
        outcomes = with_backbone(endpoint, use, max_connections=8)
        assert len(endpoint.asked) <= 16
    assert {type(each) for each in outcomes} == {Unreachable}
    tried = [each.tried for each in outcomes if isinstance(each, Unreachable)]
    assert sum(each.attempts for each in tried) == len(endpoint.asked)
    assert {each.silence for each in tried if each.attempts} == {"error"}


def test_once_it_is_back_it_is_found_by_one_call_and_all_go_on() -> None:
    async def use(backbone: OpenAIBackbone) -> list[str]:
        with pytest.raises(Unreachable) as caught:
            await backbone.complete(asking())
        again = caught.value.tried.again
        assert again is not None
        assert not again()
        assert "5 failures in a row" in (backbone.why() or "")
        endpoint.script = echo
        await until(again)
        first = await backbone.complete(asking())
        return [first.text, *(reply.text for reply in await many(backbone, 5))]

    with serving(always(fails(502, message="down"))) as endpoint:
        assert with_backbone(endpoint, use) == ["2+2"] * 6


# -- being told and sent away


def test_it_says_why_calls_wait_and_nothing_when_none_does() -> None:
    async def use(backbone: OpenAIBackbone) -> list[str | None]:
        calls = asyncio.create_task(many(backbone, 20))
        said = [backbone.why()]
        await until(lambda: endpoint.inside >= 2)
        said.append(backbone.why())
        released.set()
        await calls
        return [*said, backbone.why()]

    released = threading.Event()
    with serving(lambda _: whole("x", after=released)) as endpoint:
        before, during, after = with_backbone(endpoint, use, max_connections=2)
    assert (before, after) == (None, None)
    assert during == f"{endpoint.url} check: 2 calls under way, 18 wait; it bears 2"


def test_a_refusal_s_pause_is_told_without_the_key() -> None:
    async def use(backbone: OpenAIBackbone) -> str | None:
        call = asyncio.create_task(backbone.complete(asking()))
        await until(backbone.why)
        said = backbone.why()
        backbone.drain()
        with pytest.raises(NotSent):
            await call
        return said

    busy = fails(429, None, "slow down, check", headers={"Retry-After": "30"})
    with serving(always(busy)) as endpoint:
        said = with_backbone(endpoint, use, longest_pause_s=60)
    assert said is not None
    assert "paused for 30 s: HTTP 429 slow down, [key]" in said


def test_once_drained_only_calls_under_way_end() -> None:
    async def use(backbone: OpenAIBackbone) -> list[object]:
        calls = [asyncio.create_task(backbone.complete(asking(seed=n))) for n in range(5)]
        await until(lambda: endpoint.inside >= 1)
        backbone.drain()
        released.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    released = threading.Event()
    with serving(lambda _: whole("x", after=released)) as endpoint:
        outcomes = with_backbone(endpoint, use, max_connections=1)
        assert len(endpoint.asked) == 1
    assert [type(each) for each in outcomes] == [ModelReply, *[NotSent] * 4]


def test_backbones_of_one_endpoint_share_its_connections_and_of_one_model_its_state() -> None:
    async def use(url: str) -> tuple[int, bool]:
        pool = EndpointPool()
        options = Options(max_connections=3, **QUICK)
        made = [
            OpenAIBackbone(model, base_url=url, environ={}, options=options, pool=pool)
            for model in ("a", "a", "b")
        ]
        await asyncio.gather(*(many(backbone, 10) for backbone in made))
        for backbone in made:
            await backbone.close()
        return endpoint.most_inside, pool.state_of(url, "a", 3) is pool.state_of(url, "a", 3)

    with serving(lambda _: whole("x", latency_s=0.02)) as endpoint:
        assert asyncio.run(use(endpoint.url)) == (3, True)
