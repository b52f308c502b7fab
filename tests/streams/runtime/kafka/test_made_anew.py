"""Topics that were deleted and made anew, seen from a machine that was away and knows the old ones."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from schemas.problem import Problem
from streams.engine.progress import Outcome
from streams.interfaces.cli.logs import counts
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.past import ClosedEpisodeIndex
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.reread import Rereader
from tests.contracts.runtime_suite import verified
from tests.contracts.runtimes import PARTITIONS, Life, OnKafka, messages
from tests.memory_kafka.fixture import GLANCES, broker_of, in_memory

OLD, MANY = ("old1", "old2"), 30
"""Problems of the old topics, and how many the new ones have, so that they reach beyond all that was read."""


@pytest.fixture
def place() -> Generator[KafkaAddress]:
    with in_memory(PARTITIONS, glances=GLANCES) as (place, _):
        yield place


def put(runtime: OnKafka, *names: str) -> None:
    told = (Problem(id=name, problem="1", domain="d", policy="pupil") for name in names)
    runtime.log().publish(
        ("problems", f"p/d/{each.id}/x", {}, each.model_dump_json().encode()) for each in told
    )


def lived(place: KafkaAddress, home: Path, *names: str) -> None:
    """A machine's workers answer these problems."""
    with closing(KafkaLog(place, home)) as log:
        runtime = OnKafka(place, log, index=home / "index.db")
        put(runtime, *names)
        assert runtime.live(Life()) == Outcome()


def make_anew(place: KafkaAddress) -> None:
    """Delete all topics and create them."""
    broker = broker_of(place)
    for log in broker.logs.values():
        log.clear()
    broker.committed.clear()
    broker.groups.clear()


def test_what_was_read_of_the_old_ones_is_dropped(place: KafkaAddress, tmp_path: Path) -> None:
    lived(place, tmp_path / "away", *OLD)
    make_anew(place)
    lived(place, tmp_path / "here", *(f"new{n}" for n in range(MANY)))
    with closing(KafkaLog(place, tmp_path / "away")) as log:
        found = counts(log)
        assert (found["problems"], found["closed"], found["answers"]) == (MANY, MANY, MANY)
        assert verified(log) == []


def test_what_was_closed_on_the_old_ones_is_worked_on(place: KafkaAddress, tmp_path: Path) -> None:
    lived(place, tmp_path / "away", *OLD)
    make_anew(place)
    lived(place, tmp_path / "here", *(f"new{n}" for n in range(MANY)))
    lived(place, tmp_path / "away", *OLD, "new1")
    with closing(KafkaLog(place, tmp_path / "away")) as log:
        assert len(messages(log, "answers")) == MANY + len(OLD)
        assert counts(log)["repeated_completions"] == 0


def test_a_file_of_a_build_that_kept_no_marks_is_taken_for_what_it_says(
    place: KafkaAddress, tmp_path: Path
) -> None:
    lived(place, tmp_path, *OLD)
    with closing(KafkaLog(place, tmp_path)) as log:
        log.db.execute("drop table marks")
    with closing(KafkaLog(place, tmp_path)) as log:
        assert log.versions == 0, "nothing was read again"
        assert counts(log)["answers"] == len(OLD)


class Firsts:
    """What marks the first record of each partition."""

    def __init__(self, *marks: str | None) -> None:
        self.marks = marks

    async def first(self, partition: int) -> str | None:
        return self.marks[partition] if partition < len(self.marks) else ""


def looked_into(path: Path, *marks: str | None) -> bool:
    """Whether the index that lies there is kept on a log whose partitions begin so."""
    with closing(ClosedEpisodeIndex(path)) as past:
        asyncio.run(past.compare(cast("Rereader", Firsts(*marks))))
        return "p/d/a/0" in past


@pytest.mark.parametrize(
    ("marks", "is_kept"),
    [
        (("first", "second"), True),
        (("first", "other"), False),
        (("first", None), True),
        (("first",), False),
        (("other", "second"), False),
    ],
)
def test_an_index_is_dropped_before_anything_is_added_where_any_partition_began_otherwise(
    tmp_path: Path, marks: tuple[str | None, ...], is_kept: bool
) -> None:
    """Later would be too late: other workers of the machine have noted what they closed by then."""
    with closing(ClosedEpisodeIndex(tmp_path / "i.db")) as past:
        past.add("p/d/a/0")
        past.whole |= {0: -1, 1: -1}
        past.note(0, 900, 4)
        past.db.executemany("insert into begun values (?, ?)", [(0, "first"), (1, "second")])
    assert looked_into(tmp_path / "i.db", *marks) == is_kept
    with closing(ClosedEpisodeIndex(tmp_path / "i.db")) as past:
        assert past.begins(0, 1000) == ((900, 4) if is_kept else (0, -1))


def test_an_index_that_knows_more_than_there_is_is_dropped_and_read_again(tmp_path: Path) -> None:
    with closing(ClosedEpisodeIndex(tmp_path / "i.db")) as past:
        past.add("p/d/a/0")
        past.whole |= {0: -1, 1: -1}
        past.note(0, 900, 4)
        assert past.begins(0, 1000) == (900, 4)
        assert past.whole == {0: 900, 1: -1}
        assert past.begins(0, 800) == (0, -1)
        assert "p/d/a/0" not in past
        assert past.whole == {}
