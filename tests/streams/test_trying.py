"""When a question that gets no answer is to blame rather than its endpoint."""

from __future__ import annotations

import pytest

from streams.answering.retries import Patience, RetryState
from streams.core.backbone import ModelReply, Silence, Tried, Unreachable

PATIENCE = Patience(attempts=10, seconds=60.0, alone_s=600.0)


def after(
    rounds: int, answered: list[int], silence: Silence = "error", attempts: int = 5
) -> RetryState:
    trying = RetryState(began_s=0.0, episode="p")
    for at in range(rounds):
        told = Tried(attempts=attempts, seconds=1.0, silence=silence, answered=answered[at])
        trying.failed(Unreachable("e", "HTTP 500", told))
    return trying


def test_others_were_answered_and_it_never_was() -> None:
    trying = after(3, [7, 9, 12])
    assert trying.is_stuck(61.0, PATIENCE)
    assert trying.told(61.0) == (
        "e: HTTP 500: 15 attempts in 61 s got no reply, while 5 other calls were answered"
    )


@pytest.mark.parametrize(
    ("rounds", "answered", "silence", "now"),
    [
        (3, [7, 7, 7], "error", 10_000.0),  # nobody is answered: an outage
        (1, [7], "error", 61.0),  # too few attempts
        (3, [7, 9, 12], "error", 59.0),  # too soon
        (3, [7, 9, 12], "busy", 10_000.0),  # it is only put off
    ],
)
def test_otherwise_the_endpoint_is_waited_for(
    rounds: int, answered: list[int], silence: Silence, now: float
) -> None:
    assert not after(rounds, answered, silence).is_stuck(now, PATIENCE)


@pytest.mark.parametrize(
    ("silence", "now", "stuck"), [("error", 601.0, True), ("error", 599.0, False)]
)
def test_alone_it_takes_longer(silence: Silence, now: float, stuck: bool) -> None:
    assert after(3, [0, 0, 0], silence).is_stuck_alone(now, PATIENCE) == stuck


def test_many_that_wait_for_one_endpoint_prove_it_together() -> None:
    """One call at a time tries it: none has many attempts of its own, and the last round may have none."""
    trying = after(1, [0], attempts=1)
    assert not trying.is_stuck_alone(601.0, PATIENCE)
    trying.failed(Unreachable("e", "left alone", Tried(silence="lost", failures=10)))
    assert trying.is_stuck_alone(601.0, PATIENCE)


@pytest.mark.parametrize("silence", ["lost", "busy"])
def test_an_endpoint_that_says_nothing_is_waited_for_without_end(silence: Silence) -> None:
    assert not after(3, [0, 0, 0], silence).is_stuck_alone(1e9, PATIENCE)


def test_the_reply_that_comes_at_last_counts_what_came_before() -> None:
    reply = ModelReply(text="x", finish="stop", model="m", attempts=2, seconds=3.0)
    found = after(2, [0, 0]).with_failed(reply)
    assert (found.attempts, found.seconds) == (12, 5.0)
