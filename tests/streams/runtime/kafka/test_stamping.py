"""Closings on Kafka are stamped too: by who stated all of an episode, and by who took it over."""

from __future__ import annotations

import pytest

from schemas.events.episode import EpisodeClosed
from streams.engine.progress import Outcome
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from tests.contracts.runtimes import Life, on_kafka_in_memory
from tests.pupil import PUPIL, problems, publication


def unstamped(log: SqliteLog) -> list[str]:
    found = log.records(kinds=["episode.closed"])
    return [
        record.episode
        for record in found
        if isinstance(record.event, EpisodeClosed) and record.event.stamps is None
    ]


@pytest.mark.parametrize("dies_after", [None, 7, 20, 45])
def test_closings_are_stamped_and_found_changed(dies_after: int | None) -> None:
    with on_kafka_in_memory() as runtime:
        runtime.log().publish(*publication(problems()))
        if dies_after is not None:
            assert runtime.live(Life(slots=2, dies_after=dies_after)) is None
        assert runtime.live(Life(asks_twice=True)) == Outcome()
        log = runtime.log()
        assert Verifier(log, lambda name: PUPIL).run().diverged == []
        assert [name for name in unstamped(log) if name.startswith("p/")] == []
        log.db.execute("update records set at_ms = at_ms + 1")
        log.db.execute("update counters set value = ? where name = 'timed'", (log.end(),))
        assert Verifier(log, lambda name: PUPIL).run().diverged == []
        log.db.execute("update records set at_ms = at_ms - 1")
        log.db.execute("update counters set value = 0 where name = 'timed'")
        change = "update records set body = json_set(body, '$.model', 'another') where kind = 'completed'"
        log.db.execute(change)
        found = Verifier(log, lambda name: PUPIL).run().diverged
        assert {each.part for each in found} == {"stamps"}
