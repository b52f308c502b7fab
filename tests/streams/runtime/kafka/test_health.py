"""When a worker on Kafka is ready: brokers answer, appends are acknowledged, enough replicas are in sync."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator

import pytest

from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine.policies import find
from streams.runtime.kafka import driver
from streams.runtime.kafka.health import PATIENCE_S, Health
from streams.runtime.kafka.owned import Owned
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.web import copies, figures, lags, takeovers, told
from streams.runtime.kafka.worker import KafkaWorker
from streams.telemetry.metrics import exposed
from tests.memory_kafka.broker import Broker
from tests.memory_kafka.fixture import in_memory


@pytest.fixture
def here() -> Generator[tuple[KafkaAddress, Broker]]:
    with in_memory(2) as found:
        yield found


@pytest.fixture
def worker_at() -> Generator[Callable[[KafkaAddress], KafkaWorker]]:
    """Makes workers that never join, and closes what they hold open."""
    made: list[KafkaWorker] = []

    def at(place: KafkaAddress) -> KafkaWorker:
        made.append(KafkaWorker(place, 2, World({}, HashedEmbedder(64)), find))
        return made[-1]

    yield at
    for worker in made:
        worker.past.close()


def later(health: Health, seconds: float) -> str | None:
    """What is wrong so much later, if nothing is heard until then."""
    found = health.trouble(time.monotonic() + seconds)
    return None if found is None else found.what


def test_brokers_that_say_nothing_are_away_once_patience_is_over(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    worker = worker_at(here[0])
    assert later(worker.health, PATIENCE_S - 1) is None
    assert later(worker.health, PATIENCE_S + 1) == "brokers away"


def test_an_append_that_waits_is_trouble_though_brokers_answer(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    worker = worker_at(here[0])
    now_s = time.monotonic()
    lane = worker.appender.lane(here[0].topic("events"), 0)
    lane.add(b"k", b"v", [])
    worker.health.heard_s = now_s + PATIENCE_S
    assert later(worker.health, PATIENCE_S + 1) is None, (
        "a model thinks, and nobody waits for a broker"
    )
    assert figures(worker)["metalogue_append_wait_seconds"] == 0
    lane.flying, lane.flown_s = 1, now_s
    assert later(worker.health, PATIENCE_S - 1) is None
    assert later(worker.health, PATIENCE_S + 1) == "no append acknowledged"
    found = figures(worker)
    assert found["metalogue_appends_waiting"] == 1
    assert found["metalogue_append_wait_seconds"] >= 0
    assert "metalogue_append_age_seconds" not in found, "when there was none yet is not known"


def test_a_partition_that_takes_nothing_is_trouble_at_once(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    worker = worker_at(here[0])
    worker.health.thin = [("t.metalogue.events.v1", 1)]
    assert later(worker.health, 0) == "1 partition below min.insync.replicas"


def test_a_group_that_answers_no_heartbeat_is_trouble_after_a_session(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    worker = worker_at(here[0])
    worker.health.heard_s = time.monotonic() + 1_000
    worker.lease.renew(time.monotonic())
    over_s = max(worker.lease.session_s, PATIENCE_S) + 1
    assert later(worker.health, over_s) is None, "nobody is in a group yet"
    worker.owning.assignments = 1
    assert later(worker.health, over_s - 2) is None
    assert later(worker.health, over_s) == "no heartbeat answered"


def test_a_coordinator_that_went_with_all_brokers_is_not_the_trouble(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    """Its last heartbeat may be older than the leaders' last answer."""
    worker = worker_at(here[0])
    worker.owning.assignments = 1
    worker.health.began_s -= 100
    worker.health.heard_s = time.monotonic()
    worker.lease.session_s = 6
    worker.lease.renewed = worker.health.heard_s - 1.5
    found = {later(worker.health, tenth / 10) for tenth in range(200)}
    assert found == {None, "brokers away"}


def test_who_waits_for_brokers_does_not_hang(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    worker = worker_at(here[0])
    worker.owning.partitions[0] = Owned(0, owed=deque(["p/d/a/0"]))
    watched = worker.watchdog
    assert watched.busy()
    watched.look()
    watched.moved -= 10 * watched.still_s
    watched.look()
    assert not watched.alive, "brokers are there and nothing moves"
    worker.health.outage.since_s = time.monotonic()
    watched.look()
    assert watched.alive


def test_faust_takes_nobody_for_one_that_hangs() -> None:
    """It said so 126 times of workers that waited for a broker; it would ask its consumer thread here."""
    consumer = driver.Consumer.__new__(driver.Consumer)
    consumer.verify_event_path(1e9, None)


def test_what_a_worker_has_slept_through_is_no_silence_of_brokers(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    health = worker_at(here[0]).health
    health.began_s = time.monotonic() + 100  # as when it finds that it was not running until now
    assert later(health, 100 + PATIENCE_S - 1) is None


def test_leaders_and_replicas_are_asked_and_what_they_say_is_the_lag(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    place, memory = here
    worker = worker_at(place)
    for name, count in (("problems", 5), ("events", 3), ("learning", 2)):
        rows = [(b"k", b"v", list[tuple[str, bytes]](), 0)] * count
        memory.append(place.topic(name), 1, rows)
    owned = worker.owning.partitions[1] = Owned(1, live=True, position=1)
    owned.fold.upto, worker.view.upto[1] = 3, 0

    async def run() -> None:
        await worker.shared.start()
        worker.health.heard_s = 0
        await worker.health.start()
        while not worker.health.ends:  # noqa: ASYNC110 - a look tells nobody that it was
            await asyncio.sleep(0.01)
        await worker.health.stop()
        await worker.shared.stop()

    asyncio.run(run())
    assert time.monotonic() - worker.health.heard_s < PATIENCE_S
    assert worker.health.thin == []
    text = exposed(lags(worker))
    assert 'metalogue_partition_lag{topic="problems",partition="1"} 4' in text
    assert 'metalogue_partition_lag{topic="events",partition="1"} 0' in text
    assert 'metalogue_partition_lag{topic="learning",partition="1"} 2' in text


def test_brokers_and_what_lacks_copies_are_told_of_every_topic(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    place, memory = here
    memory.brokers, memory.away = 3, 2
    memory.copies = dict.fromkeys(place.topics(), 3)
    memory.settings = {name: {"min.insync.replicas": "2"} for name in place.topics()}
    memory.forbidden = {place.topic("answers")}  # its settings may not be asked for
    worker = worker_at(place)
    worker.owning.partitions[1] = Owned(1)

    async def run() -> None:
        assert copies(worker, time.monotonic()) == [], "nothing is known before they were asked"
        await worker.health.start()
        while worker.health.replication is None:  # noqa: ASYNC110 - a look tells nobody that it was
            await asyncio.sleep(0.01)
        await worker.health.stop()

    asyncio.run(run())
    text = exposed(copies(worker, time.monotonic()))
    assert "metalogue_brokers 3" in text
    assert 'metalogue_partitions_under_replicated{topic="problems"} 2' in text
    assert 'metalogue_partitions_under_replicated{topic="dlq.feedback"} 2' in text
    assert 'metalogue_partitions_below_min_isr{topic="events"} 2' in text
    assert 'metalogue_partitions_under_replicated{topic="answers"} 2' in text
    assert 'metalogue_partitions_below_min_isr{topic="answers"}' not in text
    assert {partition for _, partition in worker.health.thin} == {1}, "of ours alone"
    old = time.monotonic() + PATIENCE_S + 1
    assert copies(worker, old) == [], "what was told long ago is no figure of now"


def test_take_overs_are_told_one_by_one_and_while_they_last(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    owning = (worker := worker_at(here[0])).owning
    assert "metalogue_takeover_wait_seconds 0\n" in exposed(takeovers(worker))
    owning.takeovers, owning.replayed = [0.1, 0.3, 200.0], [5, 0, 7]
    owning.taken_since_s[1] = time.perf_counter() - 30
    text = exposed(takeovers(worker))
    assert 'metalogue_takeover_seconds_bucket{le="0.1"} 1' in text
    assert 'metalogue_takeover_seconds_bucket{le="0.5"} 2' in text
    assert 'metalogue_takeover_seconds_bucket{le="120.0"} 2' in text
    assert 'metalogue_takeover_seconds_bucket{le="+Inf"} 3' in text
    assert "metalogue_takeover_seconds_count 3" in text
    assert "metalogue_takeover_records_total 12" in text
    assert owning.waits_s() >= 30


def test_readiness_says_why_and_life_is_another_matter(
    here: tuple[KafkaAddress, Broker], worker_at: Callable[[KafkaAddress], KafkaWorker]
) -> None:
    worker = worker_at(here[0])
    said = told(worker)

    async def run() -> None:
        assert await said.unready() == "not yet"
        worker.health.began_s = worker.health.heard_s = time.monotonic() - 30
        assert await said.unready() == "brokers away for 30 s; 0 appends wait"

    asyncio.run(run())
    assert said.alive()
