"""Whose an open episode is: a worker's, or of who solves it beside; neither's while it waits for a person."""

from __future__ import annotations

from contextlib import closing

import pytest

from schemas.events.base import Event
from schemas.events.episode import (
    EpisodeAdopted,
    EpisodeClosed,
    EpisodeParked,
    ProblemAdmitted,
)
from schemas.problem import Problem
from schemas.usage import NOTHING
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries.episodes import is_open_on

EPISODE = "p/d/a/0"
PARKED = ("parked.0", EpisodeParked(reason="x"))
ADOPTED = ("adopted.0", EpisodeAdopted())
VOID = ("adopted.1", EpisodeAdopted(void=True))
CLOSED = ("closed", EpisodeClosed(status="answered", ended_by="answer", usage=NOTHING))


@pytest.mark.parametrize("partition", [0, 1, 3])
@pytest.mark.parametrize(
    ("then", "is_open"),
    [
        ([], True),
        ([PARKED], False),
        ([PARKED, ADOPTED], True),
        ([VOID], False),
        ([CLOSED], False),
        ([PARKED, ADOPTED, CLOSED], False),
    ],
)
def test_an_open_episode_is_of_whoever_admitted_it(
    partition: int, then: list[tuple[str, Event]], is_open: bool
) -> None:
    with closing(SqliteLog(":memory:", create=True)) as log:
        assert not is_open_on(log, EPISODE, aside=False)
        writer = log.claim("w", partition)
        problem = Problem(id="a", problem="1 + 1?", domain="d", policy="cot")
        first = ProblemAdmitted(problem=problem, scope="d/cot/main/0", offset=0)
        for address, event in [("admitted", first), *then]:
            writer.state("events", EPISODE, address, event)
        writer.flush()
        assert is_open_on(log, EPISODE, aside=partition != 0) == is_open
        assert not is_open_on(log, EPISODE, aside=partition == 0)
