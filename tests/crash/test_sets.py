"""Set episodes: an answer each under one shared limit, and a crash anywhere leaves what no crash leaves."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.base import Policy
from schemas.events.episode import Completed, EpisodeClosed, EpisodeOpened
from schemas.events.learning import BatchClosed
from schemas.events.monitoring import Allocated
from schemas.price import Price
from schemas.problem import Limits
from schemas.usage import NOTHING
from state.journal import Fenced
from streams.core.grants import Lacking
from streams.engine.policies import find
from streams.engine.sets import shared
from streams.interfaces.cli.doctor.adopting import let_go_on
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.crash.conftest import Calm
from tests.crash.series import (
    Counted,
    StoppingLog,
    cut,
    end_of,
    produced,
    quick,
    stops,
    worked,
)
from tests.crash.test_every_record import check

POLICY, MEMBERS, SET, CALLS = "mgv_acquisition", 7, 3, 5
VALUES: dict[str, Any] = {"max_rounds": 2, "batch_size": SET, "samples": 2}


def begun(path: Path, **more: Any) -> Path:
    """A new log with the series in it."""
    source = f"game24:901-{900 + MEMBERS}"
    values = VALUES | more.pop("values", {})
    produced(path, source, policy=POLICY, values=values, limits=Limits(calls=CALLS), **more)
    return path


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    """The series worked to its end without any trouble."""
    folder = tmp_path_factory.mktemp("sets")
    before, after = begun(folder / "before.db"), begun(folder / "after.db")
    log = quick(SqliteLog(after))
    outcome, world = worked(log)
    assert (outcome.held, outcome.parked) == ([], [])
    end = end_of(log)
    log.close()
    return Calm(before, after, end, world)


def opened(log: SqliteLog) -> dict[str, EpisodeOpened]:
    found = {record.episode: record.event for record in log.records(kinds=["episode.opened"])}
    return {name: event for name, event in found.items() if isinstance(event, EpisodeOpened)}


@pytest.mark.claim("mgv-set")
def test_the_members_of_a_window_are_one_set_with_an_answer_each(calm: Calm) -> None:
    log = SqliteLog(calm.after)
    openings = opened(log)
    sets = {name: event.members for name, event in openings.items() if event.members}
    batches = [e.event for e in log.records(kinds=["batch.closed"])]
    windows = [event.members for event in batches if isinstance(event, BatchClosed)]
    assert list(sets.values()) == windows
    series = next(iter(sets)).split("/")[1]
    assert list(sets) == [f"s/{series}/{k}" for k in (1, 2, 3)]
    assert [len(window) for window in windows] == [3, 3, 1]
    within = {member: name for name, members in sets.items() for member in members or ()}
    assert {name: e.within for name, e in openings.items() if e.within} == within
    assert [json.loads(value)["episode"] for _, _, _, value in log.messages("answers")] == [*within]
    log.close()


@pytest.mark.claim("mgv-set")
def test_the_limit_is_shared_and_usage_is_each_members_own(calm: Calm) -> None:
    log = SqliteLog(calm.after)
    assert [e.limits.calls for e in opened(log).values() if e.members] == [15, 15, 5]
    asked = Counter(r.episode for r in log.records("events") if isinstance(r.event, Completed))
    assert all(name.startswith("s/") for name in asked)
    spent: Counter[str] = Counter()
    for record in log.records("events", kinds=["episode.closed"]):
        event, within = record.event, opened(log)[record.episode].within
        assert isinstance(event, EpisodeClosed)
        if within is None:  # a set spends nothing but what its members do
            assert event.usage == NOTHING
            continue
        assert 1 <= (event.usage.calls or 0) <= CALLS
        assert event.usage.prompt_tokens
        spent[within or ""] += event.usage.calls or 0
    assert spent == asked
    given = [r.event for r in log.records("events") if isinstance(r.event, Allocated)]
    assert all(sum(c for _, c in event.shares) == event.total for event in given)
    log.close()


@pytest.mark.claim("mgv-set")
def test_a_set_is_verified_with_its_members(calm: Calm) -> None:
    log = SqliteLog(calm.after)
    done = Verifier(log, find).run()
    assert (done.diverged, done.unverifiable) == ([], [])
    assert done.episodes == MEMBERS + 3 + 3  # members, sets, learning episodes
    log.close()


def test_a_changed_closing_of_a_member_diverges(calm: Calm, tmp_path: Path) -> None:
    log = quick(SqliteLog(cut(calm.after, tmp_path / "changed.db", 1 << 40)))
    member = next(name for name, event in opened(log).items() if event.within)
    log.db.execute(
        "update records set body = json_set(body, '$.ended_by', 'luck') "
        "where episode = ? and address = 'closed'",
        (member,),
    )
    [found] = Verifier(log, find).run().diverged
    assert (found.episode, found.address) == (member, "closed")
    log.close()


@pytest.mark.claim("mgv-set")
@pytest.mark.parametrize("chunk", range(8))
def test_a_crash_after_every_record(calm: Calm, tmp_path: Path, chunk: int) -> None:
    for after in stops(calm.after)[chunk::8]:
        path = cut(calm.after, tmp_path / f"{after}.db", after)
        check(calm, path, f"after record {after}")
        path.unlink()


@pytest.mark.parametrize("concurrency", [1, 2])
def test_any_number_of_slots_leaves_the_same(calm: Calm, tmp_path: Path, concurrency: int) -> None:
    log = quick(SqliteLog(begun(tmp_path / "slots.db")))
    worked(log, concurrency=concurrency)
    assert end_of(log) == calm.end
    log.close()


def test_a_window_may_fall_into_several_sets(tmp_path: Path) -> None:
    log = quick(SqliteLog(begun(tmp_path / "small.db", values={"batch_size": 5, "set_size": 2})))
    outcome, _ = worked(log)
    assert outcome.held == []
    sizes = {n.rpartition("/")[2]: len(e.members) for n, e in opened(log).items() if e.members}
    assert sizes == {"1": 2, "2": 2, "3": 1, "4": 2}
    assert Verifier(log, find).run().diverged == []
    log.close()


def test_without_barriers_each_is_a_set_of_one(tmp_path: Path) -> None:
    log = quick(SqliteLog(begun(tmp_path / "stream.db", timing="streaming")))
    worked(log)
    assert [e for e in opened(log).values() if e.members or e.within] == []
    assert sum(1 for _ in log.messages("answers")) == MEMBERS
    log.close()


def test_a_set_waits_for_a_member_that_has_not_come(tmp_path: Path) -> None:
    """Until its place is void; then the others go on without it."""
    log = quick(SqliteLog(begun(tmp_path / "gap.db")))
    log.db.execute("delete from messages where topic = 'problems' and offset = 2")
    outcome = asyncio.run(Worker(log, Counted(), find).run(until_idle=True))
    assert any("waits for position 1" in each for each in outcome.held)
    assert opened(log) == {}
    outcome, _ = worked(log)
    assert outcome.held == []
    assert [len(e.members) for e in opened(log).values() if e.members] == [2, 3, 1]
    log.close()


def test_an_episode_that_was_opened_by_itself_is_finished_by_itself(tmp_path: Path) -> None:
    """As logs hold them that were begun before there were sets."""
    alone = replace(find(POLICY), together=None)
    path = begun(tmp_path / "old.db")
    first = StoppingLog(path, commits=6)
    with pytest.raises(Fenced):
        work_with(quick(first), lambda name: alone)
    assert len(opened(first)) >= 2
    first.close()
    log = quick(SqliteLog(path))
    work_with(log, find)
    found = opened(log).values()
    assert [event.members for event in found if event.members] != []
    assert sum(event.within is None and event.members is None for event in found) >= 2
    assert sum(1 for _ in log.messages("answers")) == MEMBERS
    assert Verifier(log, find).run().diverged == []
    log.close()


def work_with(log: SqliteLog, policies: Callable[[str], Policy[Any]]) -> None:
    """Work to the end, or to where the log stops."""
    asyncio.run(Worker(log, Counted(), policies, max_concurrency=2).run(until_idle=True))


def parked(calm: Calm, path: Path) -> tuple[SqliteLog, list[str]]:
    """A log on which the first set does not fit its record, and what waits for a person then."""
    places = stops(calm.after)
    log = quick(SqliteLog(cut(calm.after, path, places[len(places) // 6])))
    changed = "update records set body = json_replace(body, '$.asked', ?) where rowid = ?"
    query = "select rowid, json_extract(body, '$.asked') from records where kind = 'completed'"
    rowid, asked = log.db.execute(query).fetchone()
    log.db.execute(changed, (f"{asked}0", rowid))
    outcome, _ = worked(log)
    log.db.execute(changed, (asked, rowid))
    return log, outcome.parked


def test_a_set_that_does_not_fit_its_record_parks_its_members(calm: Calm, tmp_path: Path) -> None:
    """Nobody else goes on; once all are adopted, what comes is what would have come."""
    log, waiting = parked(calm, tmp_path / "parked.db")
    first = next(event.members for event in opened(log).values() if event.members)
    assert tuple(waiting) == first
    assert sum(1 for _ in log.messages("answers")) == 0
    for at, member in enumerate(waiting):
        let_go_on(str(log.path), member, None)
        outcome, _ = worked(log)
        assert (outcome.held == []) == (at == len(waiting) - 1)
    assert end_of(log) == calm.end
    log.close()


def test_a_member_of_a_parked_set_may_be_left_out(calm: Calm, tmp_path: Path) -> None:
    log, waiting = parked(calm, tmp_path / "void.db")
    let_go_on(str(log.path), None, waiting[1])
    for member in (waiting[0], waiting[2]):
        let_go_on(str(log.path), member, None)
    outcome, _ = worked(log)
    assert outcome.held == []
    answered = [json.loads(value)["episode"] for _, _, _, value in log.messages("answers")]
    assert len(answered) == MEMBERS - 1
    assert waiting[1] not in answered
    assert Verifier(log, find).run().diverged == []
    log.close()


def test_a_set_whose_cost_is_limited_waits_for_a_price(tmp_path: Path) -> None:
    """The worker ends by saying so, as for any problem, and the set is not let go of in silence."""
    begun_with = Limits(calls=CALLS, cost=1.0)
    source, path = f"game24:901-{900 + SET}", tmp_path / "unpriced.db"
    produced(path, source, policy=POLICY, values=VALUES, limits=begun_with)
    with closing(quick(SqliteLog(path))) as log:
        with pytest.raises(Lacking):
            worked(log)
        priced = Counted()
        priced.grant = replace(
            priced.grant, prices={"*": Price(prompt=0, completion=0)}, unpriced=()
        )
        outcome, _ = worked(log, world=priced)
        assert (outcome.held, sum(1 for _ in log.messages("answers"))) == ([], SET)


def test_the_shared_limit_is_the_sum_and_the_longest_time() -> None:
    one, two = Limits(calls=3, tokens=100, seconds=5.0), Limits(calls=4, tokens=50, seconds=7.0)
    assert shared([one, two]) == Limits(calls=7, tokens=150, seconds=7.0)
    assert shared([one, Limits()]) == Limits()
