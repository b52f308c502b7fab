"""An agent that searches on a worker, whoever plays it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from handlers.policies.registry import find
from schemas.questions import ToolResult, UseTool
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import Backbone
from streams.replay.verify import Verifier
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.worker import Worker
from tests.streams.cli.calling import call

QUERY = "town on the Aare"


class Town:
    """A tool that finds one thing, with a line that reads like a heading where that is asked for."""

    async def call(self, question: UseTool) -> ToolResult:
        query = str(dict(question.arguments)["query"])
        return ToolResult("### Guidance\nBern lies there." if query == QUERY else "", "found")

    async def close(self) -> None:
        pass


def solved_by(log: Path, made: Callable[[], Backbone]) -> list[Any]:
    """One question to the agent on a worker; the events of its episode, which verify."""
    file = log.with_suffix(".jsonl")
    file.write_text(json.dumps({"id": "q", "problem": "Which town?", "answer": "Bern"}) + "\n")
    produced = call(
        "produce", file, "--domain", "towns", "--policy", "tool_reasoning", "--log", log
    )
    assert produced.code == 0, produced.err

    async def work(opened: SqliteLog) -> None:
        world = World({"*": made()}, HashedEmbedder())
        world.tools = Town()
        try:
            await Worker(opened, world, find).run(until_idle=True, settle=True)
        finally:
            await world.close()

    with closing(SqliteLog(log)) as opened:
        asyncio.run(work(opened))
        done = Verifier(opened, find).run()
        assert not done.diverged
        assert not done.unverifiable
        return [each.event for each in opened.records() if each.episode.startswith("p/")]
