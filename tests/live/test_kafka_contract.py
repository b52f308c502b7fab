"""The runtimes' and logs' contract on a real broker, and the claim fence as a law on what it keeps."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from schemas.events.base import Event
from streams.runtime.kafka import aio, topics
from streams.runtime.kafka.append import Appender, Lane
from streams.runtime.kafka.envelope import LogRecord, headers_of
from streams.runtime.kafka.envelope import read as read_record
from streams.runtime.kafka.fence import CLAIMED, EventsFold, Fence
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from tests.contracts.kafka_case import kafka_log
from tests.contracts.log_suite import (
    SENT,
    STATED,
    TEXTS,
    Case,
    Kept,
    a_message_is_sent_once_by_its_key,
    a_text_is_kept_once_under_its_digest,
    the_first_record_of_an_address_wins,
)
from tests.contracts.runtime_suite import RuntimeSuite, two_undisturbed, undisturbed
from tests.contracts.runtimes import OnKafka, Runtime
from tests.live.kafka_here import missing

__all__ = ["two_undisturbed", "undisturbed"]

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]


class TestOnABroker(RuntimeSuite):
    """Faust's own driver, aiokafka's own clients."""

    @pytest.fixture
    def runtime(self, place: KafkaAddress, tmp_path: Path) -> Generator[Runtime]:
        with closing(KafkaLog(place, tmp_path)) as log:
            yield OnKafka(place, log)


CASE = settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def case(node: tuple[str, Path]) -> Case:
    """A log of its own for each example."""

    def made() -> AbstractContextManager[Kept]:
        place = KafkaAddress.of(f"{node[0]}/t{time.time_ns()}")
        asyncio.run(topics.create(place, 1))
        return kafka_log(place)

    return made


@given(STATED)
@CASE
def test_the_first_record_of_an_address_wins(
    case: Case, stated: list[tuple[str, str, Event, bool]]
) -> None:
    the_first_record_of_an_address_wins(case, stated)


@given(SENT)
@CASE
def test_a_message_is_sent_once_by_its_key(case: Case, sent: list[tuple[str, bytes]]) -> None:
    a_message_is_sent_once_by_its_key(case, sent)


@given(TEXTS)
@CASE
def test_a_text_is_kept_once_under_its_digest(case: Case, texts: list[str]) -> None:
    a_text_is_kept_once_under_its_digest(case, texts)


# -- the claim fence --------------------------------------------------------------------------------


SCHEDULES = 60
EPISODE = "p/d/1/r"


@dataclass
class Owner:
    """Claims a partition, reads up to its claim, and then believes what it read and says itself."""

    lane: Lane
    rng: random.Random
    epoch: int = -1
    known: dict[str, bytes] = field(default_factory=dict[str, bytes])
    late: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])

    async def begin(self, read: Reader) -> None:
        headers = headers_of(CLAIMED, "w/0", f"claimed.{self.rng.random()}", 1)
        self.lane.add(b"w", b"{}", headers)
        self.epoch = await self.lane.commit()
        fold = await read(self.lane.partition, self.epoch + 1)
        self.known = {a: said.body for a, said in fold.journal(EPISODE).items()}

    def say(self) -> None:
        """What follows from everything before, and from chance."""
        address = "admitted" if not self.known else str(len(self.known) - 1)
        because = hashlib.sha256(b"|".join(self.known.values())).hexdigest()
        self.known[address] = f"{self.rng.random():.9f}<{because}".encode()
        self.late.append((address, self.known[address]))

    async def land(self) -> None:
        """The oldest statement reaches the log, however late."""
        if self.late:
            address, body = self.late.pop(0)
            kind = "problem.admitted" if address == "admitted" else "completed"
            headers = headers_of(kind, EPISODE, address, 1, str(self.epoch).encode())
            self.lane.add(EPISODE.encode(), body, headers)
            await self.lane.commit()


Reader = Callable[[int, int], Awaitable[EventsFold]]


async def play(lane: Lane, read: Reader, rng: random.Random) -> None:
    """Two owners and more on one partition, in a random schedule."""
    owners: list[Owner] = []
    for step in range(rng.randint(5, 60)):
        if step == 0 or rng.random() < 0.1:
            owners.append(Owner(lane, rng))
            await owners[-1].begin(read)
        owner = rng.choice(owners)
        if rng.random() < 0.5:
            owner.say()
        else:
            await owner.land()
    for owner in owners:
        while owner.late:
            await owner.land()


def contradicts(fold: EventsFold) -> bool:
    """Whether some accepted record does not follow from exactly the accepted ones before it."""
    before: list[bytes] = []
    for said in fold.journal(EPISODE).values():
        because = hashlib.sha256(b"|".join(before)).hexdigest().encode()
        if said.body.rpartition(b"<")[2] != because:
            return True
        before.append(said.body)
    return False


class Trusting(Fence):
    """A fence that lets everything pass."""

    def admits(self, offset: int, said: LogRecord) -> bool:
        return True


def test_no_schedule_of_owners_contradicts_itself_on_the_brokers_log(
    node: tuple[str, Path],
) -> None:
    place = KafkaAddress.of(f"{node[0]}/t{time.time_ns()}")
    topic = place.topic("events")

    async def read(partition: int, end: int, fence: Fence | None = None) -> EventsFold:
        fold = EventsFold(fence or Fence())
        consumer = aio.consumer(place, fetch_max_wait_ms=10)
        await consumer.start()
        tp = aio.spot(topic, partition)
        consumer.assign([tp])
        consumer.seek(tp, 0)
        while fold.upto < end:
            for record in (await consumer.getmany(tp, timeout_ms=500)).get(tp, []):
                if fold.upto < end:
                    fold.take(record.offset, read_record(record.headers, record.value))
        await consumer.stop()
        return fold

    async def run() -> tuple[list[EventsFold], list[EventsFold]]:
        await topics.create(place, SCHEDULES)
        appender = Appender(place)
        await appender.start()
        lanes = [appender.lane(topic, number) for number in range(SCHEDULES)]
        for begin in range(0, SCHEDULES, 30):
            some = lanes[begin : begin + 30]
            await asyncio.gather(*(play(e, read, random.Random(e.partition)) for e in some))
        await appender.stop()
        fenced = [await read(each.partition, each.last + 1) for each in lanes]
        trusting = [await read(each.partition, each.last + 1, Trusting()) for each in lanes]
        return fenced, trusting

    fenced, trusting = asyncio.run(run())
    assert not any(map(contradicts, fenced))
    assert any(map(contradicts, trusting)), "the law is vacuous"
    assert any(fold.odd.stale for fold in fenced)
