"""A worker reads all the feedback that is there, however much came at once, and whatever it is at just then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.events.learning import Graded
from schemas.problem import Feedback, Problem
from schemas.record import Record
from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine import grades
from streams.engine.policies import find
from streams.interfaces.cli.feedback import message
from streams.producing.sources import SourceLine
from streams.producing.traces.taking import Plan, Taker
from streams.runtime.embedded import labels
from streams.runtime.embedded.intake import Intake, episode_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.streams.cli.calling import call


def graded(path: Path) -> int:
    with closing(SqliteLog(path)) as log:
        return sum(1 for _ in log.records("learning", kinds=("graded",)))


@pytest.mark.parametrize("count", [6, 7, 8, 9])
def test_a_worker_that_ends_when_nothing_is_left_has_read_all_feedback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(labels, "BATCH", 4)
    path = tmp_path / "a.db"
    lines = [f'{{"id": "q{n}", "problem": "What is {n} + 1?"}}' for n in range(count)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    work = ("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", "--log", path)
    assert call("produce", tmp_path / "p.jsonl", "--policy", "cot", "--log", path).code == 0
    assert call(*work).code == 0
    with closing(SqliteLog(path)) as log:
        for n in range(count):
            said = Feedback(domain="default", problem_id=f"q{n}", verdict=True, by="ann")
            body = said.model_dump_json(exclude_none=True).encode()
            log.publish([("feedback", f"f{n}", {}, body)])
    assert call(*work).code == 0
    assert graded(path) == count


def worker_on(log: SqliteLog) -> Worker:
    return Worker(log, World({"*": Rehearsal()}, HashedEmbedder()), find)


def graders(log: SqliteLog, episode: str) -> list[str]:
    events = (each.event for each in log.records("learning", episode=episode, kinds=("graded",)))
    return [event.grader for event in events if isinstance(event, Graded)]


async def until(is_so: Callable[[], bool]) -> None:
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


@pytest.mark.parametrize("grading_s", [0.0, 30.0], ids=["at once", "killed while it grades"])
def test_what_is_said_while_an_episode_is_closed_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grading_s: float
) -> None:
    """A label is still being compared when a verdict comes; nothing else is committed afterwards."""
    problem = Problem(id="x", problem="What is 2 + 2?", domain="words", policy="cot")
    episode = episode_of(problem, "cot")
    label = message(Feedback(domain="words", problem_id="x", reference="4"))
    verdict = message(Feedback(episode=episode, verdict=False, by="ann"))
    body = problem.model_dump_json().encode()
    as_it_is, begun, go_on = grades.graded, asyncio.Event(), asyncio.Event()

    async def slow(*given: Any) -> tuple[str, Graded]:
        begun.set()
        await go_on.wait()
        found = await as_it_is(*given)
        if found[1].grader.startswith("verdict"):
            await asyncio.sleep(grading_s)
        return found

    async def killed() -> None:
        path = tmp_path / "a.db"
        with closing(SqliteLog(path, create=True)) as log, closing(SqliteLog(path)) as other:
            other.publish([("problems", episode, {}, body), label])
            worker = worker_on(log)
            running = asyncio.create_task(worker.run())
            await begun.wait()
            other.publish([verdict])
            await until(lambda: worker.labels.position == 3)
            await asyncio.sleep(0.1)  # what that turn read is committed
            go_on.set()
            await until(lambda: other.find(episode, "closed") is not None)
            await asyncio.sleep(0.3)
            said = graders(other, episode)
            worker.writer.fenced = True  # nothing is written on the way out
            for each in worker.schedule.tasks.values():
                each.task.cancel()
            running.cancel()
            await asyncio.wait([running])
        assert [each.split("@")[0] for each in said] == ["exact", "verdict"][: 2 - bool(grading_s)]

    monkeypatch.setattr(labels, "graded", slow)
    asyncio.run(killed())
    monkeypatch.setattr(labels, "graded", as_it_is)
    with closing(SqliteLog(tmp_path / "a.db")) as log:
        asyncio.run(worker_on(log).run(until_idle=True))
        assert [each.split("@")[0] for each in graders(log, episode)] == ["exact", "verdict"]
        assert log.position("learner", "feedback") == 3


def test_cases_that_are_taken_in_between_two_looks_are_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their labels were graded before the learner had heard of them, and its window waited for ever."""
    spoken = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
    line = SourceLine(1, json.dumps({"id": "t", "messages": spoken, "label": "right"}).encode())
    as_it_is, path = Intake.commands, tmp_path / "a.db"

    def commands(intake: Intake) -> Iterator[Record]:
        yield from as_it_is(intake)
        with closing(SqliteLog(path)) as other:
            Taker(other, Plan(source="t", find=find, policy="mc2", domain="d")).run([line])

    monkeypatch.setattr(Intake, "commands", commands)
    with closing(SqliteLog(path, create=True)) as log:
        outcome = asyncio.run(worker_on(log).run(until_idle=True, settle=True))
        closed = [*log.records("learning", kinds=("batch.closed",))]
        assert (len(closed), outcome.held) == (1, [])
