"""A stream whose memory was to begin with another's begins empty, and a worker says so."""

from __future__ import annotations

import asyncio
import logging

import pytest
from msgspec import structs

from handlers.policies.registry import find
from streams.engine.learner import Learner
from streams.engine.pending import PendingEpisode
from streams.engine.schedule import Schedule
from tests.laws.series import opened

HERE = "d/mc2/main/0"


@pytest.mark.parametrize(
    ("series", "barrier", "warm", "told"),
    [
        (None, False, True, 1),
        ("q", False, True, 1),
        ("q", True, True, 0),
        (None, False, False, 0),
    ],
)
def test_it_is_told_once_and_only_where_nothing_is_taken_over(
    series: str | None,
    barrier: bool,
    warm: bool,
    told: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    learner = Learner(find)
    scope = learner.scope(HERE, "mc2", "service", {"warm_start": "d/mc2/other/0"} if warm else {})
    if series is not None:
        begun = structs.replace(opened("q", 4, 2), timing="barrier" if barrier else "streaming")
        scope.window.feed(f"n/{HERE}/q", begun)

    async def work() -> None:
        schedule = Schedule(learner, 4, print)
        for at in range(2):
            place = None if series is None else at
            schedule.enqueue(f"p/d/{at}/r", PendingEpisode(HERE, series, place, 0))

    with caplog.at_level(logging.WARNING):
        asyncio.run(work())
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == told
    assert all(each.startswith(f"{HERE} begins empty: settings.warm_start") for each in said)
