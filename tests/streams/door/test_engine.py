"""The engine inside a program: what is submitted is answered once, survives, waits its turn, and says what is wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import metalogue
import pytest
from metalogue import Client, Engine

from schemas.events.episode import EpisodeParked
from schemas.events.learning import Graded
from schemas.identity import digest
from streams.interfaces.door import client
from streams.interfaces.door.asking import Way
from streams.interfaces.door.errors import Error
from streams.interfaces.door.mailbox import Mailbox, News
from streams.interfaces.door.messages import WORD
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, whole
from tests.pace import soon
from tests.streams.cli.calling import call
from tests.streams.door.conftest import keyless, knows
from tests.surroundings import Serve

T = TypeVar("T")
LOG = "sqlite:a.db"
SUM = "What is {} + 1?"


def run(work: Callable[[], Awaitable[T]]) -> T:
    """What some work comes to, in time."""

    async def timed() -> T:
        async with asyncio.timeout(soon(30.0)):
            return await work()

    return asyncio.run(timed())


class Gate:
    """A model that answers when it is let, and knows who waits."""

    def __init__(self) -> None:
        self.open, self.asked = threading.Event(), threading.Event()

    def __call__(self, asked: Asked) -> Answer:
        self.asked.set()
        self.open.wait(60)
        return knows(asked)


def test_many_are_answered_in_their_order_and_each_is_paid_once(serve: Serve) -> None:
    endpoint = serve(lambda asked: replace(knows(asked), latency_s=0.05))

    async def work() -> list[str | None]:
        async with Engine(LOG, backbone="openai") as engine:
            first = [each.answer async for each in engine.map(map(SUM.format, range(40)), ahead=8)]
            again = [each.answer async for each in engine.map(map(SUM.format, range(40)))]
            assert first == again
            return first

    assert run(work) == [str(n + 1) for n in range(40)]
    assert len(endpoint.asked) == 40
    assert endpoint.most_inside > 1, "they were worked on beside each other"
    assert metalogue.verify(LOG).diverged == []


def test_events_are_seen_as_they_are_written_and_end_with_the_episode(serve: Serve) -> None:
    serve()

    async def work() -> list[str]:
        async with Engine(LOG, backbone="openai", policy="mc2") as engine:
            handle = await engine.submit(SUM.format(1))
            seen = [record.address async for record in handle.events()]
            assert handle.done()
            return seen

    seen = run(work)
    assert seen[:3] == ["admitted", "opened", "0"]
    assert seen[-2:] == ["closed", "reflected"]
    with metalogue.open_log(LOG) as log:
        (episode,) = log.episodes()
        assert seen == [each.address for each in log.records(episode.id)]


def test_what_was_open_goes_on_when_the_log_is_worked_on_again(serve: Serve) -> None:
    gate = Gate()
    endpoint = serve(gate)

    async def begin() -> str:
        async with Engine(LOG, backbone="openai", max_concurrency=1) as engine:
            first = await engine.submit(SUM.format(1))
            second = await engine.submit(SUM.format(2))
            await asyncio.to_thread(gate.asked.wait, 60)
            gate.open.set()
        with pytest.raises(metalogue.Error) as caught:
            await second.answer()
        assert caught.value.code == "client.closed"
        return first.episode

    async def go_on() -> list[str | None]:
        async with Engine(LOG, backbone="openai") as engine:
            handles = [await engine.submit(SUM.format(n)) for n in (1, 2)]
            return [(await each.answer()).answer for each in handles]

    run(begin)
    assert run(go_on) == ["2", "3"]
    assert len(endpoint.asked) == 2, "the call in flight was recorded, and none was paid twice"


def test_who_submits_more_than_may_wait_waits(serve: Serve) -> None:
    gate = Gate()
    serve(gate)

    async def work() -> None:
        async with Engine(LOG, backbone="openai", max_pending=2) as engine:
            for n in range(2):
                await engine.submit(SUM.format(n))
            third = asyncio.create_task(engine.submit(SUM.format(2)))
            await asyncio.to_thread(gate.asked.wait, 60)
            assert engine.pending == 2
            assert not third.done()
            gate.open.set()
            assert (await (await third).answer()).answer == "3"

    run(work)


def test_a_person_may_go_back_to_what_she_first_said_and_the_same_word_twice_is_one(
    folder: Path,
) -> None:
    async def work() -> None:
        async with Engine(LOG, backbone="rehearsal") as engine:
            handle = await engine.submit(SUM.format(1), policy="cot")
            await handle.answer()
            for verdict in (True, False, True, True):
                await engine.feedback(handle.episode, verdict=verdict, by="ann")

    run(work)
    assert call("worker", "--backbone", "rehearsal", "--until-idle", "--log", LOG).code == 0
    with closing(SqliteLog("a.db")) as log:
        said = [each.event for each in log.records(kinds=("graded",))]
    words = [e.outcome for e in said if isinstance(e, Graded) and e.source == "ann"]
    assert words == ["right", "wrong", "right"]


def test_of_many_that_are_submitted_at_once_no_more_wait_than_may(serve: Serve) -> None:
    gate = Gate()
    serve(gate)

    async def work() -> None:
        async with Engine(LOG, backbone="openai", max_pending=2) as engine:
            tasks = [asyncio.create_task(engine.submit(SUM.format(n))) for n in range(6)]
            await asyncio.to_thread(gate.asked.wait, 60)
            assert engine.pending == sum(each.done() for each in tasks) == 2
            gate.open.set()
            handles = await asyncio.gather(*tasks)
            assert [(await each.answer()).answer for each in handles] == list("123456")

    run(work)


def test_a_limit_of_cost_without_a_price_is_refused_and_the_others_go_on(folder: Path) -> None:
    async def work() -> None:
        async with Engine(LOG, backbone="rehearsal") as engine:
            with pytest.raises(metalogue.Error, match="no price is known for rehearsal") as caught:
                await engine.submit(SUM.format(1), cost_limit=1.0)
            assert caught.value.field == "cost_limit"
            assert (await (await engine.submit(SUM.format(2))).answer()).episode

    run(work)


def test_a_cancelled_episode_is_worked_on_no_more_here_or_later(serve: Serve) -> None:
    gate = Gate()
    endpoint = serve(gate)

    async def work() -> None:
        async with Engine(LOG, backbone="openai") as engine:
            handle = await engine.submit(SUM.format(1))
            await asyncio.to_thread(gate.asked.wait, 60)
            await handle.cancel()
            with pytest.raises(metalogue.Error) as caught:
                await handle.answer()
            assert caught.value.code == "cancelled"
            gate.open.set()
            other = await engine.submit(SUM.format(2))
            assert (await other.answer()).answer == "3"
            with pytest.raises(metalogue.Error) as late:
                await other.cancel()
            assert late.value.code == "episode.ended"

    run(work)
    asked = len(endpoint.asked)
    assert call("worker", "--backbone", "openai", "--until-idle", "--log", "a.db").code == 0
    assert len(endpoint.asked) == asked
    with metalogue.open_log(LOG) as log:
        assert [each.answer for each in log.answers()] == ["3"]
    assert metalogue.verify(LOG).diverged == []


def test_a_refused_key_ends_every_wait_and_closes_nothing(serve: Serve) -> None:
    serve(keyless)

    async def work() -> list[str]:
        async with Engine(LOG, backbone="openai") as engine:
            handles = [await engine.submit(SUM.format(n)) for n in range(3)]
            found = await asyncio.gather(
                *(each.answer() for each in handles), return_exceptions=True
            )
            return [each.code for each in found if isinstance(each, metalogue.Error)]

    assert run(work) == ["model.auth"] * 3
    with metalogue.open_log(LOG) as log:
        assert not any(each.closed for each in log.episodes())


@pytest.mark.parametrize("max_pending", [1, 8])
def test_who_comes_after_the_worker_ended_does_not_wait_either(
    serve: Serve, max_pending: int
) -> None:
    """Of problems in a row only those before the refusal heard of it: the next one waited for ever."""
    serve(keyless)

    async def work() -> list[str]:
        async with Engine(LOG, backbone="openai", max_pending=max_pending) as engine:
            handles = [await engine.submit(SUM.format(n)) for n in range(2)]
            await asyncio.wait([asyncio.create_task(handles[0].answer())])
            handles.append(await engine.submit(SUM.format(2)))
            waits = [each.answer() for each in handles]
            found = await asyncio.gather(
                *waits, engine.answered({"trace": "1"}), return_exceptions=True
            )
            return [each.code for each in found if isinstance(each, metalogue.Error)]

    assert run(work) == ["model.auth"] * 4


def test_what_is_wrong_is_refused_before_anything_is_written(serve: Serve) -> None:
    serve()

    async def work() -> None:
        async with Engine(LOG, backbone="openai") as engine:
            await engine.submit(SUM.format(1), id="one")
            cases = [
                ({"problem": SUM.format(2), "id": "one"}, "id"),
                ({"problem": SUM.format(1), "id": "one", "policy": "mc2", "new": True}, "id"),
                ({"problem": "  "}, "problem"),
                ({"problem": "x", "id": "a\nb"}, "id"),
                ({"problem": "x", "policy": "mc3"}, "policy"),
                ({"problem": "x", "token_limit": 0}, "token_limit"),
            ]
            for given, field in cases:
                with pytest.raises(metalogue.Error) as caught:
                    await engine.submit(**given)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
                assert caught.value.field == field, given

    run(work)
    assert call("dlq", "list", "--json", "--log", "a.db").rows == []
    with metalogue.open_log(LOG) as log:
        assert len(list(log.episodes())) == 1


def test_a_second_process_is_told_who_has_the_log_and_may_be_its_client(serve: Serve) -> None:
    serve()

    async def work() -> str | None:
        async with Engine(LOG, backbone="openai"):
            with pytest.raises(metalogue.Error) as caught:
                async with Engine(LOG, backbone="openai"):
                    pass
            assert caught.value.code == "log.busy"
            assert "kill" not in caught.value.hint, "it would end itself"
            async with Client(LOG) as other:
                handle = await other.submit(SUM.format(6))
                return (await handle.answer()).answer

    assert run(work) == "7"


def test_what_a_worker_refuses_or_parks_is_said_to_who_waits(folder: Path) -> None:
    async def work() -> tuple[metalogue.Error, metalogue.Error]:
        async with Client(LOG) as waiting:
            refused, parked = [await waiting.submit(SUM.format(n)) for n in (1, 2)]
            with closing(SqliteLog("a.db")) as log:
                why = {WORD: "policy: not here"}
                log.publish([("dead-letters", f"problems/1/{digest(refused.episode)}", why, b"")])
                writer = log.claim("another")
                event = EpisodeParked(reason="Diverged: it asked something else", address="3")
                writer.state("events", parked.episode, "parked.0", event)
                writer.flush()
            found = [
                await asyncio.gather(each.answer(), return_exceptions=True)
                for each in (refused, parked)
            ]
            first, second = (each for (each,) in found if isinstance(each, metalogue.Error))
            with pytest.raises(metalogue.Error, match="parked"):
                await (await waiting.submit(SUM.format(2))).answer()
            return first, second

    refused, parked = run(work)
    assert (refused.code, refused.detail) == ("input.refused", "policy: not here")
    assert parked.code == "episode.parked"
    assert "it asked something else" in parked.detail


def test_an_answer_is_awaited_by_the_headers_of_its_problem(serve: Serve) -> None:
    serve()
    mark = {"correlation-id": "7", "reply-to": "desk"}

    async def work() -> list[str | None]:
        async with Engine(LOG, backbone="openai") as engine, Client(LOG) as other:
            before = asyncio.create_task(other.answered({"correlation-id": "7"}))
            await asyncio.sleep(0)
            handle = await engine.submit(SUM.format(6), headers=mark)
            await engine.submit(SUM.format(7), headers={"correlation-id": "8"})
            assert handle.headers == mark
            both = await asyncio.gather(before, other.answered(mark))
            after = await other.answered({"correlation-id": "8"})
            known = await other.submit(SUM.format(6), headers={"correlation-id": "9"})
            assert known.headers == mark, "the answer bears what came first"
            assert (await other.find(handle.episode)).headers == mark
            return [each.answer for each in (*both, after)]

    assert run(work) == ["7", "7", "8"]


def test_who_awaits_by_headers_hears_of_a_refusal_and_of_what_cannot_come(folder: Path) -> None:
    async def work() -> list[str]:
        async with Client(LOG) as waiting:
            codes: list[str] = []
            later = asyncio.create_task(waiting.answered({"correlation-id": "2"}))
            await asyncio.sleep(0)
            with closing(SqliteLog("a.db")) as log:
                for mark in ("1", "2"):
                    letter = {WORD: "policy: not here", "correlation-id": mark}
                    log.publish([("dead-letters", f"problems/{mark}/x", letter, b"")])
            refused = [waiting.answered({"correlation-id": "1"}), later]
            wrong = [waiting.answered(each) for each in ({}, {"ce_id": "1"}, {"a": "x" * 9_000})]
            found = await asyncio.gather(*refused, *wrong, return_exceptions=True)
            codes += [each.code for each in found if isinstance(each, metalogue.Error)]
            return codes

    assert run(work) == ["input.refused"] * 2 + ["usage"] + ["input.headers"] * 2


def test_who_waits_waits_on_while_the_log_cannot_be_reached(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two looks fail as if a broker were away; the answer comes with the third."""
    serve()
    fails, looks = [2], Mailbox.news

    def news(box: Mailbox, waiting: Iterable[str]) -> News:
        if fails[0]:
            fails[0] -= 1
            raise Error("no broker answered", code="log.unreachable")
        return looks(box, waiting)

    monkeypatch.setattr(Mailbox, "news", news)
    monkeypatch.setattr(client, "AGAIN_S", 0.01)

    async def work() -> str | None:
        async with Engine(LOG, backbone="openai") as engine:
            return (await (await engine.submit(SUM.format(1))).answer()).answer

    assert run(work) == "2"
    assert fails == [0]


def test_what_another_process_brings_into_the_same_file_is_seen(folder: Path) -> None:
    """A log on Kafka is read from a file that several processes keep up; here one whose own count stands still."""

    class Still(SqliteLog):
        def data_version(self) -> int:
            return 0

    with closing(Still("a.db", create=True)) as log:
        box = Mailbox(log)
        posted = box.post(metalogue.Asked.of(SUM.format(1)), Way())
        assert box.news([posted.episode]).answers == {}
        assert call("worker", "--backbone", "rehearsal", "--until-idle", "--log", "a.db").code == 0
        assert [*box.news([posted.episode]).answers] == [posted.episode]


def test_feedback_is_a_label(serve: Serve) -> None:
    serve()

    async def work() -> None:
        async with Engine(LOG, backbone="openai") as engine:
            handle = await engine.submit(SUM.format(1))
            await handle.answer()
            await handle.feedback(reference=2)
            with pytest.raises(metalogue.Error, match="give one of"):
                await handle.feedback(verdict=True, score=0.5)

    run(work)
    assert call("worker", "--backbone", "openai", "--until-idle", "--log", "a.db").code == 0
    shown = call("show", "--json", "--log", "a.db").json
    assert shown["outcome"] == "right"


async def found(engine: Engine) -> Any:
    """What waits for a person, once something does."""
    while not (waiting := await engine.reviews()):  # noqa: ASYNC110 - another thread asks
        await asyncio.sleep(0.02)
    return waiting[0]


def test_a_reference_of_another_form_than_the_answers_type_is_refused(serve: Serve) -> None:
    """Of an answer that is there, and of a problem whose episode waits for a person."""
    serve(lambda asked: whole("I cannot tell."))

    async def work() -> None:
        async with Engine(LOG, backbone="openai", answer_type="number") as engine:
            for policy in ("cot", "reviewed"):
                handle = await engine.submit(SUM.format(1), policy=policy)
                assert (await found(engine)).episode == handle.episode
                with pytest.raises(metalogue.Error, match="the answer type is number") as refused:
                    await handle.feedback(reference="some")
                told = refused.value
                assert (told.field, told.code) == ("reference", "input.answer_type")
                await handle.feedback(reference=2)
                await handle.answer()
                assert not await engine.reviews()

    run(work)


def test_outside_its_block_it_says_so(folder: Path) -> None:
    with pytest.raises(metalogue.Error, match="async with"):
        run(lambda: Engine(LOG, backbone="rehearsal").records("x"))


def test_without_a_log_nothing_stays(serve: Serve, folder: Path) -> None:
    serve()

    async def work() -> str | None:
        async with Engine(backbone="openai") as engine:
            return (await (await engine.submit(SUM.format(1))).answer()).answer

    assert run(work) == "2"
    assert list(folder.iterdir()) == []


def test_an_episode_that_asks_a_person_goes_on_with_what_a_client_says(serve: Serve) -> None:
    serve(lambda asked: whole("I cannot tell."))

    async def work() -> None:
        async with Engine(LOG, backbone="openai", policy="reviewed") as engine:
            handle = await engine.submit(SUM.format(1))
            waiting = await found(engine)
            assert (waiting.episode, waiting.reasons) == (handle.episode, ("asked",))
            with pytest.raises(metalogue.Error, match="no answer that could be right or wrong"):
                await handle.feedback(verdict=True)
            assert not handle.done()
            await engine.feedback(handle.episode, reference=2, by="Ada")
            answer = await handle.answer()
            assert (answer.answer, answer.ended_by) == ("2", "reviewed")
            assert await engine.reviews() == []

    run(work)
    assert call("verify", "--log", "a.db").code == 0
