"""Who waits for an answer: by an episode's name, by headers, for a while, again, and on a client that is closed."""

from __future__ import annotations

import asyncio

import metalogue
import pytest
from metalogue import Client, Engine

from tests.pace import soon
from tests.streams.door.test_engine import LOG, SUM, Gate, run
from tests.surroundings import Serve


def test_an_episode_that_is_found_while_it_is_open_is_heard_of(serve: Serve) -> None:
    gate = Gate()
    serve(gate)

    async def work() -> list[str | None]:
        async with Engine(LOG, backbone="openai") as engine, Client(LOG) as other:
            handle = await engine.submit(SUM.format(1))
            await asyncio.to_thread(gate.asked.wait, 60)
            found = await other.find(handle.episode)
            gate.open.set()
            mine, theirs = await asyncio.gather(handle.answer(), found.answer())
            return [mine.answer, theirs.answer]

    assert run(work) == ["2", "2"]


def test_who_gives_up_waiting_by_headers_takes_no_place_of_a_problem(serve: Serve) -> None:
    serve()

    async def work() -> str | None:
        async with Engine(LOG, backbone="openai", max_pending=1) as engine:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await engine.answered({"correlation-id": "never"})
            assert engine.pending == 0
            # Nor does one who waits on: it may be this very problem that he waits for.
            waiting = asyncio.create_task(engine.answered({"correlation-id": "7"}))
            await asyncio.sleep(0)
            handle = await engine.submit(SUM.format(6), headers={"correlation-id": "7"})
            assert (await waiting).answer == (await handle.answer()).answer
            return (await waiting).answer

    assert run(work) == "7"


def test_who_asks_again_by_the_same_headers_is_told_again(serve: Serve) -> None:
    serve()
    mark = {"correlation-id": "7"}

    async def work() -> list[str | None]:
        async with Engine(LOG, backbone="openai") as engine:
            await engine.submit(SUM.format(6), headers=mark)
            return [(await engine.answered(mark)).answer for _ in range(3)]

    assert run(work) == ["7"] * 3


def test_a_client_that_was_closed_says_so(serve: Serve) -> None:
    serve()

    async def work() -> list[str]:
        engine, codes = Engine(LOG, backbone="openai"), list[str]()
        with pytest.raises(metalogue.Error) as before:
            await engine.submit(SUM.format(1))
        codes.append(before.value.code)
        async with engine:
            handle = await engine.submit(SUM.format(1))
            await handle.answer()
        for again in (
            engine.submit(SUM.format(2)),
            engine.explain(handle.episode),
            engine.find(handle.episode),
            engine.answered({"a": "b"}),
            handle.cancel(),
        ):
            with pytest.raises(metalogue.Error) as after:
                async with asyncio.timeout(soon(10.0)):
                    await again
            codes.append(after.value.code)
        return codes

    assert run(work) == ["client.closed"] * 6


def test_what_waits_by_itself_is_not_called_in_a_running_loop(folder: object) -> None:
    async def work() -> None:
        for call in (
            lambda: metalogue.solve(SUM.format(1), backbone="rehearsal"),
            lambda: metalogue.fork(LOG, "e", "0", backbone="rehearsal"),
        ):
            with pytest.raises(metalogue.Error, match="running event loop"):
                call()

    run(work)


def test_what_is_solved_while_an_engine_waits_for_it_is_paid_for_once(serve: Serve) -> None:
    """The engine had admitted it before it waited, and took that admission for all that was recorded."""
    gate = Gate()
    endpoint = serve(gate)

    async def work() -> list[str | None]:
        problem = SUM.format(1)
        aside = asyncio.create_task(metalogue.asolve(problem, backbone="openai", log=LOG))
        await asyncio.to_thread(gate.asked.wait, 60)
        async with Engine(LOG, backbone="openai") as engine:
            handle = await engine.submit(problem)
            async for _ in handle.events():
                break  # it is admitted
            gate.open.set()
            return [(await aside).answer, (await handle.answer()).answer]

    assert run(work) == ["2", "2"]
    assert len(endpoint.asked) == 1
