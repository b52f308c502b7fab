"""What one worker's calls cost it, and when a question is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from schemas.price import Price
from schemas.questions import DEFAULT_SAMPLING
from streams.answering.calls import Caller, Draining, Totals
from streams.answering.retries import Patience
from streams.core.backbone import (
    ModelReply,
    ModelRequest,
    NotSent,
    SetupBroken,
    Silence,
    Stuck,
    Tried,
    Unreachable,
)

PRICE = Price(prompt=1_000_000.0, completion=2_000_000.0)
REPLY = ModelReply(text="four", finish="stop", model="m", prompt_tokens=3, completion_tokens=2)
AT_ONCE = Patience(attempts=10, seconds=0.0, alone_s=0.0)


def down(silence: Silence = "error", answered: int = 0) -> Unreachable:
    tried = Tried(attempts=5, seconds=1.0, silence=silence, answered=answered, again=lambda: True)
    return Unreachable("http://e", "HTTP 500", tried)


@dataclass
class Scripted:
    """Says one thing after another; an exception is raised, the last thing repeats."""

    says: list[ModelReply | Exception]
    asked: int = 0
    drained: bool = False
    on_ask: Callable[[], None] = field(default=lambda: None)

    name = "openai:m"
    simulated = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        self.on_ask()
        said = self.says[min(self.asked, len(self.says)) - 1]
        if isinstance(said, Exception):
            raise said
        return said

    async def close(self) -> None: ...

    def drain(self) -> None:
        self.drained = True

    def watch(self, look: Callable[[], object]) -> None: ...

    def why(self) -> str | None:
        return None


def request() -> ModelRequest:
    return ModelRequest(messages=(("user", "2+2"),), sampling=DEFAULT_SAMPLING, seed=1)


def called(backbone: Scripted, caller: Caller, episode: str = "p") -> ModelReply:
    return asyncio.run(caller.call(backbone, request(), episode))


# -- what it costs


@pytest.mark.parametrize(
    ("change", "cost"),
    [
        ({}, 7.0),
        ({"cached_tokens": 2}, 7.0),
        ({"cost": 0.5}, 0.5),  # the server's own word
        ({"prompt_tokens": None}, None),
        ({"free": False}, None),
    ],
)
def test_cost_follows_from_the_price_where_everything_is_known(
    change: dict[str, Any], cost: float | None
) -> None:
    said = replace(REPLY, **change)
    assert called(Scripted([said]), Caller(prices={"m": PRICE})).cost == cost
    assert called(Scripted([REPLY]), Caller()).cost is None


def test_a_total_of_calls_counts_what_came_back_alone() -> None:
    caller = Caller(totals=Totals(calls=2))
    backbone = Scripted([REPLY, SetupBroken("auth", "e", "no"), REPLY, REPLY])
    called(backbone, caller)
    with pytest.raises(SetupBroken):
        called(backbone, caller)
    called(backbone, caller)
    with pytest.raises(Draining):
        called(backbone, caller)
    assert (caller.exhausted, backbone.asked) == ("calls", 3)


class Forever(Scripted):
    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(60)
        return REPLY


def test_a_cancelled_call_releases_what_it_had_reserved() -> None:
    async def body() -> None:
        caller, forever = Caller(totals=Totals(calls=1)), Forever([REPLY])
        task = asyncio.create_task(caller.call(forever, request(), "p"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await caller.call(Scripted([REPLY]), request(), "p")).text == "four"

    asyncio.run(body())


def test_what_is_unknown_counts_at_its_most_in_totals() -> None:
    said = ModelReply(text="four", finish="stop", model="m", attempts=2)
    caller = Caller(totals=Totals(cost=1e9, tokens=10**9), prices={"m": PRICE})
    called(Scripted([said]), caller)
    assert caller.tokens >= 8
    assert caller.cost == pytest.approx(2 * (9 * 1.0 + (caller.tokens - 9) * 2.0))


# -- whose fault it is


def test_one_question_that_fails_while_others_are_answered_is_given_up() -> None:
    failing = Scripted([down(answered=1), down(answered=4)])
    with pytest.raises(Stuck, match="10 attempts in 0 s got no reply, while 3 other calls"):
        called(failing, Caller(patience=AT_ONCE))


def test_attempts_before_an_answer_are_counted() -> None:
    reply = called(Scripted([down("lost"), down("lost"), REPLY]), Caller(patience=AT_ONCE))
    assert reply.attempts == 11


def test_an_endpoint_that_answers_nobody_is_asked_until_it_is_back() -> None:
    dead = Scripted([*[down("lost")] * 20, REPLY])
    assert called(dead, Caller(patience=AT_ONCE)).attempts == 101


def test_that_an_endpoint_is_gone_and_back_is_told_once_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caller = Caller(patience=AT_ONCE)
    for _ in range(2):
        assert called(Scripted([down("lost"), down("lost"), REPLY]), caller).text == "four"
    told = [record.getMessage() for record in caplog.records]
    assert ["[model.unreachable]" in each for each in told] == [True, False, True, False]
    assert all(each.startswith("http://e: answers again after 0 s") for each in told[1::2])


def test_alone_one_question_is_given_up_and_no_second_before_an_answer() -> None:
    caller = Caller(patience=AT_ONCE)
    with pytest.raises(Stuck, match="and no other"):
        called(Scripted([down()]), caller)
    second = Scripted([*[down()] * 6, REPLY])
    assert called(second, caller, "another").attempts == 31
    with pytest.raises(Stuck):
        called(Scripted([down(answered=1)]), caller)


def test_alone_all_questions_of_one_episode_are_given_up() -> None:
    caller = Caller(patience=AT_ONCE)
    for _ in range(2):
        with pytest.raises(Stuck, match="and no other"):
            called(Scripted([down()]), caller, "b/scope/1")


def test_without_patience_the_first_silence_is_told() -> None:
    with pytest.raises(Unreachable):
        called(Scripted([down()]), Caller(patient=False, patience=AT_ONCE))


# -- draining


def test_a_worker_that_stops_lets_go_of_waiting_calls() -> None:
    caller = Caller()
    backbone = Scripted([down("lost")], on_ask=lambda: caller.drain([backbone]))
    with pytest.raises(Draining):
        called(backbone, caller)
    assert backbone.drained
    with pytest.raises(Draining):
        called(Scripted([NotSent()]), caller)
