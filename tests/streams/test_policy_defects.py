"""A policy that says what no record can hold: the defect is its episode's outcome, live and on replay."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handlers.policies.base import Conclusion, Policy, Task
from schemas.asking import Steps
from schemas.events.codec import encode
from schemas.events.episode import Completed, EpisodeClosed, EpisodeParked
from schemas.events.reasoning import Voted
from schemas.problem import Problem
from schemas.questions import Complete, Recall
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest, SetupBroken
from streams.replay.verify import Verifier
from streams.research.bench.speed import PROMPT, SPEED, SpeedSettings, Still
from streams.runtime.embedded.log import SqliteLog, Writer
from streams.runtime.embedded.worker import Worker


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


def too_sure(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    return Conclusion(answer="1", ended_by="vote", confidence=7.0)


def good(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    return Conclusion(answer="1", ended_by="vote")


def own_reply(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    yield Completed(asked="a", text=5, finish="stop", model="m")  # type: ignore[arg-type]
    return Conclusion(answer="1", ended_by="vote")


def no_conclusion(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    return {"answer": "1"}  # type: ignore[return-value]


def no_end(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    return Conclusion(answer="1", ended_by=None)  # type: ignore[arg-type]


def odd_text(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    raise ValueError("half \ud800")


class Mute(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


def no_text(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    raise Mute


def quits(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    sys.exit("enough")


def odd_reflection(*_: Any) -> dict[str, Any]:
    raise ValueError("half \ud800")


def quitting(*_: Any) -> dict[str, Any]:
    sys.exit("enough")


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
            "ValueError: a conclusion's confidence is in [0, 1]; it was nan",
        ),
        (
            replace(SPEED, solve=too_sure),
            "ValueError: a conclusion's confidence is in [0, 1]; it was 7.0",
        ),
        (replace(SPEED, solve=own_reply), "completed: text: Expected `str`, got `int`"),
        (replace(SPEED, solve=no_conclusion), "TypeError: a policy ends with a Conclusion"),
        (replace(SPEED, solve=no_end), "TypeError: a conclusion's ended_by is text; it was None"),
        (replace(SPEED, solve=odd_text), "ValueError: half \ufffd"),
        (replace(SPEED, solve=no_text), "Mute: no text (ZeroDivisionError)"),
        (
            replace(SPEED, solve=quits),
            "RuntimeError: the policy called sys.exit('enough') (test_policy",
        ),
        (replace(SPEED, solve=good, reflect=odd_reflection), "reflect: ValueError: half \ufffd"),
        (replace(SPEED, solve=good, reflect=quitting), "reflect: SystemExit: enough"),
        (replace(SPEED, solve=good, reflect=nan), "reflect: ValueError: must be a finite number"),
        (replace(SPEED, solve=good, reflect=huge), "reflect: ValueError: a number of more than 64"),
    ],
    ids=lambda given: given.split(": ")[-1] if isinstance(given, str) else "",
)
def test_what_no_record_can_hold_fails_its_episode_by_the_name_of_the_field(
    policy: Policy[Any], wrong: str, tmp_path: Path
) -> None:
    with closing(produced(tmp_path)) as log:
        work(log, policy)
        closed = ended(log)
        assert (closed.status, closed.answer) == ("failed", None)
        assert wrong in closed.ended_by
        assert verifies(log, policy)


def produced(folder: Path) -> SqliteLog:
    """A log with one problem."""
    log = SqliteLog(folder / "log.db", create=True)
    problem = Problem(id="x", problem="1 + 1", domain="d", policy="speed")
    log.publish([("problems", "x", {}, problem.model_dump_json().encode())])
    return log


def work(log: SqliteLog, policy: Policy[Any], world: World | None = None) -> None:
    """One life of a worker."""
    world = world or World({"*": Still()}, HashedEmbedder())
    asyncio.run(Worker(log, world, lambda _: policy).run(until_idle=True))


def ended(log: SqliteLog) -> EpisodeClosed:
    """How the one episode ended."""
    (closed,) = [r.event for r in log.records("events", kinds=["episode.closed"])]
    assert isinstance(closed, EpisodeClosed)
    return closed


def verifies(log: SqliteLog, policy: Policy[Any]) -> bool:
    """Whether the one episode is verified."""
    verified = Verifier(log, lambda _: policy).run()
    assert not verified.diverged, verified.diverged
    return verified.episodes == 1


def numpys(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from asks(task)
    yield Voted(answer="1", votes=np.int64(2), of=3.0)  # type: ignore[arg-type]
    return Conclusion(answer="1", ended_by="vote", confidence=np.float64(0.5))


def test_numbers_of_numpy_and_whole_floats_are_recorded_as_numbers(tmp_path: Path) -> None:
    policy = replace(SPEED, solve=numpys)
    with closing(produced(tmp_path)) as log:
        work(log, policy)
        assert (ended(log).status, ended(log).confidence) == ("answered", 0.5)
        (voted,) = [r.event for r in log.records("events", kinds=["voted"])]
        assert b'"votes":2,"of":3' in encode(voted)
        assert verifies(log, policy)


def test_a_defect_is_the_same_where_its_line_stands_elsewhere(tmp_path: Path) -> None:
    """A record of another build, in which the code above the defect was longer."""
    policy = replace(SPEED, solve=odd_text)
    with closing(produced(tmp_path)) as log:
        work(log, policy)
        where = ended(log).ended_by.rpartition(":")[2]
        there, here = f"test_policy_defects.py:{where}", "test_policy_defects.py:7)"
        log.db.execute("update records set body = replace(body, ?, ?)", (there, here))
        messages = "update messages set value = cast(replace(value, ?, ?) as blob)"
        log.db.execute(messages, (there, here))
        assert ended(log).ended_by.endswith("(test_policy_defects.py:7)")
        assert verifies(log, policy)
        log.db.execute("update records set body = replace(body, 'half', 'whole')")
        assert Verifier(log, lambda _: policy).run().diverged


# -- what is nobody's defect but the world's or the log's --------------------------------------------


class Broken(Still):
    """A backbone with an error that nobody foresaw."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise ValueError("the wrong end of the stick")


class Lost(HashedEmbedder):
    """An embedder with one."""

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        raise ValueError("the wrong end of the stick")


def recalls(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
    yield from Recall(task.problem, ("reasoner",), 1)
    return Conclusion(answer="1", ended_by="vote")


def test_a_backbones_own_error_is_a_broken_set_up_and_closes_nothing(tmp_path: Path) -> None:
    policy = replace(SPEED, solve=good)
    with closing(produced(tmp_path)) as log:
        with pytest.raises(SetupBroken, match="wrong end of the stick") as told:
            work(log, policy, World({"*": Broken()}, HashedEmbedder()))
        assert told.value.code == "backbone"
        work(log, policy)
        assert ended(log).status == "answered"
        assert verifies(log, policy)


def test_a_question_that_meets_an_error_in_the_world_waits_for_a_person(tmp_path: Path) -> None:
    policy = replace(SPEED, solve=recalls)
    with closing(produced(tmp_path)) as log:
        work(log, policy, World({"*": Still()}, Lost()))
        (parked,) = [r.event for r in log.records("events", kinds=["episode.parked"])]
        assert isinstance(parked, EpisodeParked)
        assert "Recall: ValueError: the wrong end of the stick" in parked.reason
        assert not list(log.records("events", kinds=["episode.closed"]))


def test_a_defect_that_its_record_does_not_lead_to_is_no_outcome(tmp_path: Path) -> None:
    """A policy that is not pure: what it did once, nobody could verify."""
    times: list[int] = []

    def moody(task: Task, given: SpeedSettings) -> Steps[Conclusion]:
        yield from asks(task)
        times.append(1)
        if len(times) == 1:
            raise ValueError("only once")
        return Conclusion(answer="1", ended_by="vote")

    with closing(produced(tmp_path)) as log:
        work(log, replace(SPEED, solve=moody))
        (parked,) = [r.event for r in log.records("events", kinds=["episode.parked"])]
        assert isinstance(parked, EpisodeParked)
        assert "its record does not lead to ValueError: only once" in parked.reason


def test_a_log_that_takes_no_more_ends_the_worker_and_no_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = replace(SPEED, solve=good)
    with closing(produced(tmp_path)) as log:
        flush, said = Writer.flush, list[int]()

        def full(self: Writer) -> None:
            said.append(1)
            if len(said) >= 3:
                raise sqlite3.OperationalError("database or disk is full")
            flush(self)

        monkeypatch.setattr(Writer, "flush", full)
        with pytest.raises(sqlite3.OperationalError, match="disk is full"):
            work(log, policy)
        assert not list(log.records("events", kinds=["episode.closed"]))
        monkeypatch.undo()
        work(log, policy)
        assert ended(log).status == "answered"
