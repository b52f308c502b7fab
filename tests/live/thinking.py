"""Endpoints that think: the rehearsal model behind HTTP, in every mood that a test asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from schemas.events.episode import EpisodeOpened
from schemas.events.learning import BatchClosed
from schemas.identity import call_seed
from schemas.questions import Sampling
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.core.backbone import ModelRequest
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, Endpoint, Script, streamed, whole

MODEL = Rehearsal(Options(seed=7))
KEY = "sk-never-to-be-seen"
QUICK = "openai?backoff_s=0.01&longest_pause_s=0.05&send_seed=true"
"""Each call has a seed of its own, by which what became of it is found again."""
SILENT = Answer(latency_s=3600.0)
IDLE = ("--until-idle", "--settle", "--no-tables", "--display", "none")


def think(asked: Asked) -> Answer:
    """What the rehearsal model says, in one piece or streamed as asked."""
    body = asked.body
    messages = tuple((each["role"], each["content"]) for each in body["messages"])
    sampling = Sampling(max_tokens=body.get("max_tokens"))
    said = MODEL.reply(ModelRequest(messages=messages, sampling=sampling, seed=body.get("seed", 0)))
    usage = {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.completion_tokens}
    if body.get("stream"):
        pieces = [said.text[at : at + 40] for at in range(0, len(said.text) or 1, 40)]
        return streamed(pieces, finish=said.finish, usage=usage)
    return whole(said.text, finish=said.finish, usage=usage)


def slowly(seconds: float) -> Script:
    """Thinking takes its time."""
    return lambda asked: replace(think(asked), latency_s=seconds)


def after(calls: int, fault: Answer) -> Script:
    """So many good answers, and then nothing but the fault."""
    good: list[int] = []

    def script(asked: Asked) -> Answer:
        if len(good) >= calls:
            return fault
        good.append(asked.number)
        return think(asked)

    return script


class EndpointAt(Endpoint):
    """An endpoint on a port that was used before."""

    def __init__(self, url: str, script: Script = think) -> None:
        self._port = int(url.rpartition(":")[2].partition("/")[0])
        super().__init__(script)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", self._port, backlog=2048)


def seeds(log: SqliteLog) -> set[int]:
    """The seeds of all calls whose answers are on record: each call has its own."""
    # Answers before openings: a worker goes on meanwhile, and each answer's episode was opened before it.
    rows = log.db.execute(
        "select episode, address from records where kind = 'completed'"
    ).fetchall()
    runs: dict[str, int] = {}
    for record in log.records(kinds=("episode.opened", "batch.closed")):
        event = record.event
        assert isinstance(event, EpisodeOpened | BatchClosed)
        runs[record.episode] = event.seed
    return {call_seed(runs[episode], address) for episode, address in rows}


def asked_of(endpoint: Endpoint) -> list[int]:
    """The seeds of all requests, in order."""
    return [int(asked.body["seed"]) for asked in endpoint.asked]


def reading(path: Path, look: Callable[[SqliteLog], Any]) -> Any:
    """A look at a log."""
    log = SqliteLog(path)
    try:
        return look(log)
    finally:
        log.close()
