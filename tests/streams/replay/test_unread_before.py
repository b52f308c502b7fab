"""What lands before a closing whose closer has not read it yet leaves a log that verifies, if several write it."""

from __future__ import annotations

import pytest
from msgspec import structs

from schemas.events.base import Event
from schemas.events.learning import BatchClosed, EmbedderChanged, ProblemForgotten
from schemas.identity import episode_id
from schemas.problem import Limits
from streams.replay.batches_due import due_of
from tests.laws.series import reflected
from tests.streams.test_resuming import Drawn

BATCHES = 2


def lived(left: int = 0) -> Drawn:
    """Two batches were learned from, and so many problems wait for the next."""
    life, number = Drawn(0), 0

    def ends() -> None:
        nonlocal number
        number += 1
        name = f"x{number}"
        event = structs.replace(reflected(None, None, False), policy="pupil@1", problem_id=name)
        life.say(episode_id("d", name, "r"), "reflected", event)

    while True:
        ends()
        scope = life.learner.scopes["s"]
        while scope.unfinished is not None or scope.window.due() is not None:
            life.learns()
        if scope.memory.latest.number == BATCHES:
            break
    for _ in range(left):
        ends()
    return life


def closed_by_its_owner(life: Drawn) -> BatchClosed:
    scope = life.learner.scopes["s"]
    due = scope.window.due()
    assert due is not None
    return life.learner.batch_closed(scope, due, Limits())


def say(life: Drawn, event: Event) -> None:
    sort = "forgotten" if isinstance(event, ProblemForgotten) else "embedder"
    life.say("n/s/-", f"{sort}.{len(life.said)}", event)


def forgotten(name: str, calls: int | None = None) -> Event:
    return ProblemForgotten(scope="s", domain="d", problem_id=name, limits=Limits(calls=calls))


def embedder(name: str) -> Event:
    return EmbedderChanged(scope="s", embedder=name)


@pytest.mark.parametrize(
    ("left", "known", "unread"),
    [
        (0, [forgotten("x1", 5)], forgotten("x4", 9)),
        (0, [forgotten("x1", 5)], forgotten("nobody")),
        (0, [forgotten("x1", 5)], forgotten("x2", 9)),
        (0, [forgotten("x4")], forgotten("x1")),
        (0, [embedder("b")], forgotten("x1")),
        (0, [embedder("b")], embedder("c")),
        (3, [], embedder("b")),
        (3, [], forgotten("x1")),
    ],
)
def test_a_closing_is_what_its_owner_closed(left: int, known: list[Event], unread: Event) -> None:
    life = lived(left)
    for event in known:
        say(life, event)
    closed = closed_by_its_owner(life)
    say(life, unread)
    scope = life.learner.scopes["s"]
    due = due_of(scope, closed, several=True)
    assert due is not None
    assert life.learner.batch_closed(scope, due, closed.limits) == closed
