"""A policy that says what no record can hold: the defect is its episode's outcome, live and on replay."""

from __future__ import annotations

import asyncio
import math
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.base import Conclusion, Policy, Task
from schemas.asking import Steps
from schemas.events.episode import EpisodeClosed
from schemas.events.reasoning import Voted
from schemas.problem import Problem
from schemas.questions import Complete
from streams.bench.speed import PROMPT, SPEED, SpeedSettings, Still
from streams.embedders.hashed import HashedEmbedder
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from streams.world import World


def asks(task: Task) -> Steps[Any]:
    return (yield from Complete("reasoner", PROMPT, (("problem", task.problem),)))


def bad_fact(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    yield Voted(answer="1", votes=-1, of=2)
    return Conclusion(answer="1", ended_by="vote")


def bad_type(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    yield Voted(answer=1, votes=1, of=2)  # type: ignore[arg-type]
    return Conclusion(answer="1", ended_by="vote")


def bad_answer(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    return Conclusion(answer=1, ended_by="vote")  # type: ignore[arg-type]


def bad_confidence(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    return Conclusion(answer="1", ended_by="vote", confidence=math.nan)


def good(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    return Conclusion(answer="1", ended_by="vote")


def nan(*_: Any) -> dict[str, Any]:
    return {"rates": [{"of": math.nan}]}


def huge(*_: Any) -> dict[str, Any]:
    return {"rates": [{"of": 1 << 70}]}


@pytest.mark.parametrize(
    ("policy", "wrong"),
    [
        (replace(SPEED, solve=bad_fact), "voted: votes: Expected `int` >= 0"),
        (replace(SPEED, solve=bad_type), "voted: answer: Expected `str | null`, got `int`"),
        (
            replace(SPEED, solve=bad_answer),
            "episode.closed: answer: Expected `str | null`, got `int`",
        ),
        (
            replace(SPEED, solve=bad_confidence),
            "episode.closed: confidence: must be a finite number",
        ),
        (replace(SPEED, solve=good, reflect=nan), "reflect: ValueError: must be a finite number"),
        (replace(SPEED, solve=good, reflect=huge), "reflect: ValueError: Integer exceeds 64-bit"),
    ],
    ids=["bound", "type", "answer", "confidence", "nan", "huge"],
)
def test_what_no_record_can_hold_fails_its_episode_by_the_name_of_the_field(
    policy: Policy[Any], wrong: str, tmp_path: Path
) -> None:
    def find(name: str) -> Policy[Any]:
        return policy

    with closing(SqliteLog(tmp_path / "log.db", create=True)) as log:
        problem = Problem(id="x", problem="1 + 1", domain="d", policy="speed")
        log.publish([("problems", "x", {}, problem.model_dump_json().encode())])
        worker = Worker(log, World({"*": Still()}, HashedEmbedder()), find)
        asyncio.run(worker.run(until_idle=True))
        (closed,) = [r.event for r in log.records("events", kinds=["episode.closed"])]
        assert isinstance(closed, EpisodeClosed)
        assert (closed.status, closed.answer) == ("failed", None)
        assert wrong in closed.ended_by
        verified = Verifier(log, find).run()
        assert not verified.diverged, verified.diverged
        assert verified.episodes == 1
