"""Records of learned kinds that no policy put where they stand: nobody stops at them, nobody counts them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from schemas.events.base import Event
from schemas.events.learning import BatchClosed, LessonDistilled
from schemas.events.union import ANSWERS, FACTS, KINDS, LIFE
from schemas.identity import learning_parts
from schemas.places import PLACES, stands
from schemas.record import Record
from state.folds.state import State
from streams.engine.learner import Learner, episode_of
from streams.engine.policies import find
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.embedded.records import LogRecords
from tests.streams.cli.calling import call
from tests.streams.cli.learned import change, made, rows

FORGED = (
    "insert into records(topic, partition, epoch, episode, address, kind, at_ms, body) "
    "select topic, partition, {epoch}, ?, ?, kind, at_ms, body from records where kind = ? limit 1"
)
LEARNED = ("lesson.distilled", "knowledge.consolidated", "embedded", "memory.versioned")
ELSEWHERE = (
    ("x/evil", "0"),
    ("x/evil", "named"),
    ("b/evil", "0"),
    ("b/nowhere/main/1", "0"),
    ("b/{scope}/99", "0"),
    ("b/{scope}/01", "0"),
    ("b/{scope}/1", "named"),
    ("n/{scope}/-", "0"),
)


@pytest.mark.parametrize("kind", LEARNED)
@pytest.mark.parametrize(("episode", "address"), ELSEWHERE)
def test_a_worker_passes_over_what_nobody_of_ours_wrote(
    tmp_path: Path, kind: str, episode: str, address: str
) -> None:
    path = spoilt(tmp_path / "a.db")
    (scope,) = rows(
        path, "select json_extract(body, '$.scope') from records where kind = 'batch.closed'"
    )[0]
    before = call("state", "hash", "--log", path).out
    change(path, FORGED.format(epoch=0), episode.format(scope=scope), address, kind)
    worked = call("worker", "--log", path, "--backbone", "rehearsal:seed=7", "--until-idle")
    assert (worked.code, call("state", "hash", "--log", path).out) == (0, before), worked.err
    where = episode.format(scope=scope)
    assert f"{where} at {address}: {kind} was passed over" in worked.err
    told = call("rebuild", "--tables", "none", "--log", path)
    assert (told.code, told.lines[-1]) == (0, before.strip())
    assert "1 records stand where no policy put them" in told.err
    for command in (("lessons", "list"), ("log", "stats"), ("doctor",)):
        assert call(*command, "--log", path).code == 0


def spoilt(to: Path) -> Path:
    """A log of its own: all of it, whoever else still has the first one open."""
    with closing(sqlite3.connect(made())) as db:
        db.execute("vacuum into ?", (str(to),))
    return to


def learning() -> list[Record]:
    with closing(SqliteLog(made())) as log:
        return list(log.records("learning"))


def test_a_lesson_at_an_address_that_no_policy_yields_is_no_part_of_the_version() -> None:
    """While its batch is open: that is when the learner would take it."""
    records = learning()
    batch = next(at for at, record in enumerate(records) if isinstance(record.event, BatchClosed))
    closed = records[batch].event
    version = next(at for at, record in enumerate(records) if record.address == "version")
    lesson = next(r.event for r in records if isinstance(r.event, LessonDistilled))
    with closing(SqliteLog(made())) as log:
        learner = Learner(find, LogRecords(log))
        for record in records[:version]:
            learner.feed(record.episode, record.address, record.event)
        assert isinstance(closed, BatchClosed)
        forged = (episode_of(closed), "named", lesson)
        assert learner.feed(*forged) is False
        assert learner.version(learner.known(closed.scope), closed) == records[version].event
        assert learner.strays.count == 1


def test_both_folds_pass_over_the_same(tmp_path: Path) -> None:
    path = spoilt(tmp_path / "a.db")
    for at, kind in enumerate(LEARNED):
        for name, address in ELSEWHERE:
            change(
                path, FORGED.format(epoch=0), f"{name.format(scope='game24')}{at}", address, kind
            )
    with closing(SqliteLog(path)) as log:
        state, learner = fold(log, State()), Learner(find, LogRecords(log))
        for record in log.records("learning"):
            learner.feed(record.episode, record.address, record.event)
    assert state.strays.count == learner.strays.count > len(ELSEWHERE)
    assert state.strays.first == learner.strays.first


def test_every_record_of_a_worker_stands_where_its_kind_may() -> None:
    with closing(SqliteLog(made())) as log:
        for record in log.records():
            where = (record.episode, record.address, record.event)
            assert stands(*where, record.topic), where
            other = "learning" if record.topic == "events" else "events"
            assert record.event.kind in ("partition.claimed", "text.kept") or not stands(
                *where, other
            )


def test_every_kind_has_its_places() -> None:
    assert set(PLACES) == set(KINDS.values())
    anywhere: tuple[type[Event], ...] = (*ANSWERS, *FACTS, *LIFE)
    assert all(len(PLACES[kind]) >= 1 for kind in anywhere)


@pytest.mark.parametrize("name", ["b/s/1", "b/a/b/c/12", "b/s/4.1"])
def test_a_learning_episode_says_its_parts(name: str) -> None:
    parts = learning_parts(name)
    assert parts is not None
    assert f"b/{parts[0]}/{parts[1]}" + (f".{parts[2]}" if parts[2] else "") == name


@pytest.mark.parametrize(
    "name", ["x/s/1", "b/1", "b//1", "b/s/x", "b/s/01", "b/s/1.0", "b/s/1.", "b/s/" + "9" * 5000]
)
def test_what_is_no_learning_episode_has_no_parts(name: str) -> None:
    assert learning_parts(name) is None
