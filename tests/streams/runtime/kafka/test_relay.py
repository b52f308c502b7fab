"""What was closed leaves as soon as a worker can say what: one that lacks the policy is not stopped by it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import EpisodeAdopted, ProblemAdmitted
from schemas.problem import Problem
from streams.core.closing import Closing
from streams.engine.learner import Learner
from streams.engine.progress import Outcome
from streams.interfaces.cli.logs import counts
from streams.runtime.embedded.log import now_ms
from streams.runtime.kafka.append import Appender, Lane
from streams.runtime.kafka.envelope import LogRecord, headers_of
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.relay import Relay
from streams.runtime.kafka.store import KafkaStore
from tests.contracts.runtime_suite import verified
from tests.contracts.runtimes import PARTITIONS, Find, Life, OnKafka, messages
from tests.memory_kafka.broker import Died
from tests.memory_kafka.fixture import broker_of, in_memory
from tests.pupil import alone, both, newer, only_the_other, problems, publication


@pytest.fixture
def runtime(tmp_path: Path) -> Generator[OnKafka]:
    with in_memory(PARTITIONS) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        yield OnKafka(place, log)


async def die(*_: Any) -> None:
    raise Died


@pytest.mark.parametrize("without", [only_the_other, newer])
def test_an_answer_that_cannot_be_derived_waits_for_who_can(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch, without: Find
) -> None:
    runtime.log().publish([alone("a")])
    with monkeypatch.context() as patch:
        patch.setattr(Relay, "take", die)
        assert runtime.live(Life()) is None
    (closed,) = runtime.log().records(kinds=["episode.closed"])
    assert messages(runtime.log(), "answers") == []

    runtime.log().publish([alone("z", policy="other")])
    assert runtime.live(Life(find=without)) == Outcome(held=[closed.episode])
    assert len(messages(runtime.log(), "answers")) == 1
    assert runtime.live(Life(find=both)) == Outcome()
    assert len(messages(runtime.log(), "answers")) == 2


@pytest.mark.parametrize("dies", [False, True])
def test_who_is_taken_out_as_his_end_is_under_way_keeps_his_answer(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """The end counts for whoever reads the log: nobody who saw it coming may think otherwise."""
    close, broker = KafkaStore.close, broker_of(runtime.place)

    async def taken_out(self: KafkaStore, ends: Sequence[tuple[str, Closing]], fresh: bool) -> None:
        word, at_ms = EpisodeAdopted(void=True, by="ann"), now_ms()
        for episode, _ in ends:
            headers = headers_of(word.kind, episode, "adopted.0", at_ms)
            row = (episode.encode(), word.to_json(), headers, at_ms)
            broker.append(runtime.place.topic("events"), self.owned.index, [row])
        await close(self, ends, fresh)

    runtime.log().publish([alone("a")])
    with monkeypatch.context() as patch:
        patch.setattr(KafkaStore, "close", taken_out)
        if dies:
            patch.setattr(Relay, "take", die)
        assert runtime.live(Life()) == (None if dies else Outcome())
    assert runtime.live(Life(settle=True)) == Outcome()
    log = runtime.log()
    assert len(messages(log, "answers")) == 1
    assert counts(log)["closed"] == 1
    assert verified(log) == []


def test_a_place_whose_answer_nobody_here_can_say_is_not_voided(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.log().publish(*publication([each for each in problems() if each.position == 1]))
    with monkeypatch.context() as patch:
        patch.setattr(Relay, "take", die)
        assert runtime.live(Life()) is None
    left = runtime.live(Life(find=newer, settle=True))
    assert left is not None
    assert left.held
    voided = runtime.log().records(kinds=["position.voided"])
    assert [each.address for each in voided] == ["void.0", "void.2"], (
        "of its batch, all but its own"
    )
    assert runtime.live(Life(settle=True)) == Outcome()
    first, *_ = runtime.log().records(kinds=["batch.closed"])
    assert [each.split("/")[2] for each in getattr(first.event, "members", ())] == ["1"]


def test_what_rests_on_a_version_that_comes_late_is_said_once_it_is_heard() -> None:
    owned = Owned(0)
    owned.fold.fence.epoch = 0
    for name in ("a", "b"):
        problem = Problem(id=name, problem="1", domain=name, policy="pupil")
        admitted = ProblemAdmitted(problem=problem, scope=f"{name}/pupil/main/s", offset=0)
        said = LogRecord(name, "admitted", "problem.admitted", 0, admitted.to_json())
        assert owned.fold.take(1, said)
    owned.unsaid |= {"a", "b"}
    place = KafkaAddress.of("kafka://nowhere:1")
    relay = Relay(place, Appender(place), Learner(both), "pupil", PARTITIONS)
    relay.again(owned, "a/pupil/main/s")
    assert (list(owned.owed), owned.unsaid) == (["a"], {"b"})


def test_an_application_s_headers_come_back_on_the_answer_whoever_derives_it(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [("traceparent", b"00-1"), ("kafka_correlationId", bytes(range(256)))]
    broker, place = broker_of(runtime.place), runtime.place
    value = b'{"id": "k", "problem": "1", "policy": "pupil"}'
    broker.append(place.topic("problems"), 0, [(b"k", value, given, 0)])
    with monkeypatch.context() as patch:
        patch.setattr(Relay, "take", die)
        assert runtime.live(Life()) is None  # closed, and not answered
    assert runtime.live(Life()) == Outcome()
    (answer,) = broker.logs[place.topic("answers"), 0]
    assert [each for each in answer.headers if each in given] == given
    assert [name for name, _ in answer.headers].count("ce_id") == 1


def test_reflections_on_partitions_that_move_meanwhile_are_on_the_log(
    runtime: OnKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take no claim. What is dropped with a claim that was lost is what stood under it, and no reflection."""
    take, commit, moved = Relay.take, Lane.commit, list[int]()
    one, relaying = asyncio.Lock(), list[int]()
    topic, count = runtime.place.topic("learning"), 30

    async def once_all_are_closed(self: Relay, owned: Owned) -> None:
        assert runtime.worker is not None
        while runtime.worker.progress.closed < count:  # noqa: ASYNC110 - they close meanwhile
            await asyncio.sleep(0.01)
        async with one:
            relaying.append(owned.index)
            await take(self, owned)

    def move(others: list[int]) -> None:
        assert runtime.worker is not None
        for partition in others:
            runtime.worker.owning.outgrown(partition)

    def committed(self: Lane) -> asyncio.Future[int]:
        worker = runtime.worker
        if self.topic == topic and worker is not None and worker.progress.closed and not moved:
            stay = {self.partition, relaying[-1]}
            moved.extend(partition for partition in range(PARTITIONS) if partition not in stay)
            asyncio.get_running_loop().call_soon(move, moved)
        return commit(self)

    monkeypatch.setattr(Relay, "take", once_all_are_closed)
    monkeypatch.setattr(Lane, "commit", committed)
    given = [
        Problem(id=f"{n}", problem="1", domain=f"d{n % 5}", policy="cot") for n in range(count)
    ]
    runtime.log().publish(
        ("problems", each.id, {}, each.model_dump_json().encode()) for each in given
    )
    assert runtime.live(Life(slots=200)) == Outcome()
    assert moved
    assert len(list(runtime.log().records(kinds=["reflected"]))) == count
