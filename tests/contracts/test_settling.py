"""What has come and waits keeps its place, and whatever waits lets the worker see that nothing else moves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.base import Policy
from schemas.budget import Budget
from schemas.events.episode import PartitionClaimed
from schemas.events.learning import BatchClosed, PositionVoided
from schemas.price import Price
from schemas.problem import Limits, Problem
from state.folds.budgets import DAY_MS
from streams.answering.budgets import Budgets
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.grants import Lacking
from streams.engine.judgements import Judgements
from streams.engine.learner import Learner
from streams.engine.policies import find as ours
from streams.engine.progress import Outcome
from streams.engine.schedule import PendingEpisode, Schedule
from streams.engine.settling import owing
from streams.interfaces.cli.cancelling import cancel
from streams.runtime.embedded.log import SqliteLog, now_ms
from streams.runtime.embedded.worker import Worker
from streams.runtime.kafka import outgoing
from streams.runtime.kafka.envelope import headers_of
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.learning import KafkaLearner
from streams.runtime.kafka.worker import KafkaWorker
from tests.contracts.runtimes import Life, Runtime, in_a_file, in_one_process, on_kafka_in_memory
from tests.crash.series import Counted
from tests.crash.test_sets import POLICY, SET, VALUES
from tests.memory_kafka.fixture import in_memory
from tests.pace import soon
from tests.pupil import PUPIL, Numbers, find, problems, publication
from tests.streams.runtime.test_schedule import ANNOUNCED, learner, opened


@pytest.fixture(params=[in_one_process, in_a_file, on_kafka_in_memory])
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


def learned(log: SqliteLog) -> list[tuple[str, ...] | str]:
    """What each batch was learned from, and the reason of each place that nobody fills."""
    found: list[tuple[str, ...] | str] = []
    for record in log.records("learning"):
        if isinstance(record.event, BatchClosed):
            found.append(tuple(each.split("/")[2] for each in record.event.members))
        elif isinstance(record.event, PositionVoided):
            found.append(record.event.reason)
    return found


def test_a_place_whose_problem_waits_for_another_day_is_not_voided(runtime: Runtime) -> None:
    given = [each.model_copy(update={"tenant": "t"}) for each in problems()]
    runtime.log().publish(*publication(given))
    first = runtime.live(Life(settle=True, budgets={"t": Budget(calls=2)}))
    assert first is not None
    assert first.unpaid
    assert learned(runtime.log()) == []
    later = runtime.live(Life(settle=True, budgets={"t": Budget(calls=200)}, days_later=1))
    assert later == Outcome()
    assert learned(runtime.log()) == [("0", "1", "2"), ("3", "4", "5"), ("6", "7")]


def test_a_place_whose_problem_waits_for_a_person_is_not_voided(tmp_path: Path) -> None:
    from streams.producing.produce import Plan, Producer
    from streams.producing.sources import SourceLine

    with in_memory(2) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        plan = Plan(source="f", find=ours, policy="reviewed", domain="d")
        lines = [
            SourceLine(n + 1, b'{"id":"q%d","problem":"What is %d + 1?"}' % (n, n))
            for n in range(2)
        ]
        assert Producer(log, plan).run(lines).produced == 2
        done = asyncio.run(KafkaWorker(place, 2, Counted(), ours).run(until_idle=True, settle=True))
        log.refresh()
        assert done.asked
        assert learned(log) == []


class Later(Counted):
    """A world whose tenant may make so many calls a day, by a clock that can be moved."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.days = 0
        self.budgets = Budgets({"t": Budget(calls=calls)}, lambda: now_ms() + self.days * DAY_MS)


def set_on(log: SqliteLog, count: int = SET, **more: Any) -> None:
    """A series of sets, on any log."""
    from streams.producing.produce import Plan, Producer
    from streams.producing.sources import lines_of

    source = f"game24:901-{900 + count}"
    plan = Plan(source=source, find=ours, policy=POLICY, values=dict(VALUES), **more)
    assert Producer(log, plan).run(lines_of(source, None)).produced == count


def test_a_set_that_waits_for_another_day_lets_the_worker_end(tmp_path: Path) -> None:
    with in_memory(2) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        set_on(log, 2 * SET, tenant="t")
        work = KafkaWorker(place, 2, Later(1), ours).run(until_idle=True)
        done = asyncio.run(asyncio.wait_for(work, soon(30.0)))
        assert len(done.unpaid) >= SET, "each of its members is told of"
        assert set(done.unpaid) <= set(done.held)


def test_a_set_that_waits_for_a_price_lets_the_worker_end(tmp_path: Path) -> None:
    with in_memory(2) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        set_on(log, limits=Limits(calls=24, cost=1.0))
        work = KafkaWorker(place, 2, Counted(), ours).run(until_idle=True)
        with pytest.raises(Lacking):
            asyncio.run(asyncio.wait_for(work, soon(30.0)))
        priced = Counted()
        price = {"*": Price(prompt=0, completion=0)}
        priced.grant = replace(priced.grant, prices=price, unpriced=())
        asyncio.run(KafkaWorker(place, 2, priced, ours).run(until_idle=True))
        log.refresh()
        assert len(list(log.messages("answers"))) == SET


def test_what_moved_away_and_came_back_waits_once() -> None:
    given = Schedule(learner(opened(ANNOUNCED)), 1, lambda error: pytest.fail(repr(error)))
    seat = PendingEpisode(ANNOUNCED, "s", 2)
    for _ in range(2):
        given.enqueue("e2", seat)
        assert [each for each, _ in given.waiting()] == ["e2"]
        given.cancel(0)
        assert list(given.waiting()) == []


def in_sets(*positions: int) -> Schedule:
    """A schedule of a series of six in windows of three, where these have come, in this order, to sets of three."""
    known = learner(opened(ANNOUNCED, size=6, window=3))
    given = Schedule(known, 4, lambda error: pytest.fail(repr(error)))
    for position in positions:
        given.enqueue(f"e{position}", PendingEpisode(ANNOUNCED, "s", position, set_size=3))
    return given


@pytest.mark.parametrize("gone", [3, 4, 5])
def test_a_set_waits_for_its_version_whoever_of_it_was_cancelled(gone: int) -> None:
    """Its seat was that of whoever came first: his place is void then, and a void place waits for nothing."""
    given = in_sets(3, 4, 5)
    said = PositionVoided(scope=ANNOUNCED, series="s", position=gone, reason="cancelled")
    given.learner.feed(f"n/{ANNOUNCED}/s", f"void.{gone}", said)
    given.release(ANNOUNCED)
    given.take_out(f"e{gone}")
    assert given.next() is None
    assert sorted(each for each, _ in given.waiting()) == sorted(
        f"e{position}" for position in {3, 4, 5} - {gone}
    )


def test_a_set_that_nobody_is_left_in_waits_for_nothing() -> None:
    given = in_sets(0, 1, 2)
    found = given.next()
    assert found is not None
    given.wait(found[0], None, Lacking("price", "x", "y"), Judgements())
    assert sorted(each for each, _ in given.waiting()) == ["e0", "e1", "e2"]
    given.take_out("e0")
    assert given.seats[found[0]].position == 1, "of those that are in it now"
    given.take_out("e1")
    given.take_out("e2")
    assert list(given.waiting()) == []
    assert given.came(0) == set()
    assert given.lacking == {}


def test_a_set_whose_scope_was_lost_counts_as_its_members() -> None:
    given = in_sets(0, 1, 2)
    given.learner.lose(ANNOUNCED, "its policy is not here")
    assert given.next() is None
    assert sorted(each for each, _ in given.waiting()) == ["e0", "e1", "e2"]


def test_what_came_to_an_open_batch_keeps_its_place_whatever_it_waits_for() -> None:
    """Such as for the memory of a scope that is lost: nothing is due, and nothing of it moves."""
    source, scope = "d/mc2/main/source", "d/mc2/main/cold"
    known = Learner(ours)
    known.scope(source, "mc2", "service", {})
    known.lose(source, "its policy is not here")
    known.scope(scope, "mc2", "service", {"warm_start": source})
    known.feed(f"n/{scope}/s", "series", opened(scope, size=6, window=2))
    given = Schedule(known, 4, lambda error: pytest.fail(repr(error)))
    for position in (0, 2, 3, 4, 5):
        given.enqueue(f"e{position}", PendingEpisode(scope, "s", position))
    assert given.next() is None
    assert given.came(0) == {(scope, "s", 0)}, "and of later batches nobody asks"
    taken = given.came(0)
    owed = owing(known.scopes[scope], lambda series, at: (scope, series, at) in taken)
    assert [address for _, address, _ in owed] == ["void.1"]


@pytest.mark.parametrize("on_kafka", [False, True])
def test_a_member_that_is_cancelled_before_its_set_begins_is_not_in_it(
    tmp_path: Path, on_kafka: bool
) -> None:
    world = Later(1)

    async def lived(worker: Any, other: Any) -> tuple[str, list[str]]:
        task = asyncio.create_task(worker.run())
        async with asyncio.timeout(soon(60.0)):
            # The first set takes the day's budget, and the second has not begun.
            while not (waits := [n for n in worker.schedule.unpaid if n.endswith("/2")]):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            (name,) = waits
            members = list(worker.schedule.sets.members(name))
            assert await asyncio.to_thread(cancel_on, other, members[1])
            while len(worker.schedule.sets.members(name)) == len(members):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            world.days += 1
            while name in worker.schedule.seats:
                worker.schedule.changed.set()
                await asyncio.sleep(0.02)
            worker.drain()
            await task
        return members[1], [each for each in members if each != members[1]]

    def cancel_on(other: Any, episode: str) -> bool:
        with closing(other()) as log:
            if on_kafka:
                log.refresh()
            return cancel(log, episode)

    if on_kafka:
        with in_memory(2) as (place, _), closing(KafkaLog(place, tmp_path / "a")) as log:
            set_on(log, 2 * SET, tenant="t")
            worker: Any = KafkaWorker(place, 2, world, ours)
            gone, rest = asyncio.run(lived(worker, lambda: KafkaLog(place, tmp_path / "b")))
            log.refresh()
            ended = {each: set(log.journal(each)) for each in (gone, *rest)}
    else:
        path = tmp_path / "a.db"
        with closing(SqliteLog(path, create=True)) as file:
            set_on(file, 2 * SET, tenant="t")
            worker = Worker(file, world, ours)
            gone, rest = asyncio.run(lived(worker, lambda: SqliteLog(path, writes=True)))
            ended = {each: set(file.journal(each)) for each in (gone, *rest)}
    assert not {"opened", "closed", "parked.0"} & ended[gone]
    assert all("closed" in ended[each] for each in rest)


def test_a_batch_that_is_too_large_holds_up_no_other_scope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of(members: int) -> Callable[[Any, int | None], int]:
        return lambda settings, size: members

    big = replace(PUPIL, name="big", window=of(60))
    small = replace(PUPIL, name="small", window=of(3))

    def by(name: str) -> Policy[Any]:
        return {"big": big, "small": small}[name]

    with in_memory(1) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        for policy, count in (("big", 60), ("small", 4)):
            for number in range(count):
                problem = Problem(id=f"{number}{'x' * 40}", problem="1", domain="d", policy=policy)
                said = problem.model_dump_json().encode()
                log.publish([("problems", f"{policy}{number}", {}, said)])
        world = World({"*": Numbers(iter(lambda: 0, 1))}, HashedEmbedder(16))
        worker = KafkaWorker(place, 1, world, by, default_policy="small")
        topic = place.topic("learning")

        def most(name: str) -> int:
            return 4_400 if name == topic else 1 << 20

        monkeypatch.setattr(worker.appender.sizes, "most", most)
        asyncio.run(asyncio.wait_for(worker.run(until_idle=True), soon(60.0)))
        assert worker.teacher.stalled == {
            scope for scope in worker.learner.scopes if "/big/" in scope
        }
        assert {n.split("/")[1]: s.window.versioned for n, s in worker.learner.scopes.items()} == {
            "big": 0,
            "small": 1,
        }


def test_a_cancel_that_was_cut_in_two_is_said_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = outgoing.publish

    async def cut(appender: Any, partitions: int, messages: Any, commands: Any, homes: Any) -> None:
        await whole(appender, partitions, messages, list(commands)[:1], homes)
        raise OSError("killed between the two")

    def lived(*, settle: bool = False) -> Outcome:
        world = World({"*": Numbers(iter(lambda: 0, 1))}, HashedEmbedder(16))
        worker = KafkaWorker(place, 2, world, find, default_policy="pupil")
        return asyncio.run(worker.run(until_idle=True, settle=settle))

    with in_memory(2) as (place, _), closing(KafkaLog(place, tmp_path)) as log:
        log.publish(*publication([each for each in problems() if each.position != 1]))
        lived()
        log.refresh()
        admitted: dict[int | None, str] = {
            getattr(r.event, "problem").position: r.episode  # noqa: B009
            for r in log.records(kinds=["problem.admitted"])
        }
        with monkeypatch.context() as patch:
            patch.setattr(outgoing, "publish", cut)
            with pytest.raises(OSError, match="killed"):
                cancel(log, admitted[4])
        log.refresh()
        assert learned(log)[-1:] != ["cancelled"]
        for _ in range(2):
            assert not cancel(log, admitted[4]), "it is taken out already"
            log.refresh()
            assert [each for each in learned(log) if isinstance(each, str)] == ["cancelled"]
        log.publish(publication([each for each in problems() if each.position == 1])[0])
        assert lived() == Outcome()


def test_a_claim_that_is_lost_while_settling_does_not_end_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, claimed = KafkaLearner.settle, list[int]()

    with in_memory(2) as (place, broker), closing(KafkaLog(place, tmp_path)) as log:

        async def settle(self: KafkaLearner, scope: Any, statements: Any) -> None:
            if not claimed:
                partition = self.partition(scope.id)
                claimed.append(partition)
                heads = headers_of("partition.claimed", f"w/{partition}", "claimed.other.1", 1)
                said = PartitionClaimed(worker="other").to_json()
                broker.append(place.topic("learning"), partition, [(b"w", said, heads, 1)])
            await whole(self, scope, statements)

        monkeypatch.setattr(KafkaLearner, "settle", settle)
        log.publish(*publication([each for each in problems() if each.position != 1]))
        world = World({"*": Numbers(iter(lambda: 0, 1))}, HashedEmbedder(16))
        worker = KafkaWorker(place, 2, world, find, default_policy="pupil")

        async def lived() -> Outcome:
            async def beat() -> None:
                while True:
                    worker.lease.renew(time.monotonic())
                    await asyncio.sleep(0.05)

            beating = asyncio.create_task(beat())
            try:
                return await asyncio.wait_for(worker.run(until_idle=True, settle=True), soon(60.0))
            finally:
                beating.cancel()

        assert asyncio.run(lived()) == Outcome()
        assert claimed
        log.refresh()
        assert len(list(log.messages("answers"))) == len(problems()) - 1
