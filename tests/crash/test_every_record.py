"""A crash after every record of an MC² series: the log, the knowledge and the bill come out the same."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from state.journal import Fenced
from streams.runtime.embedded.log import SqliteLog
from tests.crash.conftest import Calm
from tests.crash.series import (
    BATCHES,
    Counted,
    StoppingLog,
    completed,
    cut,
    end_of,
    quick,
    stops,
    worked,
)

CHUNKS = 8


def resumed(path: Path) -> tuple[SqliteLog, Counted, set[tuple[str, str]]]:
    """A second life, to the end; with what the first one had on record."""
    log = quick(SqliteLog(path))
    before = completed(log)
    outcome, world = worked(log)
    assert (outcome.held, outcome.parked) == ([], [])
    return log, world, before


def check(calm: Calm, path: Path, where: object) -> None:
    log, second, recorded = resumed(path)
    asked_again = recorded & second.asked.keys()
    assert not asked_again, f"{where}: {sorted(asked_again)[:3]}"
    assert second.asked.total() == calm.asked.asked.total() - len(recorded), where
    assert end_of(log) == calm.end, where
    log.close()


def test_the_series_is_one_that_learns(brief: Calm) -> None:
    log = SqliteLog(brief.after)
    kinds = [record.event.kind for record in log.records()]
    log.close()
    assert kinds.count("memory.versioned") == BATCHES
    assert kinds.count("lesson.distilled") >= 2
    assert kinds.count("knowledge.consolidated") >= 1
    assert len(brief.end.answers) == 12
    assert len(stops(brief.after)) > 300
    assert set(brief.asked.asked.values()) == {1}


def test_twice_is_the_same(brief: Calm, tmp_path: Path) -> None:
    check(brief, Path(shutil.copy(brief.before, tmp_path / "again.db")), "again")


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_log_that_ends_after_any_record_is_finished_as_if_nothing_had_been(
    brief: Calm, tmp_path: Path, chunk: int
) -> None:
    places = stops(brief.after)[chunk::CHUNKS]
    assert places
    for after in places:
        path = cut(brief.after, tmp_path / f"{after}.db", after)
        check(brief, path, f"after record {after}")
        path.unlink()


@pytest.mark.parametrize("after", random.Random(7).sample(range(20, 300), 12))
def test_a_log_that_stops_while_it_is_written_leaves_what_the_cut_one_holds(
    brief: Calm, tmp_path: Path, after: int
) -> None:
    """In process: the writer stops at the n-th append, inside the commit that holds it."""
    path = Path(shutil.copy(brief.before, tmp_path / "stopped.db"))
    stopped = StoppingLog(path, after=after)
    first = Counted()
    with pytest.raises(Fenced):
        worked(quick(stopped), world=first)
    held = rows(stopped)
    stopped.close()
    place = max(each for each in stops(brief.after) if each <= after)
    twin = SqliteLog(cut(brief.after, tmp_path / "twin.db", place))
    assert held == rows(twin)
    twin.close()
    check(brief, path, f"after append {after}")


@pytest.fixture(scope="module")
def commits(brief: Calm, tmp_path_factory: pytest.TempPathFactory) -> dict[int, int]:
    """The commits of a whole life, by how many episodes go on at once."""
    found: dict[int, int] = {}
    for concurrency in (256, 1):
        folder = tmp_path_factory.mktemp("whole")
        log = StoppingLog(Path(shutil.copy(brief.before, folder / "whole.db")))
        worked(quick(log), concurrency=concurrency)
        found[concurrency] = log.writers[-1].commits
        log.close()
    return found


@pytest.mark.parametrize("concurrency", [256, 1])
@pytest.mark.parametrize("place", [0.0, 0.02, 0.25, 0.5, 0.75, 1.0])
def test_a_stop_between_two_commits_loses_only_what_was_in_flight(
    brief: Calm, commits: dict[int, int], tmp_path: Path, concurrency: int, place: float
) -> None:
    """Anywhere between the first commit of a life and the one before its last."""
    path = Path(shutil.copy(brief.before, tmp_path / "between.db"))
    after = 1 + round(place * (commits[concurrency] - 2))
    stopped = StoppingLog(path, commits=after)
    first = Counted()
    with pytest.raises(Fenced):
        worked(quick(stopped), concurrency=concurrency, world=first)
    recorded = completed(stopped)
    stopped.close()
    assert recorded <= first.asked.keys()
    # A batch asks for all its lessons at once, whatever the number of episodes is.
    in_flight = {episode for episode, _ in first.asked.keys() - recorded}
    assert len(in_flight) <= concurrency
    check(brief, path, f"after commit {after} of {concurrency} at once")


def test_a_log_that_dies_again_and_again_still_comes_to_the_same(
    brief: Calm, tmp_path: Path
) -> None:
    path = Path(shutil.copy(brief.before, tmp_path / "again.db"))
    rng, lives = random.Random(7), 0
    while not finished(path):
        lives += 1
        log = StoppingLog(path)
        log.after = log.end() + rng.randint(2, 20)
        with suppress(Fenced):
            worked(quick(log), concurrency=rng.choice((1, 3, 256)))
        log.close()
    assert lives > 20
    check(brief, path, f"after {lives} lives")


def finished(path: Path) -> bool:
    log = SqliteLog(path)
    versions = sum(1 for _ in log.records("learning", kinds=["memory.versioned"]))
    log.close()
    return versions == BATCHES


def rows(log: SqliteLog) -> list[tuple[object, ...]]:
    """What is on record, in order, without times, what is stamped with them, and latencies' owners."""
    body = "json_remove(body, '$.stamps')"
    query = f"select offset, topic, partition, episode, address, kind, {body} from records"
    return log.db.execute(query + " order by offset").fetchall()
