"""A problem that a killed solve began is put for workers too: whichever worker met it, the next one goes on with it."""

from __future__ import annotations

import asyncio
from contextlib import closing
from itertools import repeat
from pathlib import Path

import pytest

from schemas.events.episode import ProblemAdmitted
from schemas.problem import Problem
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine.progress import Outcome
from streams.runtime.embedded.intake import episode_of, scope_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import counts
from streams.runtime.embedded.worker import Worker
from tests.pupil import PUPIL, Numbers, find

ASKED = Problem(id="k", problem="1", domain="d", policy="pupil")
BARE = Problem(id="k", problem="1", domain="d")


@pytest.mark.parametrize("key", [episode_of(BARE, "cot"), "replay/7/k", "a client's own"])
def test_it_is_answered_though_its_worker_is_killed_and_its_message_bears_another_key(
    tmp_path: Path, key: str
) -> None:
    def worker() -> Worker:
        return Worker(
            log, World({"*": Numbers(repeat(0))}, HashedEmbedder()), find, default_policy="pupil"
        )

    episode = episode_of(ASKED, "pupil")
    with closing(SqliteLog(tmp_path / "log.db", create=True)) as log:
        beside = log.claim_beside(f"solve:1 {episode}", lambda worker: True)
        admitted = ProblemAdmitted(problem=ASKED, scope=scope_of(PUPIL, ASKED), offset=0)
        beside.state("events", episode, "admitted", admitted)
        beside.flush()
        before = counts.positions(log)
        log.publish([("problems", key, {}, BARE.model_dump_json(exclude_defaults=True).encode())])
        killed = worker()
        assert list(killed.intake.take()) == []
        killed.writer.flush()
        assert len(counts.positions(log)) == len(before) + 1, "no reader's place but the intake's"
        assert asyncio.run(worker().run(until_idle=True)) == Outcome()
        assert [name for _, name, *_ in log.messages("answers")] == [episode]
