"""The wall clock may go back or forward by hours at any moment: nothing but the times on record hangs on it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.events.base import Event
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened, PartitionClaimed
from schemas.events.learning import Reflected
from schemas.problem import Limits
from schemas.record import Record
from schemas.usage import NOTHING
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.interfaces.dashboard.words import ago, lasted
from streams.replay.verify import Verifier
from streams.runtime.embedded import log as log_module
from streams.runtime.embedded import writer as writer_module
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.view import View
from streams.telemetry.spans import spans
from streams.telemetry.worker import under_way
from tests.crash.series import End, end_of, produced, quick, worked
from tests.memory_kafka.broker import Entry

HOUR_MS = 3_600_000
JUMPS = st.lists(st.integers(-48, 48), min_size=1, max_size=12)
"""By how many hours the clock is off, look after look; then from the first again."""


class Clock:
    """A wall clock that somebody sets while the work goes on."""

    def __init__(self, hours: list[int]) -> None:
        self.hours, self.looks = hours, 0

    def now_ms(self) -> int:
        self.looks += 1
        return 1_795_000_000_000 + self.looks + HOUR_MS * self.hours[self.looks % len(self.hours)]


def ended(hours: list[int], policy: str) -> End:
    """What a log comes to under such a clock; it is verified."""
    clock = Clock(hours)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        for module in (log_module, writer_module):
            patched.setattr(module, "now_ms", clock.now_ms)
        path = Path(folder, "a.db")
        produced(path, "game24:901-902", policy=policy, values={})
        with closing(quick(SqliteLog(path))) as log:
            outcome, _ = worked(log, concurrency=1)
            assert (outcome.held, outcome.parked) == ([], [])
            assert Verifier(log, find).run().diverged == []
            assert clock.looks > len(log.journal("w/0"))
            return end_of(log)


@given(JUMPS)
@example([0, 0, 24])
@settings(max_examples=10)
def test_what_a_log_comes_to_hangs_on_no_clock_and_it_is_never_called_changed(
    hours: list[int],
) -> None:
    assert ended(hours, "graph_memory") == ended([0], "graph_memory")


def record(address: str, at_ms: int, event: Event) -> Record:
    return Record(1, "events", 0, 1, "p/d/1/0", address, at_ms, event)


@given(st.integers(-48, 48), st.integers(-48, 48))
def test_no_span_ends_before_it_began(opened_h: int, closed_h: int) -> None:
    opened = EpisodeOpened(
        policy="cot",
        policy_version="1",
        settings="0",
        limits=Limits(),
        seed=0,
        memory_version=0,
        backbones="rehearsal",
    )
    reply = Completed(asked="Complete reasoner 0", text="", finish="stop", model="m", seconds=3.0)
    closed = EpisodeClosed(status="answered", ended_by="answer", usage=NOTHING)
    records = [
        record("opened", HOUR_MS * (48 + opened_h), opened),
        record("0", HOUR_MS * 48, reply),
        record("closed", HOUR_MS * (48 + closed_h), closed),
    ]
    found = [*spans("log", records, "rehearsal")]
    assert len(found) == 2
    assert all(span.start_ms <= span.end_ms for span in found)


def test_nothing_lasted_less_than_nothing() -> None:
    assert lasted(HOUR_MS, 0) == lasted(0, 0)
    assert ago(4_000_000_000_000) == "0 s ago"


def test_what_waits_to_be_appended_waits_by_a_clock_that_nobody_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(SqliteLog(":memory:", create=True)) as log:
        worker = Worker(log, World({}, HashedEmbedder(8)), find)
        monkeypatch.setattr(writer_module, "now_ms", lambda: 0)
        worker.writer.state("events", "p/d/1/0", "closed", PartitionClaimed(worker="w"))
        said = {sample.name: sample.value for sample in under_way(worker)}
        assert 0 <= said["metalogue_append_wait_seconds"] < 60


def test_the_newest_verdict_is_the_last_that_was_put_whatever_its_clock_says() -> None:
    place = KafkaAddress.of("kafka://nowhere:1")
    view = View(place, Learner(find), 1, lambda _, __, ___: None)
    for offset, (verdict, at_ms) in enumerate([(False, 5 * HOUR_MS), (True, 2 * HOUR_MS)]):
        told = {"domain": "d", "problem_id": "1", "verdict": verdict, "by": "ann"}
        entry = Entry(place.topic("feedback"), 0, offset, b"1", orjson.dumps(told), [], at_ms)
        view.take(entry.topic, 0, entry)
    words = dict.fromkeys(("scope", "policy", "problem", "problem_digest", "status"), "s")
    said: dict[str, Any] = {**words, "problem_id": "1", "domain": "d", "profile": "service"}
    said |= {"learning": {}, "labelled": False, "usage": NOTHING, "memory_version": 0}
    reflected = Reflected(**said, summary={})
    assert [each.verdict for each in view.said.of("p/d/1/0", reflected)] == [False, True]
