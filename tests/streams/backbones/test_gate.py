from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.answering.backbones.gate import ConnectionLimit, Gate
from streams.answering.backbones.limiter import Limiter
from streams.core.backbone import NotSent


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_no_more_inside_than_allowed_and_in_order() -> None:
    async def body() -> None:
        gate, order, release = Gate(Limiter(3)), list[int](), asyncio.Event()

        async def call(number: int) -> None:
            async with gate.turn():
                order.append(number)
                assert gate.inside <= 3
                await release.wait()

        tasks = [asyncio.create_task(call(number)) for number in range(10)]
        await settle()
        assert order == [0, 1, 2]
        release.set()
        await asyncio.gather(*tasks)
        assert order == list(range(10))
        assert gate.inside == 0

    asyncio.run(body())


def test_one_that_comes_again_goes_before_newcomers() -> None:
    async def body() -> None:
        gate, order = Gate(Limiter(1)), list[str]()

        async def call(name: str, again: bool) -> None:
            async with gate.turn(again=again):
                order.append(name)

        async with gate.turn():
            new = asyncio.create_task(call("new", False))
            await settle()
            again = asyncio.create_task(call("again", True))
            await settle()
        await asyncio.gather(new, again)
        assert order == ["again", "new"]

    asyncio.run(body())


def test_a_narrowed_gate_drains_before_it_admits() -> None:
    async def body() -> None:
        limiter = Limiter(4, cut=0.5)
        gate, held = Gate(limiter), [asyncio.Event() for _ in range(4)]

        async def call(event: asyncio.Event) -> None:
            async with gate.turn():
                await event.wait()

        tasks = [asyncio.create_task(call(event)) for event in held]
        await settle()
        limiter.throttled(limiter.round)
        late = asyncio.create_task(call(held[0]))
        await settle()
        assert gate.inside == 4
        held[1].set()
        held[2].set()
        await settle()
        assert (gate.inside, late.done()) == (2, False)
        held[0].set()
        held[3].set()
        await asyncio.gather(*tasks, late)

    asyncio.run(body())


@pytest.mark.parametrize("pauses", [(0.05, 0.01), (0.01, 0.05)])
def test_a_pause_holds_everyone_and_the_longest_counts(pauses: tuple[float, ...]) -> None:
    async def body() -> float:
        gate, loop = Gate(Limiter(2)), asyncio.get_running_loop()
        began = loop.time()
        for seconds in pauses:
            gate.pause(seconds)
        async with gate.turn():
            return loop.time() - began

    assert asyncio.run(body()) >= 0.049


def test_an_exception_gives_the_place_back() -> None:
    async def body() -> None:
        gate = Gate(Limiter(1))
        with pytest.raises(ZeroDivisionError):
            async with gate.turn():
                raise ZeroDivisionError
        assert gate.inside == 0

    asyncio.run(body())


def test_a_place_granted_to_a_call_that_is_cancelled_just_then_is_given_back() -> None:
    async def body() -> None:
        gate = Gate(Limiter(1))

        async def call() -> None:
            async with gate.turn():
                raise AssertionError("cancelled before it could begin")

        async with gate.turn():
            waiting = asyncio.create_task(call())
            await settle()
        assert gate.inside == 1  # the place is the waiting call's, which has not woken yet
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert gate.inside == 0

    asyncio.run(body())


@given(
    most=st.integers(1, 4),
    steps=st.lists(st.tuples(st.integers(0, 11), st.booleans()), max_size=24),
)
def test_cancelling_at_any_moment_loses_no_place(most: int, steps: list[tuple[int, bool]]) -> None:
    async def body() -> None:
        gate = Gate(Limiter(most))
        events = [asyncio.Event() for _ in range(12)]

        async def call(event: asyncio.Event) -> None:
            async with gate.turn():
                await event.wait()

        tasks = [asyncio.create_task(call(event)) for event in events]
        for number, cancels in steps:
            tasks[number].cancel() if cancels else events[number].set()
            if number % 2:
                await settle()
            assert gate.inside <= most
        for event in events:
            event.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate.inside == 0

    asyncio.run(body())


def test_the_gates_of_one_endpoint_share_its_connections() -> None:
    async def body() -> None:
        room, most = ConnectionLimit(3), 0
        gates = [Gate(Limiter(10, first=10), room) for _ in range(2)]

        async def call(gate: Gate) -> None:
            nonlocal most
            async with gate.turn():
                most = max(most, room.inside)
                await asyncio.sleep(0)

        await asyncio.gather(*(call(gates[number % 2]) for number in range(20)))
        assert (most, room.inside) == (3, 0)

    asyncio.run(body())


def test_a_stopped_gate_sends_everybody_away_but_those_inside() -> None:
    async def body() -> None:
        gate, release = Gate(Limiter(1)), asyncio.Event()

        async def call() -> str:
            async with gate.turn():
                await release.wait()
                return "done"

        async def rest() -> str:
            await gate.sleep(60)
            return "rested"

        tasks = [asyncio.create_task(call()), asyncio.create_task(call())]
        resting = asyncio.create_task(rest())
        await settle()
        gate.stop()
        release.set()
        outcomes = await asyncio.gather(*tasks, resting, call(), return_exceptions=True)
        assert outcomes[0] == "done"
        assert [type(each) for each in outcomes[1:]] == [NotSent] * 3
        assert gate.inside == 0

    asyncio.run(body())


def test_who_looks_before_a_call_goes_in_may_still_send_it_away() -> None:
    """A worker that was stopped for long finds its log claimed by another: what waited here is asked no more."""

    async def body() -> None:
        gate, seen, release = Gate(Limiter(1)), list[int](), asyncio.Event()

        def look() -> None:
            seen.append(gate.inside)
            if len(seen) == 2:
                gate.stop()

        async def call() -> None:
            async with gate.turn():
                await release.wait()

        gate.look = look
        tasks = [asyncio.create_task(call()) for _ in range(3)]
        await settle()
        release.set()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in outcomes] == [type(None), NotSent, NotSent]
        assert (seen, gate.inside) == ([1, 1], 0)

    asyncio.run(body())
