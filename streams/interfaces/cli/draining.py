"""Ending when told: the first signal drains, the second stops at once; what was answered is recorded."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from streams.interfaces.cli.errors import INTERRUPTED, OK, SPENT, CliError
from streams.interfaces.cli.output import say

if TYPE_CHECKING:
    from streams.answering.world import World

R = TypeVar("R")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The last one comes when a terminal is closed: calls in flight are paid for then as ever."""


def code_of(received: signal.Signals) -> int:
    """What a command that was told to end ends with."""
    # A service that is told to end by SIGTERM has done right to end; Ctrl-C broke something off.
    return INTERRUPTED if received == signal.SIGINT else OK


def stopped(received: signal.Signals | None) -> CliError:
    """What work with an end ends with that was told to stop before it."""
    # The first signal says what was wanted; a second one only hurries.
    return CliError(
        "stopped before its end",
        error="drained",
        exit=INTERRUPTED if received is None else code_of(received),
        hint="What was answered is recorded: the same command goes on from there.",
    )


def total_spent(which: str) -> CliError:
    """What a command that may spend no more ends with."""
    total = f"--total-{'time' if which == 'seconds' else which}"
    return CliError(
        f"{which} spent",
        error="budget.spent",
        exit=SPENT,
        hint=f"Give the same command again with a higher {total}: what is open goes on.",
    )


def over_budget(why: Exception) -> CliError:
    """What a command ends with whose tenant has spent its budget of the day."""
    return CliError(
        str(why),
        error="budget.spent",
        exit=SPENT,
        hint="What was answered is recorded: it goes on tomorrow, or with a higher budget.",
    )


def drain_when_told(
    world: World, drain: Callable[[signal.Signals], None]
) -> Sequence[signal.Signals]:
    """In the running loop: ask nothing new after the first signal, and end with the second.

    What is returned holds the first signal from when it came.
    """
    first: list[signal.Signals] = []

    def told(received: signal.Signals) -> None:
        # Of a terminal that is closed both the shell and the system tell, one right behind the other: nobody hurries.
        if world.draining and received == signal.SIGHUP:
            return
        # The second signal. Nothing is tidied up: whoever gives it has waited long enough, and
        # the log needs no tidying.
        if world.draining:
            os._exit(code_of(received))
        first.append(received)
        drain(received)
        # Last: whoever read what we say may be gone, and that must not keep us from ending.
        with suppress(OSError):
            say("draining: calls in flight are recorded, then it stops; again to stop at once")

    for each in SIGNALS:
        # What `nohup` has taken away stays away; a shell takes Ctrl-C alone from what it starts in the background.
        if each == signal.SIGHUP and signal.getsignal(each) == signal.SIG_IGN:
            continue
        # In the loop, so that no call is torn apart half-way: the first signal only keeps new
        # ones from beginning.
        asyncio.get_running_loop().add_signal_handler(each, told, each)
    return first


def finished(world: World, work: Awaitable[R]) -> R:
    """What some work comes to. Raises a ``CliError`` where it was told to end before that, or a total is spent."""
    from streams.answering.calls import Draining

    received: list[signal.Signals] = []

    def drain(told: signal.Signals) -> None:
        received.append(told)
        world.draining = True

    async def until_told() -> R:
        drain_when_told(world, drain)
        return await world.during(work)

    try:
        return asyncio.run(until_told())
    except Draining as error:
        # A total ends work by the same way as a signal, and is told as what it is.
        if world.exhausted is not None:
            raise total_spent(world.exhausted) from error
        raise stopped(received[0] if received else None) from error
