"""A problem is forgotten while a worker works: whoever waits for a slot opens with the version without it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from handlers.policies.base import Batch, Conclusion, Policy, Task
from schemas.asking import Steps
from schemas.events.episode import EpisodeOpened, ProblemAdmitted, Recalled
from schemas.events.learning import LessonDistilled, ProblemForgotten
from schemas.problem import Limits, Problem
from schemas.questions import Complete, Embed, Recall
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.core.grants import Lacking
from streams.engine.progress import Outcome
from streams.interfaces.cli.setup import as_cli
from streams.replay.lineage import command
from streams.replay.verify import Verifier
from streams.research.bench.speed import PROMPT, SPEED
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.solving import solve_on
from streams.runtime.embedded.worker import Worker

AGAIN = "what is left?"


def say(text: str) -> Complete:
    return Complete("reasoner", PROMPT, (("problem", text),))


def solve(task: Task, given: Any) -> Steps[Conclusion]:
    yield from Recall("secret", ("r",), 4)
    yield from say(task.problem)
    return Conclusion(answer="1", ended_by="vote")


def learn(batch: Batch, given: Any) -> Steps[None]:
    for number, member in enumerate(batch.members):
        of = member.reflected.problem_id
        yield LessonDistilled(
            id=f"L{batch.number}.{number}",
            role="r",
            polarity="do",
            text=f"secret of {of}",
            subject=f"d/{of}",
            evidence=(member.episode,),
            source="0",
        )
    yield from Embed(tuple(f"secret of {each.reflected.problem_id}" for each in batch.members))


def relearn(batch: Batch, given: Any) -> Steps[None]:
    yield from say(AGAIN)


def two(given: Any, size: int | None) -> int:
    """How many members a batch has."""
    return 2


POLICY = replace(SPEED, solve=solve, learns="labels", learn=learn, relearn=relearn, window=two)


@dataclass
class Model:
    """Who, as it is asked of one problem, has another forgotten."""

    forget: Any
    name: str = "m"
    simulated: bool = True

    async def complete(self, request: ModelRequest) -> ModelReply:
        asked = request.messages[-1][1]
        if "first" in asked:
            self.forget()
        if AGAIN in asked:
            await asyncio.sleep(0.2)  # others have their turn before the version is there
        return ModelReply(text="ok", finish="stop", model="m")

    async def close(self) -> None: ...


@pytest.fixture
def log(tmp_path: Path) -> Generator[SqliteLog]:
    with closing(SqliteLog(tmp_path / "log.db", create=True)) as made:
        yield made


def put(log: SqliteLog, **texts: str) -> None:
    for name, text in texts.items():
        said = Problem(id=name, problem=text, domain="d", policy="speed")
        log.publish([("problems", name, {}, said.model_dump_json().encode())])


def live(log: SqliteLog, model: Model) -> Outcome:
    def find(name: str) -> Policy[Any]:
        return POLICY

    worker = Worker(log, World({"*": model}, HashedEmbedder()), find, max_concurrency=3)
    return asyncio.run(worker.run(until_idle=True))


def taught(log: SqliteLog) -> str:
    """Have a worker learn of two problems; the scope."""
    put(log, b="small", c="small")
    assert live(log, Model(lambda: None)) == Outcome()
    admitted, _ = log.records(kinds=["problem.admitted"])
    assert isinstance(admitted.event, ProblemAdmitted)
    return admitted.event.scope


def test_who_solves_beside_begins_once_the_memory_without_it_is_made(log: SqliteLog) -> None:
    scope = taught(log)
    log.publish(commands=[command(scope, "d", "b", Limits(), None, None)])

    def solved() -> tuple[str, ...]:
        asked = Problem(id="z", problem="next", domain="d", policy="speed")
        world = World({"*": Model(lambda: None)}, HashedEmbedder())
        done = asyncio.run(solve_on(log, POLICY, asked, world))
        shown = log.find(done.episode, "0")
        assert isinstance(shown, Recalled)
        return tuple(item[0] for item in shown.items)

    with pytest.raises(Lacking) as lacking:
        solved()
    told = as_cli(lacking.value)
    assert (told.error, told.exit, told.where) == ("model.forgetting", 5, scope)
    assert live(log, Model(lambda: None)) == Outcome()
    assert solved() == ("L1.1",)
    assert Verifier(log, lambda name: POLICY).run().diverged == []


def test_no_lesson_of_it_is_shown_to_anybody_who_begins_afterwards(
    log: SqliteLog, tmp_path: Path
) -> None:
    scope = taught(log)

    def forget() -> None:
        with closing(SqliteLog(tmp_path / "log.db", writes=True)) as other:
            other.publish(commands=[command(scope, "d", "b", Limits(), None, None)])

    put(log, first="first", **{f"n{number}": "next" for number in range(6)})
    assert live(log, Model(forget)) == Outcome()
    records = list(log.records())
    (said,) = (each.offset for each in records if isinstance(each.event, ProblemForgotten))
    later = [each for each in records if each.offset > said]
    opened = {each.episode for each in later if isinstance(each.event, EpisodeOpened)}
    shown = [
        each.event for each in later if each.episode in opened and isinstance(each.event, Recalled)
    ]
    assert len(shown) == len(opened) > 3
    assert all(each.items for each in shown)
    assert "L1.0" not in {item[0] for each in shown for item in each.items}
    assert Verifier(log, lambda name: POLICY).run().diverged == []
