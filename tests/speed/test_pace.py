"""The bounds that tests set to what a call takes: they hold on a slow machine, and notice a slow call."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.pace import HOPELESS, LAP_S, ROUNDS, lap, timed, within


def after(*laps: int) -> tuple[Callable[[], int], list[int]]:
    """A call that takes so many laps at its first call, its second, and so on; and how often it was made."""
    calls = list[int]()

    def call() -> int:
        calls.append(len(calls))
        for _ in range(laps[min(len(calls), len(laps)) - 1]):
            lap()
        return len(calls)

    return call, calls


def test_what_takes_less_is_called_once_and_says_what_it_says() -> None:
    call, calls = after(3)
    assert within(9 * LAP_S, call) == 1
    assert calls == [0]


def test_a_round_that_was_spoiled_is_made_again() -> None:
    call, calls = after(12, 1)
    assert within(4 * LAP_S, call) == 2
    assert calls == [0, 1]


def test_what_is_too_slow_in_every_round_is_noticed() -> None:
    call, calls = after(12)
    with pytest.raises(AssertionError, match="s of a desk"):
        within(4 * LAP_S, call)
    assert len(calls) == ROUNDS


def test_what_is_far_too_slow_is_not_tried_again() -> None:
    call, calls = after(4 * HOPELESS, 0)
    with pytest.raises(AssertionError, match="s of a desk"):
        within(LAP_S, call)
    assert calls == [0]


def test_a_slower_machine_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of the process that goes ten times as fast is a machine that takes ten times as long."""
    call, real = after(3)[0], time.process_time
    monkeypatch.setattr(time, "process_time", lambda: 10 * real())
    assert within(9 * LAP_S, call) == 1


def test_waiting_is_no_work() -> None:
    _, taken = timed(lambda: time.sleep(10 * LAP_S))
    assert taken < LAP_S


def test_what_a_call_raises_is_its_own_matter() -> None:
    with suppress(ZeroDivisionError):
        within(1, lambda: 1 / 0)
        raise AssertionError("it was swallowed")
