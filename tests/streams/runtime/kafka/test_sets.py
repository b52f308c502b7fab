"""Sets on Kafka: the members of a series lie on one partition, and mean what they mean in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.base import Policy
from schemas.problem import Limits
from streams.engine.policies import find
from streams.engine.progress import Outcome
from streams.interfaces.cli.doctor.adopting import let_go_on
from streams.producing.produce import Plan, Producer
from streams.producing.sources import SourceLine, lines_of
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.worker import KafkaWorker
from tests.contracts.runtimes import PARTITIONS, Find
from tests.crash.series import Counted, End, end_of, worked
from tests.crash.test_sets import CALLS, MEMBERS, POLICY, VALUES, begun, opened
from tests.memory_kafka.broker import Broker, Died
from tests.memory_kafka.fixture import in_memory

Row = tuple[Any, Any, list[tuple[str, bytes]], int]
SOURCE = f"game24:901-{900 + MEMBERS}"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> End:
    """What the series means in one process."""
    with closing(SqliteLog(begun(tmp_path_factory.mktemp("sets") / "m.db"))) as log:
        worked(log)
        return end_of(log)


@dataclass
class Setting:
    """A broker in memory, and the import of the log on it."""

    place: KafkaAddress
    broker: Broker
    log: KafkaLog

    def produce(self, lines: list[SourceLine] | None = None) -> None:
        """The series, or some of its lines."""
        produced_on(self.log, lines)

    def live(
        self, find: Find = find, *, left: int | None = None, settle: bool = True
    ) -> Outcome | None:
        """One worker's life; it may die after so many records."""
        worker = KafkaWorker(self.place, PARTITIONS, Counted(), find)
        self.broker.left = left
        try:
            return asyncio.run(worker.run(until_idle=True, settle=settle))
        except Died:
            return None
        finally:
            self.broker.left = None

    def end(self) -> End:
        """What the log came to; it verifies."""
        self.log.refresh()
        assert Verifier(self.log, find).run().diverged == []
        return end_of(self.log)

    def sets(self) -> list[int]:
        """How many members each set has."""
        return [len(event.members) for event in opened(self.log).values() if event.members]


@pytest.fixture
def setting(tmp_path: Path) -> Generator[Setting]:
    with in_memory(PARTITIONS) as (place, broker), closing(KafkaLog(place, tmp_path)) as log:
        yield Setting(place, broker, log)


def produced_on(log: KafkaLog, lines: list[SourceLine] | None) -> None:
    plan = Plan(source=SOURCE, find=find, policy=POLICY, values=VALUES, limits=Limits(calls=CALLS))
    Producer(log, plan).run(lines if lines is not None else lines_of(SOURCE, None))


def test_a_series_of_sets_means_what_it_means_in_one_process(
    setting: Setting, embedded: End
) -> None:
    setting.produce()
    for _ in range(2):
        assert setting.live() == Outcome()
        assert setting.end() == embedded
        assert setting.sets() == [3, 3, 1]


@pytest.mark.parametrize("left", range(12, 18, 2))
def test_workers_that_die_after_any_record_leave_the_same(
    setting: Setting, embedded: End, left: int
) -> None:
    setting.produce()
    lives = 0
    while setting.live(left=left + lives // 3) is None:
        lives += 1
    assert lives > 3
    assert setting.end() == embedded


def test_a_set_of_which_some_members_are_closed_is_finished_whole(
    setting: Setting, embedded: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that was cut: the closing of the set and of its first member are on the log, and no more."""
    append = Broker.append

    def cut(self: Broker, topic: str, partition: int, rows: Iterable[Row]) -> int:
        said = list(rows)
        closings = [at for at, row in enumerate(said) if is_closing(row)]
        if len(closings) < 3 or self.left is None:
            return append(self, topic, partition, said)
        append(self, topic, partition, said[: closings[1] + 1])
        raise Died

    monkeypatch.setattr(Broker, "append", cut)
    setting.produce()
    assert setting.live(left=10_000) is None
    setting.log.refresh()
    closed = [record.episode[0] for record in setting.log.records(kinds=["episode.closed"])]
    assert closed == ["s", "p"]
    assert setting.live() == Outcome()
    assert setting.end() == embedded


def is_closing(row: Row) -> bool:
    return b"episode.closed" in dict(row[2]).get("ce_type", b"")


def test_a_set_waits_for_a_member_that_has_not_come_until_its_place_is_void(
    setting: Setting,
) -> None:
    setting.produce()
    (home,) = (at for at, log in setting.broker.logs.items() if "problems" in at[0] and log)
    setting.broker.logs[home][1] = replace(setting.broker.logs[home][1], value=b"broken")
    held = setting.live(settle=False)
    assert held is not None
    assert any("waits for position 1" in each for each in held.held)
    setting.log.refresh()
    assert setting.sets() == []
    assert setting.live() == Outcome()
    setting.end()
    assert setting.sets() == [2, 3, 1]


def test_members_that_lie_elsewhere_are_worked_on_by_themselves(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As logs hold them that were produced before sets lay on one partition."""

    def never(policy: str | None) -> bool:
        return False

    monkeypatch.setattr("streams.runtime.kafka.outgoing.takes_sets", never)
    setting.produce()
    assert setting.live() == Outcome()
    setting.end()
    assert sum(setting.sets()) < MEMBERS
    assert sum(1 for _ in setting.log.messages("answers")) == MEMBERS


def newer(name: str) -> Policy[Any]:
    """The policy of another build."""
    return replace(find(name), version="99")


@pytest.fixture
def parked(setting: Setting) -> list[str]:
    """The members of a set that was begun by one build and met by another."""
    setting.produce()
    assert setting.live(left=40) is None
    outcome = setting.live(newer, settle=False)
    assert outcome is not None
    assert len(outcome.parked) == 3
    again = setting.live()
    assert again is not None
    assert again.parked == outcome.parked
    setting.log.refresh()
    return outcome.parked


def test_a_parked_set_goes_on_when_all_its_members_are_adopted(
    setting: Setting, embedded: End, parked: list[str]
) -> None:
    for left, member in zip((2, 1, 0), parked, strict=True):
        let_go_on(setting.place.url, member, None)
        outcome = setting.live()
        assert outcome is not None
        assert len(outcome.parked) == left
    assert setting.end() == embedded


def test_a_member_of_a_parked_set_may_be_left_out(setting: Setting, parked: list[str]) -> None:
    let_go_on(setting.place.url, None, parked[1])
    for member in (parked[0], parked[2]):
        let_go_on(setting.place.url, member, None)
    assert setting.live() == Outcome()
    setting.end()
    answered = [key for _, key, _, _ in setting.log.messages("answers")]
    assert len(answered) == MEMBERS - 1
    assert parked[1] not in answered
