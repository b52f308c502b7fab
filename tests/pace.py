"""How long a call takes, told in what this process does beside it: a second is another on every machine.

A *lap* is a fixed piece of Python's own work. What a call takes is measured in laps that are run around it, so a
machine that is slower, or shared, slows both. A bound is written in the seconds of a desk, where a lap takes ``LAP_S``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from state.collecting import uncollected

T = TypeVar("T")
LAP_S = 0.01
"""What a lap takes a quiet desk."""
STEPS = 360_000
ROUNDS = 4
"""A round may be spoiled by whoever else is at work, seldom two, and never all."""
HOPELESS = 4
"""What takes so many times its bound is no neighbour's doing, and is not tried again: it may be remembered then."""


def lap(clock: Callable[[], float] | None = None) -> float:
    """What a lap takes by a clock: this process's own time, unless another is given."""
    tells = clock or time.process_time
    with uncollected():
        began, total = tells(), 0
        for step in range(STEPS):
            total += step
        return tells() - began


def soon(desk_s: float) -> float:
    """Seconds of the clock in which this machine, shared as it is now, does what takes a desk so many.

    For what has to end by itself, where one that is wrong would wait for something: never shorter than a desk's.
    """
    return desk_s * max(1.0, max(lap(time.monotonic) for _ in range(5)) / LAP_S)


def within(desk_s: float, call: Callable[[], T], rounds: int = ROUNDS) -> T:
    """What a call returns; in the best of some rounds it took less than so many seconds of a desk.

    The first round that holds ends the matter, so only what takes too long is called more than once.
    """
    least = float("inf")
    for _ in range(rounds):
        found, taken = timed(call)
        least = min(least, taken)
        if least < desk_s:
            return found
        if taken > HOPELESS * desk_s:
            break
    raise AssertionError(f"{least:.3g} s of a desk, in the best of {rounds} rounds at most")


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """What a call returns, and the seconds that a desk would have taken for it."""
    before = lap()
    with uncollected():
        began = time.process_time()
        found = call()
        taken = time.process_time() - began
    return found, taken * LAP_S / ((before + lap()) / 2)
