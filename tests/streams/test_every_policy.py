"""Every policy of the registry: worked on under a call limit, kept to it, and verified from its log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handlers.policies.registry import POLICIES
from schemas.events.episode import Completed
from schemas.problem import Limits
from streams.engine.policies import find
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import produced, quick, worked
from tests.normal import spelled_otherwise
from tests.people import answer_all

CALLS, PROBLEMS = 12, 4


def completions(log: SqliteLog) -> list[Completed]:
    events = (record.event for record in log.records(kinds=["completed"]))
    return [event for event in events if isinstance(event, Completed)]


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_it_keeps_its_limit_and_is_verified_from_its_log(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.db"
    source = f"game24:901-{900 + PROBLEMS}"
    produced(path, source, policy=name, values={}, limits=Limits(calls=CALLS))
    log = quick(SqliteLog(path))
    outcome, world = worked(log)
    while answer_all(log):
        outcome, world = worked(log)
    assert (outcome.held, outcome.parked) == ([], [])
    answers = [json.loads(value) for _, _, _, value in log.messages("answers")]
    assert len(answers) == PROBLEMS
    assert all(1 <= each["usage"]["calls"] <= CALLS for each in answers)
    assert {each["status"] for each in answers} <= {"answered", "abstained", "exhausted"}
    roles = {event.asked.split(" ")[1] for event in completions(log)}
    assert roles <= set(POLICIES[name].roles)
    asked = world.asked.total()
    done = Verifier(log, find).run()
    assert (done.diverged, done.unverifiable) == ([], [])
    assert done.episodes >= PROBLEMS
    assert world.asked.total() == asked
    assert log.counter("repeated") == 0
    assert spelled_otherwise(log) == []
    log.close()
