"""A scope that was learned in stops, for its record contradicts itself: those of others go on."""

from __future__ import annotations

import asyncio

from streams.engine.learner import Learner
from streams.engine.pending import PendingEpisode
from streams.engine.schedule import Schedule
from tests.laws.series import opened
from tests.pupil import PUPIL


def place(at: int) -> PendingEpisode:
    return PendingEpisode("s", "q", at, 0, set_size=2)


def test_nobody_begins_in_it_and_every_other_scope_has_its_turns() -> None:
    told = list[tuple[str, str]]()
    learner = Learner(lambda name: PUPIL, told=lambda scope, why: told.append((scope, why)))
    for name in "st":
        learner.scope(name, "pupil", "service", {})
    learner.scopes["s"].window.feed("n/s/q", opened("q", 4, 2))

    async def work() -> None:
        schedule = Schedule(learner, 4, print)
        schedule.enqueue("p/d/0/r", place(0))
        schedule.enqueue("p/d/alone/r", PendingEpisode("s", None, None, 0))
        schedule.enqueue("p/d/begun/r", PendingEpisode("s", None, None, 0, begun=True))
        for _ in range(2):
            learner.lose("s", "version 1 does not add up")
        schedule.enqueue("p/d/1/r", place(1))
        schedule.enqueue("p/d/other/r", PendingEpisode("t", None, None, 0))
        schedule.release("t")
        turns = list(iter(schedule.next, None))
        assert [episode for episode, _ in turns] == ["p/d/begun/r", "p/d/other/r"]
        assert {episode for episode, _ in schedule.waiting()} == {
            *("p/d/0/r", "p/d/1/r", "p/d/alone/r")
        }

    asyncio.run(work())
    assert told == [("s", "version 1 does not add up")], "once"
    assert learner.memory("s") is learner.lost["s"].memory
