"""The bounds that tests set to what a call takes: they hold on a slow machine, and notice a slow call."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import pytest

from tests import pace
from tests.pace import HOPELESS, LAP_S, ROUNDS, lap, timed, within


class Machine:
    """A process on a machine that nobody else uses, where a lap takes so many times a desk's."""

    def __init__(self, slower: float) -> None:
        self.slower, self.spent_s = slower, 0.0
        self.calls = list[int]()

    def lap(self) -> float:
        self.spent_s += self.slower * LAP_S
        return self.slower * LAP_S

    def after(self, *laps: int) -> Callable[[], int]:
        """A call that takes so many laps at its first call, its second, and so on."""

        def call() -> int:
            self.calls.append(len(self.calls))
            for _ in range(laps[min(len(self.calls), len(laps)) - 1]):
                self.lap()
            return len(self.calls)

        return call


@pytest.fixture(params=[0.5, 1.0, 10.0])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(cast("float", request.param))
    monkeypatch.setattr(time, "process_time", lambda: made.spent_s)
    monkeypatch.setattr(pace, "lap", made.lap)
    return made


def test_what_takes_less_is_called_once_and_says_what_it_says(machine: Machine) -> None:
    assert within(3.1 * LAP_S, machine.after(3)) == 1
    assert machine.calls == [0]


def test_a_round_that_was_spoiled_is_made_again(machine: Machine) -> None:
    assert within(4 * LAP_S, machine.after(12, 1)) == 2
    assert machine.calls == [0, 1]


def test_what_is_too_slow_in_every_round_is_noticed(machine: Machine) -> None:
    with pytest.raises(AssertionError, match="s of a desk"):
        within(4 * LAP_S, machine.after(5))
    assert len(machine.calls) == ROUNDS


def test_what_is_far_too_slow_is_not_tried_again(machine: Machine) -> None:
    with pytest.raises(AssertionError, match="s of a desk"):
        within(LAP_S, machine.after(HOPELESS + 1, 0))
    assert machine.calls == [0]


def test_a_real_lap_takes_about_what_a_desk_takes_in_what_is_told() -> None:
    """On this machine, as it is: whoever else uses it may spoil a round, and not all of them."""
    assert within(9 * LAP_S, lambda: [lap() for _ in range(3)])


def test_waiting_is_no_work() -> None:
    _, taken = timed(lambda: time.sleep(10 * LAP_S))
    assert taken < LAP_S


def test_what_a_call_raises_is_its_own_matter() -> None:
    with suppress(ZeroDivisionError):
        within(1, lambda: 1 / 0)
        raise AssertionError("it was swallowed")
