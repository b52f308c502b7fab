"""A worker on Kafka whose model is a pause: every call is noted in a file, so that each can be accounted for.

``python -m tests.live.stepping URL FILE`` runs one, with the settings of its environment.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import orjson

from handlers.policies.base import Conclusion, Policy, Task, Trace
from schemas.asking import Steps
from schemas.prompt import Section, Template
from schemas.questions import Complete
from schemas.reply import Reply
from schemas.settings import PolicySettings
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.engine.policies import find as find_own
from streams.runtime.kafka import topics
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.watchdog import STILL_S
from streams.runtime.kafka.worker import KafkaWorker

TEMPLATE = Template("walker", "Take a step.", (Section("Problem", "problem"),), Reply(()))
NOTE_S = 0.1
LONG, LONG_S = "take your time", 3_600.0
"""What a problem says that nobody is to solve, and how long nobody does."""


class StepSettings(PolicySettings):
    """How far to go."""

    steps: int = 6


def solve(task: Task, given: StepSettings) -> Steps[Conclusion]:
    """One call after another."""
    for step in range(given.steps):
        yield Complete("walker", TEMPLATE, (("problem", task.problem),), draw=step)
    return Conclusion(answer=str(given.steps), ended_by="arrived")


def reflect(trace: Trace, conclusion: Conclusion, given: StepSettings) -> dict[str, Any]:
    return {}


STEPPING = Policy(
    name="stepping",
    version="1",
    about="takes so many steps",
    settings=StepSettings,
    solve=solve,
    learns="none",
    reflect=reflect,
)


def find(name: str) -> Policy[Any]:
    return STEPPING if name == STEPPING.name else find_own(name)


class Pause:
    """A model that takes its time; each call is noted as it begins and as it ends."""

    name = "pause"
    simulated = True

    def __init__(self, seconds: float, notes: TextIO) -> None:
        self.seconds, self.notes, self.flying = seconds, notes, 0

    def note(self, **said: Any) -> None:
        self.notes.write(orjson.dumps({"t": time.time(), **said}).decode() + "\n")
        self.notes.flush()

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.flying += 1
        self.note(ask=request.seed)
        try:
            await asyncio.sleep(LONG_S if LONG in str(request.messages) else self.seconds)
        finally:
            self.note(done=request.seed)
            self.flying -= 1
        return ModelReply(
            text="a step",
            finish="stop",
            model="pause",
            prompt_tokens=10,
            completion_tokens=2,
            seconds=self.seconds,
        )

    async def close(self) -> None:
        """Nothing is held."""


async def work(url: str, notes: TextIO) -> None:
    """Work until told to drain."""
    given = os.environ.get
    pause = Pause(float(given("STEP_S", "1")), notes)
    place = KafkaAddress.of(url)
    session_ms = int(given("SESSION_MS", "3000"))
    worker = KafkaWorker(
        place,
        await topics.checked(place),
        World({"*": pause}, HashedEmbedder(16)),
        find,
        name=f"w{os.getpid()}",
        max_concurrency=int(given("SLOTS", "4000")),
        session_ms=session_ms,
        still_s=STILL_S * session_ms / 20_000,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.drain)
    noting = asyncio.create_task(_note(worker, pause))
    await worker.run()
    noting.cancel()


async def _note(worker: KafkaWorker, pause: Pause) -> None:
    """How the worker stands, now and then."""
    while True:
        owned = worker.owning.partitions.values()
        pause.note(
            flying=pause.flying,
            live=sum(each.live for each in owned),
            takeovers=worker.owning.takeovers,
            replayed=worker.owning.replayed,
            assignments=worker.owning.assignments,
            waits=worker.lease.waits,
        )
        await asyncio.sleep(NOTE_S)


if __name__ == "__main__":
    with Path(sys.argv[2]).open("a", encoding="utf-8") as opened:
        asyncio.run(work(sys.argv[1], opened))
