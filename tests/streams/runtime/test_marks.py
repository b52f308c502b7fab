"""What a start and a count read of a log that was worked on before: what came since, and not what is there."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from schemas.events.base import Event
from schemas.events.learning import Graded
from schemas.identity import episode_id
from schemas.problem import Problem
from schemas.record import Record
from state.folds.state import State
from state.snapshot import Snapshots
from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.answering.calls import Draining
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import Totals, World
from streams.engine.learner import Learner
from streams.engine.policies import find
from streams.interfaces.cli.logs import counts
from streams.interfaces.cli.main import main
from streams.producing.produce import Plan, Producer
from streams.producing.sources import lines_of
from streams.replay.verify import Verifier
from streams.runtime.embedded import marks
from streams.runtime.embedded.intake import Intake, episode_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import snapshot_path
from streams.runtime.embedded.records import learned
from streams.runtime.embedded.snapshots import WORTH, keep, newest_learned, snapshots_of
from streams.runtime.embedded.solving import solve_on
from streams.runtime.embedded.worker import Worker
from streams.telemetry.counts import Counts


def worked(path: Path, problems: int) -> SqliteLog:
    """A log on which a worker has ended its work on so many problems."""
    log = SqliteLog(path, create=True)
    more(log, f"1-{problems}")
    return log


def more(log: SqliteLog, which: str, calls: int | None = None) -> None:
    """Work on further problems, at most with so many calls."""
    source = f"game24:{which}"
    plan = Plan(source=source, find=find, domain="game24")
    Producer(log, plan).run(list(lines_of(source, None)))
    world = World({"*": Rehearsal()}, HashedEmbedder(), totals=Totals(calls=calls))
    asyncio.run(Worker(log, world, find).run(until_idle=True))


def steps(log: SqliteLog, look: Callable[[], object]) -> int:
    """How many tens of steps SQLite's machine takes for a look at a log: each row that it reads is some of them."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    log.db.set_progress_handler(step, 10)
    try:
        look()
    finally:
        log.db.set_progress_handler(None, 10)
    return taken


def unfinished(log: SqliteLog) -> list[str]:
    writer = log.claim("worker")
    return [episode for episode, _ in Intake(log, writer, find, "cot").unfinished()]


@pytest.mark.parametrize("look", [marks.counted, unfinished], ids=["counted", "unfinished"])
def test_a_look_costs_the_same_however_much_is_done(
    tmp_path: Path, look: Callable[[SqliteLog], object]
) -> None:
    small, large = worked(tmp_path / "small.db", 8), worked(tmp_path / "large.db", 160)
    few, many = (steps(log, lambda log=log: look(log)) for log in (small, large))  # type: ignore[misc]
    assert many <= few + 20


def test_counts_are_those_of_the_whole_log(tmp_path: Path) -> None:
    log = worked(tmp_path / "log.db", 12)
    more(log, "13-20")
    told = counts(log)
    assert told["opened"] == told["closed"] == told["answers"] == 20
    log.db.execute("delete from counters where name glob 'mark/*'")
    assert counts(log) == told
    rows = log.db.execute("select topic, kind, count(*) from records group by 1, 2").fetchall()
    assert marks.counted(log) == {(topic, kind): count for topic, kind, count in rows}


def test_what_was_left_open_is_gone_on_with(tmp_path: Path) -> None:
    log = worked(tmp_path / "log.db", 5)
    more(log, "6-30", calls=10)
    opened = unfinished(log)
    assert 0 < len(opened) <= 25
    assert (
        marks.left(log).open_from
        <= log.db.execute(
            "select offset from records where episode = ? and address = 'admitted'", (opened[0],)
        ).fetchone()[0]
    )
    more(log, "31-32")
    assert unfinished(log) == []
    assert counts(log)["closed"] == 32


def test_what_a_solve_left_and_was_put_for_workers_later_is_gone_on_with(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "log.db", create=True)
    problem = Problem(id="x", problem="4 6 8 13", domain="game24", policy="self_consistency")
    stopped = World({"*": Rehearsal()}, HashedEmbedder(), totals=Totals(calls=1))
    with pytest.raises(Draining):
        asyncio.run(solve_on(log, find("self_consistency"), problem, stopped))
    more(log, "1-3")
    episode = episode_of(problem, "cot")
    log.publish([("problems", episode, {}, problem.model_dump_json().encode())])
    # This worker takes it up and is stopped on the way; the next one finds its position behind the message.
    more(log, "4-5", calls=1)
    assert log.find(episode, "closed") is None
    more(log, "6-6")
    assert log.find(episode, "closed") is not None


def test_a_log_that_was_cut_off_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = worked(tmp_path / "log.db", 10)
    left = marks.left(log)
    assert left.offset == left.open_from == log.end()
    closed = "select offset from records where address = 'closed' order by offset limit 1 offset 4"
    (cut,) = log.db.execute(closed).fetchone()
    log.db.execute("delete from records where offset >= ?", (cut,))
    assert marks.left(log) == marks.Mark()
    assert len(unfinished(log)) == 6
    assert counts(log)["closed"] == 4
    more(log, "11-12")  # which takes up what the cut left open
    assert counts(log)["closed"] == 12


def test_a_log_that_went_on_otherwise_has_no_mark(tmp_path: Path) -> None:
    log = worked(tmp_path / "log.db", 4)
    log.db.execute("update records set at_ms = at_ms + 1 where offset = ?", (log.end(),))
    assert marks.left(log) == marks.Mark()


def test_a_problem_that_was_given_up_holds_no_mark_back(tmp_path: Path) -> None:
    log = worked(tmp_path / "log.db", 3)
    name = episode_id("game24", "n1", "x")
    log.db.execute(
        "insert into records(topic, partition, epoch, episode, address, kind, at_ms, body) "
        "select topic, partition, epoch, ?, address, kind, at_ms, body from records "
        "where address = 'admitted' limit 1",
        (name,),
    )
    marks.leave(log)
    assert marks.left(log).open_from == log.end()
    log.db.execute(
        "insert into records(topic, partition, epoch, episode, address, kind, at_ms, body) "
        "values ('events', 0, 0, ?, 'adopted.0', 'episode.adopted', 0, json('{\"void\": true}'))",
        (name,),
    )
    marks.leave(log)
    assert marks.left(log).open_from == log.end()


def test_a_worker_that_ends_lets_the_next_start_from_what_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = worked(tmp_path / "log.db", 12)
    tables = tmp_path / "log.db.tables"
    assert not keep(log, tables)  # so few are read in no time
    monkeypatch.setattr("streams.runtime.embedded.snapshots.WORTH", 50)
    assert keep(log, tables)
    assert snapshots_of(log).reaches() == log.end()
    assert not keep(log, tables)
    again = Worker(log, World({"*": Rehearsal()}, HashedEmbedder()), find)
    assert again.heard == log.end() - 1  # its claim came since
    more(log, "13-60")
    tables.mkdir()
    assert not keep(log, tables)  # the projector's, with its tables
    tables.rmdir()
    assert keep(log, tables)
    assert WORTH > 50


def test_who_solves_one_problem_reads_what_was_learned_from_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SqliteLog(tmp_path / "log.db", create=True)
    plan = Plan(source="game24:1-24", find=find, policy="mc2", domain="game24")
    Producer(log, plan).run(list(lines_of("game24:1-24", None)))
    world = World({"*": Rehearsal()}, HashedEmbedder())
    asyncio.run(Worker(log, world, find).run(until_idle=True))
    whole = learned(log, find)
    (scope,) = whole.scopes
    assert len(whole.memory(scope).versions) > 1
    told = steps(log, lambda: newest_learned(log, find))
    monkeypatch.setattr("streams.runtime.embedded.snapshots.WORTH", 20)
    assert keep(log, tmp_path / "none.tables")
    assert steps(log, lambda: newest_learned(log, find)) < told / 4
    here = newest_learned(log, find).memory(scope)
    assert dict(here.versions) == dict(whole.memory(scope).versions)
    assert here.latest.state() == whole.memory(scope).latest.state()


def test_the_command_leaves_what_was_learned_unless_a_projector_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "log.db")
    monkeypatch.setattr("streams.runtime.embedded.snapshots.WORTH", 20)
    work = ["worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", "--log", url]
    assert main(["produce", "game24:1-12", "--log", url]) == 0
    assert main(work) == 0
    with closing(SqliteLog(url)) as log:
        assert snapshots_of(log).reaches() == log.end()
    snapshot_path(Path(url)).write_bytes(b"damaged")
    assert main(["produce", "game24:13-24", "--log", url]) == 0
    assert main(work) == 0  # a cache that cannot be read is written anew


def test_a_snapshot_is_written_a_row_at_a_time(tmp_path: Path) -> None:
    state, episodes = State(), 4_000
    for at in range(episodes):
        graded = Graded(by="checker", grader="game24@1", outcome="right", scope="s", source=None)
        state.outcomes.take(at, f"p/game24/n{at}/run", graded)
    state.offset = episodes
    tracemalloc.start()
    try:
        assert Snapshots(tmp_path / "snapshot.db", "log").save(state) >= episodes
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000 * episodes


def test_verify_holds_no_more_than_one_record_of_what_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, read, fed = worked(tmp_path / "log.db", 20), list[str](), list[int]()
    feed, records = Learner.feed, SqliteLog.records

    def reading(self: SqliteLog, topic: str | None = None, **more: Any) -> Iterator[Record]:
        for record in records(self, topic, **more):
            read.append(record.address)
            yield record

    def feeding(self: Learner, episode: str, address: str, event: Event) -> object:
        fed.append(len(read))
        return feed(self, episode, address, event)

    monkeypatch.setattr(SqliteLog, "records", reading)
    monkeypatch.setattr(Learner, "feed", feeding)
    assert Verifier(log, find).run().diverged == []
    learning = log.db.execute("select count(*) from records where topic = 'learning'")
    count = learning.fetchone()[0]
    assert fed == list(range(count + 1, 2 * count + 1))


def test_a_dashboard_reads_answers_a_span_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = worked(tmp_path / "log.db", 30)
    monkeypatch.setattr("streams.telemetry.counts.SPAN", 4)
    monkeypatch.setattr("streams.telemetry.figures.SPAN", 4)
    with closing(Counts(log.path)) as counted:
        seen = [0]
        while counted.read():
            seen.append(sum(counted.answers.values()))
        assert max(after - before for before, after in pairwise(seen)) <= 4
        assert sum(counted.answers.values()) == 30
