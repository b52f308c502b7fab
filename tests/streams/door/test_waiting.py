"""Who waits for an answer: by an episode's name, by headers, for a while, again, and on a client that is closed."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import metalogue
import pytest
from metalogue import Client, Engine

from streams.interfaces.door.mailbox import Found, Mailbox
from streams.runtime.embedded.log import SqliteLog
from tests.pace import soon
from tests.streams.cli.learned import change
from tests.streams.cli.test_foreign_messages import PUT
from tests.streams.door.conftest import keyless
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


@pytest.mark.parametrize(
    "junk", [b"not json", b"", b"[1]", b"\xff", b'{"status": "\xff"}', b'{"status": "answered"}']
)
def test_what_is_no_answer_keeps_nobody_waiting(serve: Serve, junk: bytes) -> None:
    """Whoever waited behind one line that was no JSON did so for ever, and so did all who came later."""
    gate = Gate()
    serve(gate)

    async def work() -> str | None:
        async with Engine(LOG, backbone="openai") as engine:
            handle = await engine.submit(SUM.format(1))
            await asyncio.to_thread(gate.asked.wait, 60)
            change(Path("a.db"), PUT, "answers", "x", junk)
            gate.open.set()
            async with asyncio.timeout(soon(10.0)):
                return (await handle.answer()).answer

    assert run(work) == "2"
    with metalogue.open_log(LOG) as log:
        assert len(list(log.answers())) == 1


def test_a_defect_of_ours_is_told_to_who_waits_and_ends_no_later_wait(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody looked any more after one, and who waited did so for ever."""
    serve()
    news = Mailbox.news
    told = iter([RuntimeError("it hurts")])

    def looked(*arguments: Any) -> Any:
        if (wrong := next(told, None)) is not None:
            raise wrong
        return news(*arguments)

    async def work() -> str | None:
        async with Engine(LOG, backbone="openai") as engine:
            monkeypatch.setattr(Mailbox, "news", looked)
            async with asyncio.timeout(soon(20.0)):
                handle = await engine.submit(SUM.format(1))
                with pytest.raises(metalogue.Error, match="RuntimeError: it hurts") as said:
                    await handle.answer()
                assert said.value.code == "client.defect"
                found = await engine.find(handle.episode)
                return (await found.answer()).answer

    assert run(work) == "2"


def test_who_waits_to_submit_is_told_when_the_client_is_closed(folder: Path) -> None:
    """Nobody made room for him any more, and he waited for ever."""

    async def work() -> None:
        async with Client(LOG, max_pending=1) as client:
            await client.submit(SUM.format(1))
            waiting = asyncio.create_task(client.submit(SUM.format(2)))
            await asyncio.sleep(0.05)
        with pytest.raises(metalogue.Error) as told:
            async with asyncio.timeout(soon(5.0)):
                await waiting
        assert told.value.code == "client.closed"

    run(work)


def test_who_is_putting_a_problem_is_told_when_the_client_is_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was put, and its handle waited for ever for an answer that nobody looked for."""
    putting, closing, post = threading.Event(), threading.Event(), Mailbox.post

    def slow(*said: Any, **how: Any) -> Found:
        putting.set()
        closing.wait(60)
        return post(*said, **how)

    monkeypatch.setattr(Mailbox, "post", slow)

    async def work() -> None:
        async with Client(LOG) as client:
            submitting = asyncio.create_task(client.submit(SUM.format(1)))
            await asyncio.to_thread(putting.wait, 60)
            # The thread is still at it when everything that waits has been told.
            asyncio.get_running_loop().call_later(0.5, closing.set)
        with pytest.raises(metalogue.Error) as told:
            async with asyncio.timeout(soon(5.0)):
                await (await submitting).answer()
        assert told.value.code == "client.closed"

    run(work)


def test_an_engine_whose_end_nobody_waits_for_lets_go_of_its_log(serve: Serve) -> None:
    """Its worker kept the log, and whoever opened it again was told to end the process that he was."""
    gate = Gate()
    serve(gate)

    async def asks() -> None:
        async with Engine(LOG, backbone="openai") as engine:
            await engine.submit(SUM.format(1))
            await asyncio.to_thread(gate.asked.wait, 60)

    async def work() -> str | None:
        ending = asyncio.create_task(asks())
        await asyncio.to_thread(gate.asked.wait, 60)
        await asyncio.sleep(0.2)  # by now it drains
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        gate.open.set()
        async with Engine(LOG, backbone="openai") as engine:
            return (await (await engine.submit(SUM.format(1))).answer()).answer

    assert run(work) == "2"
    assert [each for each in threading.enumerate() if each.name.startswith("metalogue")] == []
    assert metalogue.verify(LOG).diverged == []


def test_an_engine_may_be_opened_again(serve: Serve) -> None:
    serve()

    async def work() -> list[str | None]:
        engine = Engine(backbone="openai")
        answers: list[str | None] = []
        for each in (1, 2):
            async with engine:
                answers.append((await (await engine.submit(SUM.format(each))).answer()).answer)
        return answers

    assert run(work) == ["2", "3"]


def test_an_engine_whose_key_was_refused_works_once_that_is_mended(
    folder: Path, serve: Serve
) -> None:
    serve(keyless)
    engine = Engine(LOG, backbone="openai")

    async def work() -> str | None:
        async with engine:
            return (await (await engine.submit(SUM.format(1))).answer()).answer

    with pytest.raises(metalogue.Error):
        run(work)
    serve()
    assert run(work) == "2"


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


def test_a_word_that_nobody_can_read_keeps_no_answer_from_its_question(folder: Path) -> None:
    """It is a dead letter; what a client said then was taken for a verdict on an answer, and woke nobody."""

    async def work() -> str | None:
        async with Engine(LOG, backbone="rehearsal:seed=7", policy="reviewed") as engine:
            for number in range(6):
                await engine.submit(f"What is {number}+{number}?")
            while not (asked := [i for i in await engine.reviews() if i.asked is not None]):  # noqa: ASYNC110 - asked by another process as a rule
                await asyncio.sleep(0.05)
            (question, *_) = asked
            assert question.asked is not None
            word = {
                "episode": question.episode,
                "review": question.asked.address,
                "verdict": "maybe",
            }
            with closing(SqliteLog(Path("a.db"), writes=True)) as log:
                log.publish([("feedback", "foreign", {}, json.dumps(word).encode())])
                while not list(log.messages("dead-letters")):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            handle = await engine.find(question.episode)
            await handle.feedback(verdict=True)
            return (await handle.answer()).status

    assert run(work) == "answered"
