from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.answering.backbones.breaker import Breaker


def tripped(trips: int = 3) -> Breaker:
    breaker = Breaker(trips, first_s=1.0, longest_s=4.0)
    for _ in range(trips):
        breaker.failed(breaker.began(), 0.0)
    return breaker


def test_failures_in_a_row_open_it_and_a_reply_between_them_does_not() -> None:
    breaker = Breaker(3)
    for _ in range(10):
        breaker.failed(breaker.began(), 0.0)
        breaker.failed(breaker.began(), 0.0)
        breaker.replied()
    assert breaker.allows(0.0)
    assert not tripped().allows(0.0)


def test_one_call_at_a_time_tries_and_each_failure_doubles_the_wait() -> None:
    breaker, now, waits = tripped(), 0.0, list[float]()
    for _ in range(4):
        assert breaker.until_s is not None
        waits.append(breaker.until_s - now)
        now = breaker.until_s
        assert breaker.allows(now)
        since = breaker.began()
        assert not breaker.allows(now), "a try is under way"
        breaker.failed(since, now)
    assert waits == [1.0, 2.0, 4.0, 4.0]


def test_a_reply_closes_it_and_the_next_outage_begins_anew() -> None:
    breaker = tripped()
    breaker.began()
    breaker.replied()
    assert breaker.allows(0.0)
    for _ in range(3):
        breaker.failed(breaker.began(), 9.0)
    assert breaker.until_s == 10.0


def test_calls_that_began_before_it_opened_open_it_once() -> None:
    breaker = Breaker(2, first_s=1.0)
    rounds = [breaker.began() for _ in range(50)]
    for since in rounds:
        breaker.failed(since, 0.0)
    assert breaker.until_s == 1.0


def test_a_try_that_was_cancelled_leaves_the_place_to_another() -> None:
    breaker = tripped()
    breaker.left(breaker.began())
    assert breaker.allows(1.0)


@given(st.lists(st.sampled_from(["reply", "fail", "leave"]), max_size=60))
def test_it_is_never_shut_for_ever(steps: list[str]) -> None:
    breaker, now = Breaker(2, first_s=1.0, longest_s=8.0), 0.0
    for step in steps:
        if not breaker.allows(now):
            now = max(now, breaker.until_s or now)
        assert breaker.allows(now)
        since = breaker.began()
        if step == "reply":
            breaker.replied()
        elif step == "fail":
            breaker.failed(since, now)
        else:
            breaker.left(since)
        assert breaker.until_s is None or breaker.until_s - now <= 8.0
