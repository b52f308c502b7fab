"""Clients and doors of one log on Kafka, each with a copy of its own: what one puts another finds, races are told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import metalogue
import pytest

from streams.interfaces.cli.errors import UNREACHABLE, CliError
from streams.interfaces.door import handle as handles
from streams.interfaces.door import thread
from streams.interfaces.door.asking import Asked, Way
from streams.interfaces.door.handle import Handle
from streams.interfaces.door.mailbox import Found, Mailbox
from streams.interfaces.door.thread import LogThread
from streams.runtime.embedded.queries import messages
from streams.runtime.kafka import outgoing, topics
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.fixture import GLANCES, in_memory

WAY = Way(policy="pupil", domain="d")
Boxes = Callable[[], Mailbox]


@pytest.fixture
def place() -> Generator[KafkaAddress]:
    with in_memory(PARTITIONS, glances=GLANCES) as (found, _):
        yield found


@pytest.fixture
def boxes(place: KafkaAddress, folder: Path) -> Generator[Boxes]:
    """Mailboxes of the log, each as on a machine of its own."""
    with ExitStack() as stack:
        made: list[Mailbox] = []

        def make() -> Mailbox:
            log = stack.enter_context(closing(KafkaLog(place, folder / str(len(made)))))
            made.append(Mailbox(log))
            return made[-1]

        yield make


def nothing(*_: object) -> None: ...


def blind(monkeypatch: pytest.MonkeyPatch, box: Mailbox) -> None:
    """Let a mailbox see nothing of what others put until its own is on the log: they put at the same time."""
    assert isinstance(box.log, KafkaLog)
    really, publish = box.log.refresh, outgoing.publish
    monkeypatch.setattr(box.log, "refresh", nothing)

    async def seeing(*given: Any) -> None:
        await publish(*given)
        monkeypatch.setattr(box.log, "refresh", really)

    monkeypatch.setattr(outgoing, "publish", seeing)


def test_two_logs_of_one_cluster_are_two_files(place: KafkaAddress, folder: Path) -> None:
    """Else the problems of one were known to the other, and put there by nobody."""
    paths = set[Path]()
    for name in ("", "/metalogue", "/t"):
        other = KafkaAddress.of(f"kafka://{place.servers}{name}")
        asyncio.run(topics.create(other, PARTITIONS))
        with closing(KafkaLog(other, folder)) as log:
            paths.add(log.path)
    assert len(paths) == 3


def test_what_was_put_at_one_door_is_found_at_another(boxes: Boxes) -> None:
    one, other = boxes(), boxes()
    put = one.post(Asked.of("What is 1 + 1?"), Way(policy="cot"))
    found = other.find(put.episode)
    assert found is not None
    assert (found.episode, found.id, found.answer) == (put.episode, put.id, None)
    assert other.find("p/default/nobody/r") is None


def test_of_two_that_put_other_words_under_one_id_at_once_only_the_first_is_taken(
    boxes: Boxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would else be given the answer to one of the two questions."""
    one, other = boxes(), boxes()
    one.post(Asked.of("What is 1 + 1?", "q"), Way(policy="cot"))
    blind(monkeypatch, other)
    with pytest.raises(metalogue.Error, match="another problem text") as refused:
        other.post(Asked.of("What is 9 + 9?", "q"), Way(policy="cot"))
    assert (refused.value.code, refused.value.field) == ("input.duplicate", "id")


@pytest.mark.parametrize("new", [True, False])
def test_of_two_that_put_one_key_to_two_policies_at_once_the_second_is_told(
    boxes: Boxes, monkeypatch: pytest.MonkeyPatch, new: bool
) -> None:
    one, other = boxes(), boxes()
    one.post(Asked.of("What is 1 + 1?", "q"), Way(policy="cot"), new=new)
    blind(monkeypatch, other)
    if new:
        with pytest.raises(metalogue.Error, match="another policy"):
            other.post(Asked.of("What is 1 + 1?", "q"), Way(policy="mc2"), new=True)
    else:
        assert other.post(Asked.of("What is 1 + 1?", "q"), Way(policy="mc2")).id == "q"


def test_who_waits_for_a_problem_that_a_worker_refuses_is_told_why(
    boxes: Boxes, place: KafkaAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = boxes(), boxes()
    one.post(Asked.of("What is 1 + 1?", "q"), Way(policy="cot"))
    blind(monkeypatch, other)
    monkeypatch.setattr(messages, "first_put", nothing)  # as where the first came a moment later
    lost = other.post(Asked.of("What is 9 + 9?", "q"), Way(policy="mc2"))
    assert isinstance(one.log, KafkaLog)
    OnKafka(place, one.log).live(Life())
    assert "taken by another problem text" in other.news([lost.episode]).refused[lost.episode]
    # Also who asks only now.
    later = boxes()
    assert later.news([lost.episode]).refused.keys() == {lost.episode}


def test_what_a_broker_took_is_put_although_it_cannot_be_read_back(
    boxes: Boxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, really = boxes(), outgoing.publish
    away = OSError("no broker")

    async def then_away(*given: Any) -> None:
        await really(*given)

        def refresh(*_: object) -> None:
            raise away

        monkeypatch.setattr(box.log, "refresh", refresh)

    monkeypatch.setattr(outgoing, "publish", then_away)
    put = box.post(Asked.of("What is 1 + 1?"), Way(policy="cot"))
    assert boxes().find(put.episode) is not None


def test_of_what_no_broker_said_it_took_the_episode_is_named(
    boxes: Boxes, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = boxes()

    async def unheard(*given: Any) -> None:
        raise OSError("no broker answered")

    monkeypatch.setattr(outgoing, "publish", unheard)
    with pytest.raises(metalogue.Error, match="may be worked on") as told:
        box.post(Asked.of("What is 1 + 1?", "q"), Way(policy="cot"))
    assert told.value.code == "log.unsure"
    assert told.value.where.startswith("p/default/q/")


# ── Brokers that are away ────────────────────────────────────────────────────────────────────


class Brokers:
    """Brokers that are away until they are back, and how often they were tried."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.away, self.tried = True, 0
        self.hold: threading.Event | None = None
        patch.setattr(thread, "reached", self.reached)
        patch.setattr(thread, "place_of", str)

    def reached(self, place: str, job: Callable[[], Any]) -> Any:
        self.tried += 1
        if self.hold is not None:
            assert self.hold.wait(60)
        if self.away:
            raise CliError("no broker answered", error="log.unreachable", exit=UNREACHABLE)
        return job()


async def refused(log: LogThread, **how: bool) -> str:
    try:
        return await log.do(lambda: "done", **how)
    except metalogue.Error as error:
        return error.code


def test_nobody_waits_for_brokers_that_another_has_just_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        brokers, log = Brokers(monkeypatch), LogThread("kafka://one:1")
        brokers.hold = threading.Event()
        asked = [asyncio.create_task(refused(log)) for _ in range(20)]
        await asyncio.sleep(0)
        brokers.hold.set()
        assert await asyncio.gather(*asked) == ["log.unreachable"] * 20
        assert brokers.tried == 1, "those behind the first learn of it from him"
        assert await refused(log) == "log.unreachable"
        assert brokers.tried == 1
        # Who waits for answers tries on, and the others go by what he finds.
        assert await refused(log, anyway=True) == "log.unreachable"
        assert brokers.tried == 2
        brokers.away = False
        assert await refused(log, anyway=True) == "done"
        assert await refused(log) == "done"
        log.close()

    asyncio.run(work())


def test_somebody_tries_again_after_a_while_although_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thread, "AWAY_S", 0.0)

    async def work() -> None:
        brokers, log = Brokers(monkeypatch), LogThread("kafka://one:1")
        assert await refused(log) == "log.unreachable"
        brokers.away = False
        assert await refused(log) == "done"
        log.close()

    asyncio.run(work())


def test_a_client_is_used_in_the_loop_in_which_it_was_opened(folder: Path) -> None:
    async def work() -> None:
        async with metalogue.Client("sqlite:a.db") as client:
            found = await asyncio.to_thread(asyncio.run, refusal(client))
            assert found == "client.loop"

    async def refusal(client: metalogue.Client) -> str:
        try:
            await client.submit("What is 1 + 1?")
        except metalogue.Error as error:
            return error.code
        return "taken"

    asyncio.run(work())


def test_a_stream_outlasts_brokers_that_are_away_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handles, "AGAIN_S", 0.0)

    class Client:
        """Its log is away twice."""

        asked = 0

        async def records(self, episode: str, after: int) -> list[Any]:
            self.asked += 1
            if self.asked < 3:
                raise metalogue.Error("no broker answered", code="log.unreachable")
            if self.asked == 3:
                raise metalogue.Error("the file is damaged", code="log.damaged")
            return []

    async def work() -> None:
        over: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        client: Any = Client()
        handle = Handle(client, Found("p/d/x/r", "x", "main"), over)
        with pytest.raises(metalogue.Error, match="damaged"):
            [each async for each in handle.events()]
        assert client.asked == 3
        over.cancel()

    asyncio.run(work())


# ── What is not done on Kafka ────────────────────────────────────────────────────────────────


def test_who_works_here_is_told_that_workers_do_there() -> None:
    url = "kafka://nowhere:1"
    with pytest.raises(metalogue.Error, match="Client") as told:
        metalogue.Engine(url)
    assert (told.value.code, told.value.field) == ("usage", "log")
    with pytest.raises(metalogue.Error, match="workers of its own"):
        metalogue.solve("What is 1 + 1?", backbone="rehearsal", log=url)


@pytest.mark.parametrize("read", [metalogue.open_log, metalogue.verify])
def test_in_an_event_loop_a_log_on_kafka_is_opened_in_a_thread(read: Callable[[str], Any]) -> None:
    async def work() -> None:
        with pytest.raises(metalogue.Error, match=r"asyncio\.to_thread"):
            read("kafka://nowhere:1")

    asyncio.run(work())
