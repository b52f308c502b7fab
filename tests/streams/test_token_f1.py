"""Token F1 beside exact match: in reports, in exported groups, and as what a side of a pair earns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from handlers.limits import Ledger
from handlers.policies.registry import find
from schemas.asking import Steps
from schemas.questions import Check, Credit, Worth
from state.journal import MemoryRecorder
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.core.drive import Run, drive
from streams.research.analysis.cases import read
from streams.research.bench.metrics import METRICS
from streams.research.training.groups import groups
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.scripted import NO_MEMORY
from tests.streams.cli.calling import call

PROBLEM = {"id": "1", "problem": "Which river does Basel lie on?", "answer": "the Rhine",
           "dataset": "hotpotqa"}  # fmt: skip


@dataclass
class Says:
    """Answers with one more word than is right, then rightly, and so on."""

    said: Iterator[str]
    name: str = "scripted"
    simulated: bool = True

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(text=f"<answer>{next(self.said)}</answer>", finish="stop", model="m")

    async def close(self) -> None:
        pass


@pytest.fixture
def world() -> World:
    return World({"*": Says(cycle(["the upper Rhine", "Rhine"]))}, HashedEmbedder())


@pytest.fixture
def log(tmp_path: Path, world: World) -> Iterator[SqliteLog]:
    (tmp_path / "qa.jsonl").write_text(json.dumps(PROBLEM))
    where = ("--policy", "tool_reasoning", "--log", tmp_path / "a.db")
    for walk in (1, 2):
        assert call("produce", tmp_path / "qa.jsonl", "--pass", walk, *where).code == 0
    with closing(SqliteLog(tmp_path / "a.db")) as opened:
        asyncio.run(Worker(opened, world, find).run(until_idle=True, settle=True))
        yield opened


def test_reports_and_exported_groups_have_both(log: SqliteLog) -> None:
    cases = list(read(log).cases())
    assert METRICS["f1"].of(cases) == pytest.approx((2 / 3 + 1) / 2)
    assert METRICS["exact_match"].of(cases) == 0.5
    [exact], [partial] = groups(log), groups(log, scored="f1")
    assert sorted(each["reward"] for each in exact["rollouts"]) == [0.0, 1.0]
    assert sorted(each["reward"] for each in partial["rollouts"]) == pytest.approx([2 / 3, 1.0])
    told = call("export", "grpo", "--reward", "f1", "--log", log.path)
    assert len(json.loads(told.raw)["rollouts"]) == 2
    assert call("export", "grpo", "--reward", "f2", "--log", log.path).code == 2


def asked(world: World, question: Worth[Any]) -> Any:
    """What a learning episode gets for this question."""

    def learning() -> Steps[Any]:
        return (yield from question)

    run = Run("b/s/1", {}, 7, NO_MEMORY, "learning", MemoryRecorder(), world)
    return asyncio.run(drive(learning(), run, Ledger()))


def test_a_learner_asks_how_much_of_an_answer_is_right(log: SqliteLog, world: World) -> None:
    """By the label; where there is none, nobody knows."""
    problem = next(iter(read(log).cases())).problem
    answer = ("hotpotqa", problem.problem, "the upper Rhine", f"{problem.domain}/{problem.id}")
    assert asked(world, Credit(*answer)) == pytest.approx(2 / 3)
    assert asked(world, Check(*answer)) == "wrong"
    assert asked(world, Credit(*answer[:3], "qa/none")) is None
    assert Check(*answer).fingerprint() != Credit(*answer).fingerprint()


def test_a_puzzle_is_right_or_wrong(world: World) -> None:
    assert asked(world, Credit("game24", "1 2 3 4", "(1 + 2 + 3) * 4")) == 1.0
    assert asked(world, Credit("game24", "1 2 3 4", "1 + 2 + 3 + 4")) == 0.0
