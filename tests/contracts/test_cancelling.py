"""Cancelling on every runtime: open calls are let go, nothing is worked on again, and others go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import TypeAlias

import pytest

from schemas.events.episode import EpisodeAdopted
from schemas.problem import Problem
from state.folds.state import State
from streams.core.backbone import ModelReply, ModelRequest
from streams.engine.progress import Outcome
from streams.interfaces.cli.cancelling import cancel
from streams.interfaces.cli.errors import CliError
from streams.interfaces.cli.logs import counts
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.rebuild import fold
from streams.runtime.kafka.imported import KafkaLog
from streams.telemetry.counts import Counts
from tests.contracts.runtimes import Embedded, Life, OnKafka, Runtime, in_a_file, on_kafka_in_memory
from tests.pace import soon
from tests.pupil import PUPIL, Numbers, problems, publication

Made: TypeAlias = Callable[[], AbstractContextManager[Runtime]]
answers = Numbers.complete


@pytest.fixture(params=[in_a_file, on_kafka_in_memory])
def runtime(request: pytest.FixtureRequest) -> Generator[Runtime]:
    with request.param() as made:
        yield made


class Stuck:
    """A model that never answers what says "stuck", and knows who waited and who was let go."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked, self.let_go = threading.Event(), 0
        self.calls = 0

        async def complete(model: Numbers, request: ModelRequest) -> ModelReply:
            return await self.complete(model, request)

        patch.setattr(Numbers, "complete", complete)

    async def complete(self, model: Numbers, request: ModelRequest) -> ModelReply:
        if "stuck" not in request.messages[-1][1] or "unknown" in request.messages[-1][1]:
            return await answers(model, request)
        self.calls += 1
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.let_go += 1
            raise
        raise AssertionError


def put(runtime: Runtime, name: str, text: str) -> None:
    said = Problem(id=name, problem=text, domain="d", policy="pupil")
    body = said.model_dump_json().encode()
    runtime.log().publish([("problems", f"p/d/{name}/x", {}, body)])


def beside(runtime: Runtime, folder: Path) -> SqliteLog:
    """The same log as another process opens it."""
    if isinstance(runtime, OnKafka):
        found = KafkaLog(runtime.place, folder)
        found.refresh()
        return found
    assert isinstance(runtime, Embedded)
    return SqliteLog(runtime.opened.path, writes=True)


def episode_of(log: SqliteLog, name: str) -> str:
    found = (each.episode for each in log.records("events", kinds=["problem.admitted"]))
    return next(each for each in found if f"/{name}/" in each)


def cancelling(runtime: Runtime, name: str, stuck: Stuck, folder: Path) -> threading.Thread:
    """Somebody who cancels a problem once its model was asked."""

    def work() -> None:
        assert stuck.asked.wait(soon(30.0))
        with closing(beside(runtime, folder)) as log:
            assert cancel(log, episode_of(log, name), by="ann", reason="asked by mistake")

    made = threading.Thread(target=work)
    made.start()
    return made


def test_open_calls_are_let_go_and_nobody_works_on_it_again(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck(monkeypatch)
    put(runtime, "a", "stuck")
    put(runtime, "b", "plain")
    who = cancelling(runtime, "a", stuck, tmp_path)
    assert runtime.live(Life()) == Outcome()
    who.join()
    assert stuck.let_go == 2, "both lanes waited for their model"
    log = runtime.log()
    episode = episode_of(log, "a")
    (said,) = log.records(kinds=["episode.adopted"])
    assert said.event == EpisodeAdopted(void=True, by="ann", reason="asked by mistake")
    assert [key for _, key, *_ in log.messages("answers")] == [episode_of(log, "b")]

    assert runtime.live(Life(settle=True)) == Outcome()
    put(runtime, "a", "stuck")
    assert runtime.live(Life(settle=True)) == Outcome(), "to ask for it again changes nothing"
    assert stuck.calls == 2
    assert "closed" not in runtime.log().journal(episode)
    done = Verifier(runtime.log(), lambda name: PUPIL).run()
    assert (done.diverged, done.unverifiable) == ([], [])


def test_a_place_of_a_series_is_void_and_its_batch_is_learned_from(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck(monkeypatch)
    given = [
        each.model_copy(update={"problem": "stuck"} if each.position == 1 else {})
        for each in problems()
    ]
    runtime.log().publish(*publication(given))
    who = cancelling(runtime, "1", stuck, tmp_path)
    assert runtime.live(Life()) == Outcome()
    who.join()
    log = runtime.log()
    assert sum(1 for _ in log.messages("answers")) == len(given) - 1
    assert len(list(log.records(kinds=["memory.versioned"]))) == 3
    assert Verifier(log, lambda name: PUPIL).run().diverged == []
    assert fold(log, State()).offset == log.end()


def test_one_that_waits_is_taken_out_before_it_opens(runtime: Runtime) -> None:
    """It waits for a version that a missing member holds back."""
    given = [each for each in problems() if each.position != 1]
    runtime.log().publish(*publication(given))
    held = runtime.live(Life())
    assert held is not None
    assert held.held
    log = runtime.log()
    waiting = episode_of(log, "7")
    assert cancel(log, waiting)
    assert not cancel(runtime.log(), waiting), "twice is once"
    assert runtime.live(Life(settle=True)) == Outcome()
    assert sum(1 for _ in runtime.log().messages("answers")) == len(given) - 1
    assert counts(runtime.log())["parked"] == 0


def test_what_has_ended_or_nobody_admitted_is_not_cancelled(runtime: Runtime) -> None:
    put(runtime, "a", "plain")
    assert runtime.live(Life(settle=True)) == Outcome()
    log = runtime.log()
    for episode, code in ((episode_of(log, "a"), "episode.ended"), ("p/d/x/y", "episode.waits")):
        with pytest.raises(CliError) as caught:
            cancel(log, episode)
        assert caught.value.error == code
    assert not list(log.records(kinds=["episode.adopted"]))


def test_figures_say_who_waits_and_who_was_taken_out(tmp_path: Path) -> None:
    with in_a_file() as runtime:
        put(runtime, "a", "plain")
        runtime.live(Life(drains_after=1, delays=(4,)))
        log = runtime.log()
        cancel(log, episode_of(log, "a"))
        with closing(Counts(log.path)) as found:
            found.read()
            assert found.figures.parked == 0
            assert found.figures.taken_out == {episode_of(log, "a")}
