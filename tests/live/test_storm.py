"""Under fire: refusals, failures, resets, slow, stalled and truncated streams, broken JSON, no usage."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.price import Price
from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.engine.policies import find
from streams.engine.progress import Outcome
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.endpoint import Endpoint
from tests.live.storm import LATENCY_S, Storm
from tests.live.thinking import reading
from tests.pace import soon
from tests.streams.cli.calling import call
from tests.surroundings import Serve

pytestmark = [pytest.mark.live, pytest.mark.slow]

CALLS, LIMITED, TOKENS, COST = 5, 3, 2000, 0.002
"""Calls of a problem without limits; of each four, one has none, and one each of calls, tokens, cost."""
PRICE = Price(prompt=1.0, completion=2.0)


def source(folder: Path, problems: int) -> Path:
    """Problems with limits of their own."""
    limits = [{}, {"calls": LIMITED}, {"tokens": TOKENS}, {"cost": COST}]
    lines = [
        json.dumps({"id": f"q{n}", "problem": f"{n} + {n + 1}", "limits": limits[n % 4]})
        for n in range(problems)
    ]
    path = folder / "in.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def work(log: Path, endpoint: Endpoint, slower: float) -> Outcome:
    async def body() -> Outcome:
        # Who gives up on a reply that is there but not yet read asks for it twice: a busy machine reads later.
        options = Options(stream=True, idle_s=slower, timeout_s=10 * slower, backoff_s=0.1 * slower)
        backbone = OpenAIBackbone(environ=endpoint.env(), options=options)
        world = World({"*": backbone}, HashedEmbedder(), prices={"check": PRICE})
        worker = Worker(SqliteLog(log), world, find)
        try:
            return await worker.run(until_idle=True)
        finally:
            await world.close()
            worker.log.close()

    return asyncio.run(body())


def weathered(serve: Serve, folder: Path, problems: int, rate: float) -> Storm:
    """A storm over so many problems at so many requests a second of a desk, and everything that must hold after it."""
    # On a machine that is slower, or shared, it is the same storm in slow motion: all of its times are stretched alike.
    # Of one that refuses as slowly and replies as fast as ever, its users would use less, however well they did.
    slower = soon(1.0)
    storm, log = Storm(rate / slower, latency_s=LATENCY_S * slower), folder / "a.db"
    endpoint = serve(storm)
    words = ("produce", source(folder, problems), "--policy", "self_consistency", "--log", log)
    assert call(*words).code == 0
    outcome = work(log, endpoint, slower)
    assert not [*outcome.held, *outcome.parked]
    answers = call("consume", "--json", "--log", log).rows
    all_ended(answers, problems)
    limits_kept(answers)
    counted_once(log, endpoint, storm)
    assert call("verify", "--log", log).code == 0
    return storm


def all_ended(answers: list[dict[str, Any]], problems: int) -> None:
    assert len({answer["problem_id"] for answer in answers}) == len(answers) == problems
    for answer in answers:
        assert answer["status"] in ("answered", "abstained", "exhausted", "failed")
        assert answer["ended_by"]
        assert answer["status"] != "answered" or answer["answer"] is not None


def limits_kept(answers: list[dict[str, Any]]) -> None:
    """To the call; to the token and to the cost where the server said what there was."""
    for answer in answers:
        usage, kind = answer["usage"], int(answer["problem_id"][1:]) % 4
        assert usage["calls"] <= (LIMITED if kind == 1 else CALLS)
        known = [usage["prompt_tokens"], usage["completion_tokens"]]
        assert kind != 2 or None in known or sum(known) <= TOKENS
        assert kind != 3 or usage["cost"] is None or usage["cost"] <= COST


def counted_once(log: Path, endpoint: Endpoint, storm: Storm) -> None:
    """Each request is an attempt of one completion; what was answered well is never asked again."""
    stats = call("log", "stats", "--json", "--log", log).json
    assert stats["repeated_completions"] == stats["stale_completions"] == 0
    total = "select sum(json_extract(body, '$.attempts')) from records where kind = 'completed'"
    attempts = reading(log, lambda it: it.db.execute(total).fetchone()[0])
    assert attempts == len(endpoint.asked) == storm.admitted + storm.refused
    assert max(storm.delivered.values()) == 1
    assert storm.delivered.total() <= stats["completions"]


def test_everything_ends_well_in_a_storm(serve: Serve, folder: Path) -> None:
    storm = weathered(serve, folder, problems=75, rate=40.0)
    print(storm.told())
    assert storm.used >= 0.6, storm.told()
    assert storm.refused


@pytest.mark.soak
def test_five_thousand_calls_in_a_storm(serve: Serve, folder: Path) -> None:
    problems = int(os.environ.get("STORM_PROBLEMS", "1200"))
    rate = float(os.environ.get("STORM_RATE", "100"))
    storm = weathered(serve, folder, problems, rate)
    print(storm.told())
    assert storm.delivered.total() >= 4 * problems
    assert storm.used >= 0.8, storm.told()
