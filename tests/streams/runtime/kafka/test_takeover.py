"""Take-over is bounded by what is open, not by the age of the log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import PartitionClaimed
from schemas.events.learning import Graded, Reflected
from schemas.problem import Feedback, Problem
from streams.answering.grading.grader import Grading
from streams.core.closing import check
from streams.engine.grades import Judged, graded
from streams.engine.progress import Outcome
from streams.runtime.kafka.admission import Asked, asked
from streams.runtime.kafka.envelope import headers_of
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.ownership import Ownership
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.worker import KafkaWorker
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka
from tests.memory_kafka.broker import Batch, Broker, Entry, Producer
from tests.memory_kafka.fixture import in_memory
from tests.pupil import SIZE, meant, problems, publication

Setting = tuple[OnKafka, KafkaAddress, Broker]


@pytest.fixture
def setting(tmp_path: Path) -> Generator[Setting]:
    with in_memory(PARTITIONS) as (place, broker), closing(KafkaLog(place, tmp_path)) as log:
        yield OnKafka(place, log), place, broker


def solved(runtime: OnKafka, first: int, count: int, domain: str = "e") -> None:
    runtime.log().publish(
        [
            (
                "problems",
                f"m{n}",
                dict[str, str](),
                Problem(id=f"{n}", problem="1", domain=domain, policy="pupil")
                .model_dump_json()
                .encode(),
            )
            for n in range(first, first + count)
        ]
    )
    assert runtime.live(Life(slots=200, settle=True)) == Outcome()


def replayed(runtime: OnKafka) -> int:
    assert runtime.worker is not None
    return sum(runtime.worker.owning.replayed)


def forget_checkpoints(place: KafkaAddress, broker: Broker) -> None:
    """As if compaction had taken everything."""
    for (topic, _), log in broker.logs.items():
        if topic == place.topic("checkpoints"):
            log.clear()


def test_ten_times_the_closed_episodes_make_no_longer_take_over(setting: Setting) -> None:
    runtime, _, _ = setting
    solved(runtime, 0, 20)
    assert runtime.live(Life()) == Outcome()
    few = replayed(runtime)
    solved(runtime, 20, 180)
    assert runtime.live(Life()) == Outcome()
    assert replayed(runtime) <= few * 1.2


def test_without_any_checkpoint_it_reads_more_and_nothing_else_changes(setting: Setting) -> None:
    runtime, place, broker = setting
    runtime.log().publish(*publication(problems()))
    runtime.live(Life(drains_after=9, delays=(2, 1)))
    runtime.live(Life(drains_after=1))
    bounded = replayed(runtime)
    forget_checkpoints(place, broker)
    assert runtime.live(Life()) == Outcome()
    assert replayed(runtime) > bounded
    with (
        in_memory(PARTITIONS) as (other, _),
        closing(KafkaLog(other, runtime.imported.path.parent.parent / "other")) as log,
    ):
        log.publish(*publication(problems()))
        calm = OnKafka(other, log)
        assert calm.live(Life()) == Outcome()
        assert meant(calm.log()) == meant(runtime.log())
    assert len(list(runtime.log().messages("answers"))) == SIZE


def test_what_was_being_admitted_as_another_claimed_the_partition_is_admitted_by_the_next_claim(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group says that the partition is still ours, so nothing is delivered again."""
    runtime, place, broker = setting
    contested = list[int]()

    def contest(*given: Any) -> Asked:
        worker = runtime.worker
        assert worker is not None
        if not contested:
            contested.append(0)
            headers = headers_of("partition.claimed", "w/0", "claimed.other.1", 1)
            row = (b"w", PartitionClaimed(worker="other").to_json(), headers, 1)
            for partition in range(PARTITIONS):
                broker.append(place.topic("events"), partition, [row])
            lease = worker.lease
            asyncio.get_running_loop().call_later(0.2, lambda: lease.renew(time.monotonic()))
        return asked(*given)

    monkeypatch.setattr("streams.runtime.kafka.intake.asked", contest)
    runtime.log().publish(*publication(problems()))
    assert runtime.live(Life()) == Outcome()
    assert contested
    assert len(list(runtime.log().messages("answers"))) == SIZE


def test_a_partition_that_was_paused_as_another_claimed_it_is_read_on_under_the_next_claim(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its queue was full, and nobody but its owner knows that it is to be resumed."""
    runtime, place, broker = setting
    after, admit, contested = Broker.after, Ownership._admit, list[int]()  # pyright: ignore[reportPrivateUsage]

    def one_by_one(self: Broker, at: Any, position: int, most: int) -> list[Entry]:
        return after(self, at, position, 1 if at.topic == place.topic("problems") else most)

    async def contest(self: Ownership, owned: Owned) -> None:
        if not contested:
            contested.append(owned.index)
            while not owned.paused:  # noqa: ASYNC110 - its queue fills meanwhile
                await asyncio.sleep(0.01)
            headers = headers_of("partition.claimed", "w/0", "claimed.other.1", 1)
            row = (b"w", PartitionClaimed(worker="other").to_json(), headers, 1)
            broker.append(place.topic("events"), owned.index, [row])
            lease = self.worker.lease
            asyncio.get_running_loop().call_later(0.2, lambda: lease.renew(time.monotonic()))
        await admit(self, owned)

    monkeypatch.setattr(Broker, "after", one_by_one)
    monkeypatch.setattr(Ownership, "_admit", contest)
    monkeypatch.setattr("streams.runtime.kafka.ownership.PAUSE_AT", 3)
    monkeypatch.setattr("streams.runtime.kafka.ownership.RESUME_AT", 2)
    solved(runtime, 0, 40)
    assert contested
    assert len(list(runtime.log().messages("answers"))) == 40


def beating(worker: KafkaWorker) -> None:
    """Heartbeats are answered from now on."""
    worker.lease.renew(time.monotonic())
    asyncio.get_running_loop().call_later(0.1, beating, worker)


def grades(runtime: OnKafka) -> list[str]:
    """The finished episodes that have a grade which counts."""
    return [each.episode for each in runtime.log().records(kinds=["graded"])]


def test_grades_that_a_former_owner_owed_are_stated_once_what_is_open_goes_on(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, _, _ = setting

    def nothing(event: Reflected) -> tuple[tuple[str, Graded], ...]:
        return ()

    with monkeypatch.context() as patch:
        patch.setattr("streams.runtime.kafka.learning.check", nothing)
        solved(runtime, 0, 20, "game24")
    assert grades(runtime) == []
    live = list[int]()

    def looked(event: Reflected) -> tuple[tuple[str, Graded], ...]:
        assert runtime.worker is not None
        live.append(sum(each.live for each in runtime.worker.owning.partitions.values()))
        return check(event)

    monkeypatch.setattr("streams.runtime.kafka.learning.check", looked)
    assert runtime.live(Life()) == Outcome()
    assert len(grades(runtime)) == 20
    assert live == [PARTITIONS] * 20
    assert runtime.worker is not None
    assert not any(runtime.worker.teacher.grading.values()), "what came back is not held"


def test_what_is_graded_is_not_graded_anew_at_a_take_over(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grade may take a process and seconds; of ten thousand, a take-over would take hours."""
    runtime, _, _ = setting
    solved(runtime, 0, 20, "game24")
    episodes = grades(runtime)
    said = [
        Feedback(episode=each, verdict=number % 2 == 0, by=f"who{number % 3}")
        for number, each in enumerate(episodes)
    ]
    runtime.log().publish(
        [("feedback", f"f{n}", {}, each.model_dump_json().encode()) for n, each in enumerate(said)]
    )
    assert runtime.live(Life()) == Outcome()
    assert len(grades(runtime)) == 40
    again = list[str]()

    async def judged(grader: Grading, reflected: Judged, feedback: Feedback) -> tuple[str, Graded]:
        again.append(feedback.by)
        return await graded(grader, reflected, feedback)

    def looked(event: Reflected) -> tuple[tuple[str, Graded], ...]:
        again.append(event.problem_id)
        return check(event)

    monkeypatch.setattr("streams.runtime.kafka.learning.check", looked)
    monkeypatch.setattr("streams.runtime.kafka.learning.graded", judged)
    assert runtime.live(Life()) == Outcome()
    assert again == []
    assert len(grades(runtime)) == 40


def test_a_grade_that_another_s_claim_came_before_is_stated_again(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, place, broker = setting
    contested = list[str]()

    def contest(event: Reflected) -> tuple[tuple[str, Graded], ...]:
        worker = runtime.worker
        assert worker is not None
        if not contested:
            contested.append(event.scope)
            headers = headers_of("partition.claimed", "w/0", "claimed.other.1", 1)
            row = (b"w", PartitionClaimed(worker="other").to_json(), headers, 1)
            for partition in range(PARTITIONS):
                broker.append(place.topic("learning"), partition, [row])
            beating(worker)
        return check(event)

    monkeypatch.setattr("streams.runtime.kafka.learning.check", contest)
    solved(runtime, 0, 20, "game24")
    assert contested
    assert len(grades(runtime)) == 20


def test_a_checkpoint_that_cannot_be_written_ends_the_worker(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody awaits it, and without it no worker ever knows that all is done."""
    runtime, place, _ = setting
    send = Producer.send_batch

    async def refuse(self: Producer, batch: Batch, topic: str, *, partition: int) -> Any:
        if topic == place.topic("checkpoints"):
            raise RuntimeError("refused by the broker")
        return await send(self, batch, topic, partition=partition)

    monkeypatch.setattr(Producer, "send_batch", refuse)
    with pytest.raises(RuntimeError, match="refused by the broker"):
        runtime.live(Life())
