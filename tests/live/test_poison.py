"""A prompt that its endpoint never answers: its episode is parked, the rest goes on, nothing is charged."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.retries import Patience
from streams.answering.world import World
from streams.engine.policies import find
from streams.engine.progress import Outcome
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.endpoint import Answer, Asked, Endpoint, drops, fails
from tests.live.thinking import IDLE, QUICK, slowly, think
from tests.streams.backbones.asking import always
from tests.streams.cli.calling import call
from tests.surroundings import Serve

pytestmark = pytest.mark.live

SOON = Patience(attempts=6, seconds=0.2, alone_s=1.0)


def work(log: Path, endpoint: Endpoint) -> Outcome:
    async def body() -> Outcome:
        options = Options(backoff_s=0.005, longest_pause_s=0.05)
        backbone = OpenAIBackbone(environ=endpoint.env(), options=options)
        world = World({"*": backbone}, HashedEmbedder(), patience=SOON)
        worker = Worker(SqliteLog(log), world, find, max_concurrency=4)
        try:
            return await worker.run(until_idle=True)
        finally:
            await world.close()
            worker.log.close()

    return asyncio.run(body())


def poisoned(asked: Asked, fault: Answer) -> Answer:
    """One of the problems is never answered."""
    if "4 4 10 10" in asked.body["messages"][-1]["content"]:
        return fault
    return slowly(0.05)(asked)


@pytest.mark.parametrize("fault", [fails(500, message="it hurts"), drops("before")])
def test_it_is_parked_and_the_others_are_answered(
    serve: Serve, folder: Path, fault: Answer
) -> None:
    endpoint, log = serve(partial(poisoned, fault=fault)), folder / "a.db"
    lines = "".join(
        f'{{"id": "q{n}", "problem": "{"4 4 10 10" if n == 3 else f"4 5 6 {n}"}"}}\n'
        for n in range(40)
    )
    (folder / "in.jsonl").write_text(lines)
    assert call("produce", "in.jsonl", "--policy", "cot", "--log", log).code == 0
    outcome = work(log, endpoint)
    assert [episode.split("/")[2] for episode in outcome.parked] == ["q3"]
    stats = call("log", "stats", "--json", "--log", log).json
    assert (stats["closed"], stats["parked"], stats["repeated_completions"]) == (39, 1, 0)
    assert stats["completions"] == 39, "nothing is charged for it"
    shown = call("doctor", "--log", log)
    assert "q3" in shown.out
    assert "other calls were answered" in shown.out
    assert call("verify", "--log", log).code == 0

    endpoint.script = think
    assert call("doctor", "--adopt", "q3", "--log", log).code == 0
    assert call("worker", "--backbone", QUICK, "--log", log, *IDLE).code == 0
    assert call("log", "stats", "--json", "--log", log).json["closed"] == 40


def test_alone_it_is_parked_after_a_while_and_a_second_one_is_not(
    serve: Serve, folder: Path
) -> None:
    """An endpoint that answers nobody may be down: one episode is the price of not knowing."""
    endpoint, log = serve(always(fails(500))), folder / "a.db"
    assert call("produce", "game24:901-902", "--policy", "cot", "--log", log).code == 0

    async def body() -> int:
        backbone = OpenAIBackbone(environ=endpoint.env(), options=Options(backoff_s=0.005))
        patience = Patience(attempts=2, seconds=0.0, alone_s=0.0)
        world = World({"*": backbone}, HashedEmbedder(), patience=patience)
        worker = Worker(SqliteLog(log), world, find)
        running = asyncio.create_task(worker.run(until_idle=True))
        while not worker.intake.parked():  # noqa: ASYNC110 - it is read from the log
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        parked = len(worker.intake.parked())
        worker.drain()
        await running
        await world.close()
        worker.log.close()
        return parked

    assert asyncio.run(body()) == 1
    assert call("log", "stats", "--json", "--log", log).json["closed"] == 0


def test_a_learner_goes_on_without_what_is_never_answered(serve: Serve, folder: Path) -> None:
    def script(asked: Asked) -> Answer:
        if "a micro-lesson for a Monitor" in asked.body["messages"][0]["content"]:
            return fails(500, message="it hurts")
        return think(asked)

    endpoint, log = serve(script), folder / "a.db"
    words = ("game24:901-910", "--policy", "mc2", "--set", "batch_size=10", "--set", "max_rounds=2")
    assert call("produce", *words, "--log", log).code == 0
    outcome = work(log, endpoint)
    assert not [*outcome.held, *outcome.parked]
    roles = [each["role"] for each in call("lessons", "list", "--json", "--log", log).rows]
    assert "monitor" not in roles
    assert {"reasoner", "controller"} & {*roles}
    told = call("doctor", "--log", log).out
    assert "HTTP 500 it hurts" in told
    (episode,) = {word for word in told.split() if word.startswith("b/") and word[-1] != ":"}
    assert "given up" in call("show", episode, "--log", log).out, told
    assert call("verify", "--log", log).code == 0
