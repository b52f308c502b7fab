"""Whoever may have been expelled without noticing asks nothing that costs money."""

from __future__ import annotations

import asyncio
import time
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.kafka import driver, group
from streams.runtime.kafka.driver import listen
from streams.runtime.kafka.lease import Lease
from streams.runtime.kafka.place import KafkaAddress

TP: Any = import_module("faust.types").TP
GROUP: Any = import_module("aiokafka.protocol.group")
SESSION_S = 6.0
GRANTED, REBALANCING, EXPELLED, OLD_GENERATION = 0, 27, 25, 22


class Clock:
    """A process that is frozen misses what goes by."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1_000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def asked(lease: Lease, clock: Clock, request: str, code: int, takes_s: float) -> None:
    """A coordinator is asked, and answers in so many seconds."""

    async def answer(_: Any) -> Any:
        clock.now_s += takes_s
        return SimpleNamespace(error_code=code)

    coordinator = SimpleNamespace(_send_req=answer)
    listen(coordinator, lease)
    sent: Any = SimpleNamespace(API_KEY=getattr(GROUP, request).API_KEY)
    assert asyncio.run(coordinator._send_req(sent)).error_code == code


@pytest.mark.parametrize(
    ("request_", "code", "renews"),
    [
        ("HeartbeatRequest", GRANTED, True),
        ("HeartbeatRequest", REBALANCING, True),
        ("HeartbeatRequest", EXPELLED, False),
        ("HeartbeatRequest", OLD_GENERATION, False),
        ("SyncGroupRequest", GRANTED, False),
        ("SyncGroupRequest", EXPELLED, False),
        ("JoinGroupRequest", GRANTED, False),
    ],
)
def test_what_is_granted_to_a_member_renews_it(
    clock: Clock, request_: str, code: int, renews: bool
) -> None:
    lease = Lease(SESSION_S)
    clock.now_s += SESSION_S
    asked(lease, clock, request_, code, 0.1)
    assert lease.fresh is renews


def test_what_was_dealt_counts_from_when_it_was_asked_for(clock: Clock) -> None:
    """Not before it is acted on: whoever waits for news of the group would take what has just moved for its own."""
    lease = Lease(SESSION_S)
    asked(lease, clock, "SyncGroupRequest", EXPELLED, 0.1)
    assert lease.dealt is None, "nothing was"
    clock.now_s += SESSION_S
    before = clock.now_s
    asked(lease, clock, "SyncGroupRequest", GRANTED, 2.0)
    assert lease.dealt == pytest.approx(before)
    assert not lease.fresh


def test_what_was_dealt_renews_it_once_the_partitions_are_ours() -> None:
    asyncio.run(_dealt())


async def _dealt() -> None:
    place, lease, fresh = KafkaAddress.of("kafka://127.0.0.1:1"), Lease(SESSION_S), list[bool]()

    class Whoever:
        def offered(self, event: Any) -> None:
            raise AssertionError(event)

        async def assigned(self, partitions: set[int]) -> None:
            assert partitions == {3}
            fresh.append(lease.fresh)

    lease.renewed -= SESSION_S
    app = group.make(place, Whoever(), lease)
    for dealt_ago_s in (None, SESSION_S, 0.1):
        if dealt_ago_s is not None:
            lease.dealt = time.monotonic() - dealt_ago_s
        await app.on_partitions_assigned.send({TP(place.topic("problems"), 3)})
        fresh.append(lease.fresh)
    assert fresh == [False] * 5 + [True]


def test_who_listened_to_an_app_is_not_told_of_another_that_takes_its_place_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Faust tells listeners apart by the app's `id`, which is free again when an app is gone."""

    def same(_: Any) -> int:
        return 1

    monkeypatch.setattr(driver.App, "__hash__", same)
    place, told = KafkaAddress.of("kafka://127.0.0.1:1"), list[tuple[str, set[int]]]()

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def offered(self, event: Any) -> None:
            raise AssertionError(event)

        async def assigned(self, partitions: set[int]) -> None:
            told.append((self.name, partitions))

    group.make(place, Named("gone"), Lease(SESSION_S))
    app = group.make(place, Named("ours"), Lease(SESSION_S))
    asyncio.run(app.on_partitions_assigned.send({TP(place.topic("problems"), 3)}))
    assert told == [("ours", {3})]


@pytest.mark.parametrize(("frozen_s", "fresh"), [(2.9, True), (3.1, False), (600.0, False)])
def test_an_answer_that_came_while_it_was_frozen_says_nothing_of_the_time_since(
    clock: Clock, frozen_s: float, fresh: bool
) -> None:
    """It lies in the socket, and is the first thing that a worker reads when it wakes up: expelled meanwhile, maybe."""
    lease = Lease(SESSION_S)
    clock.now_s += SESSION_S
    asked(lease, clock, "HeartbeatRequest", GRANTED, frozen_s)
    assert lease.fresh is fresh


@given(st.lists(st.floats(0, 100), min_size=1))
def test_answers_that_come_in_any_order_renew_it_from_the_latest_that_was_sent(
    sent: list[float],
) -> None:
    lease = Lease(SESSION_S)
    began = lease.renewed
    for each in sent:
        lease.renew(began + each)
    assert lease.renewed == began + max(sent)
