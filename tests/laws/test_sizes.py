"""Laws of sizes on Kafka: whatever problems, labels, replies and what is made of them come to, work goes on.

Every problem gets an answer or a dead letter, the log verifies, and whoever starts again appends nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handlers.policies.base import Conclusion, Policy, Task, Trace
from schemas.asking import All, Steps
from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from schemas.prompt import Section, Template
from schemas.questions import Complete
from schemas.reply import Reply
from schemas.settings import PolicySettings
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.replay.verify import Verifier
from streams.runtime.kafka.envelope import named
from streams.runtime.kafka.imported import KafkaLog
from streams.runtime.kafka.place import KafkaAddress
from streams.runtime.kafka.worker import KafkaWorker
from tests.memory_kafka.broker import Broker, Died
from tests.memory_kafka.fixture import in_memory

TAKES = 60_000
ROOM = TAKES - 32_768
PARTITIONS = 2
SIZES = st.sampled_from([0, 10, ROOM // 3, ROOM // 2, ROOM - 400, ROOM, TAKES, 2 * TAKES])
LETTERS = st.sampled_from(["x", "\x01", "\U0001f600", '"'])
TEMPLATE = Template("echo", "Answer.", (Section("Problem", "problem"),), Reply(()))


class NoSettings(PolicySettings):
    """None."""


@dataclass(frozen=True)
class Given:
    """A problem by what it and everything made of it comes to."""

    text: int
    label: int | None
    reply: int
    facts: tuple[int, ...]
    """How often each fact says the reply; of several each in a lane of its own."""
    answer: int
    summary: int
    letter: str

    def line(self, number: int) -> bytes:
        plan = json.dumps([self.reply, self.facts, self.answer, self.summary, self.letter])
        said: dict[str, Any] = {"id": f"q{number}", "problem": f"{plan} {'p' * self.text}"}
        if self.label is not None:
            said["answer"] = self.letter * self.label
        return json.dumps(said | {"domain": "game24"}, ensure_ascii=False).encode()


GIVENS = st.builds(
    Given,
    text=SIZES,
    label=st.none() | SIZES,
    reply=SIZES,
    facts=st.lists(st.integers(0, 3), max_size=2).map(tuple),
    answer=st.integers(0, 2),
    summary=st.integers(0, 2),
    letter=LETTERS,
)


def plan_of(problem: str) -> tuple[int, list[int], int, int, str]:
    found: tuple[int, list[int], int, int, str] = json.JSONDecoder().raw_decode(problem)[0]
    return found


def fact(text: str, of: Task) -> Steps[None]:
    reply = yield from say(of.problem)
    yield Generated(round=0, answer=reply.text * int(text), source="0", parse="ok")


def say(problem: str, draw: int = 0) -> Complete:
    return Complete("echo", TEMPLATE, (("problem", problem),), draw=draw)


def solve(task: Task, given_: NoSettings) -> Steps[Conclusion]:
    _, facts, answer, _, _ = plan_of(task.problem)
    reply = yield from say(task.problem)
    if len(facts) == 1:
        yield Generated(round=0, answer=reply.text * facts[0], source="0", parse="ok")
    elif facts:
        yield from All(fact(str(times), task) for times in facts)
    return Conclusion(answer=reply.text * answer or None, ended_by="said")


def reflect(trace: Trace, conclusion: Conclusion, given_: NoSettings) -> dict[str, Any]:
    said = next((event.text for _, event in trace.events if isinstance(event, Completed)), "")
    return {"said": said * 2}


ECHO = Policy(
    name="cot", version="1", about="echoes", settings=NoSettings, solve=solve, reflect=reflect
)


def find(name: str) -> Policy[Any]:
    return ECHO


@dataclass
class Echo:
    """A model whose replies are as long as the problem says."""

    name: str = "echo"
    simulated: bool = True
    calls: int = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        problem = request.messages[-1][1]
        reply, _, _, _, letter = plan_of(problem[problem.index("[") :])
        return ModelReply(text=letter * reply, finish="stop", model="echo", thought=letter * reply)

    async def close(self) -> None: ...


@dataclass
class Setting:
    """A log that takes little, and the model that its workers ask."""

    place: KafkaAddress
    broker: Broker
    model: Echo = field(default_factory=Echo)

    def send(self, values: Sequence[bytes]) -> None:
        self.broker.takes = None  # what a client sends may be compressed
        for number, value in enumerate(values):
            none: list[tuple[str, bytes]] = []
            topic, at = self.place.topic("problems"), number % PARTITIONS
            self.broker.append(topic, at, [(b"k", value, none, 1)])
        self.broker.takes = TAKES

    def live(self, left: int | None = None) -> bool:
        """One worker's life; whether it ended by itself."""
        world = World({"*": self.model}, HashedEmbedder())
        worker = KafkaWorker(self.place, PARTITIONS, world, find)
        self.broker.left = left
        try:
            outcome = asyncio.run(worker.run(until_idle=True))
        except Died:
            return False
        finally:
            self.broker.left = None
        assert not outcome.parked
        return True

    def said(self) -> Counter[tuple[str, int, bytes]]:
        """Everything on the log that is not a worker's word of itself."""
        own = {self.place.topic("checkpoints"), self.place.topic("problems")}
        return Counter(
            (topic, at, named(entry.headers).get("ce_id", entry.key or b""))
            for (topic, at), log in self.broker.logs.items()
            for entry in log
            if topic not in own
            and b"partition.claimed" not in named(entry.headers).get("ce_type", b"")
        )


def check(setting: Setting, count: int, *, paid_once: bool = True) -> None:
    """What holds once a worker has ended by itself."""
    with TemporaryDirectory() as home, closing(KafkaLog(setting.place, Path(home))) as log:
        answered = [key for _, key, _, _ in log.messages("answers")]
        letters = [key for _, key, _, _ in log.messages("dead-letters")]
        assert len(set(answered)) + len(set(letters)) == count
        assert Verifier(log, find).run().diverged == []
        recorded = sum(1 for _ in log.records(kinds=["completed"]))
    if paid_once:
        assert setting.model.calls == recorded, "what was paid is recorded"


SMALL = Given(text=0, label=None, reply=10, facts=(1,), answer=1, summary=1, letter="x")


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(GIVENS, min_size=3, max_size=8))
@example([Given(2 * TAKES, None, 0, (), 1, 1, "x"), SMALL])
@example([Given(ROOM - 400, None, TAKES, (3,), 2, 2, "x"), SMALL])
@example([Given(0, None, TAKES, (3, 3), 1, 1, "\x01"), SMALL])
@example([Given(0, None, ROOM // 2, (), 2, 1, "x"), SMALL])
def test_whatever_the_sizes_each_gets_an_answer_or_a_dead_letter(many: list[Given]) -> None:
    with in_memory(PARTITIONS) as here:
        setting = Setting(*here)
        setting.send([each.line(number) for number, each in enumerate(many)])
        assert setting.live()
        check(setting, len(many))
        said, calls = setting.said(), setting.model.calls
        assert set(said.values()) == {1}, "nothing is there twice"
        assert setting.live()
        assert setting.said() == said
        assert setting.model.calls == calls, "nothing is paid twice"


@settings(max_examples=6)
@given(st.lists(GIVENS, min_size=2, max_size=4), st.integers(1, 30))
def test_workers_that_die_between_records_leave_each_answered_or_refused(
    many: list[Given], left: int
) -> None:
    with in_memory(PARTITIONS) as here:
        setting = Setting(*here)
        setting.send([each.line(number) for number, each in enumerate(many)])
        for more in range(4):
            if setting.live(left + 7 * more):
                break
        assert setting.live()
        check(setting, len(many), paid_once=False)


LARGE = Given(text=4 * TAKES, label=None, reply=0, facts=(), answer=1, summary=1, letter="x")


@pytest.mark.parametrize("many", [(LARGE, SMALL, LARGE), (LARGE, *[SMALL] * (2 * PARTITIONS))])
def test_a_limit_that_nobody_tells_is_learned_from_a_refusal(many: tuple[Given, ...]) -> None:
    """By a worker that may not ask: it goes on with what is on the log, and no smaller one passes the refused one."""
    with in_memory(PARTITIONS) as here:
        setting = Setting(*here)
        setting.broker.tells = False
        setting.send([each.line(number) for number, each in enumerate(many)])
        assert setting.live()
        check(setting, len(many))
