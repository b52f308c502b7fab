"""Every prompt of whole episodes, with what was said before it: for those who ask where a section comes from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import structs

from handlers.limits import Reservation
from handlers.policies.registry import POLICIES
from schemas.asking import Ask
from schemas.events.base import AnswerEvent
from schemas.events.episode import Completed
from schemas.problem import Limits
from schemas.questions import Complete
from schemas.spoken import spoken
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.core.drive import Run
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import Counted, Remembering, produced, quick, worked

SENTENCE = re.compile(r"(?<=[a-z])\.(?=\s|$)")


@dataclass(frozen=True)
class Seen:
    """One prompt: whose template, what its sections held, what each role had said by then, and the turn as asked."""

    template: str
    sections: Mapping[str, str]
    said: Mapping[str, tuple[str, ...]]
    turn: str


@dataclass
class Steady(Remembering):
    """The simulator, whose dice hang on nothing but what it is shown."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await super().complete(structs.replace(request, seed=7))


def signed(text: str, role: str) -> str:
    """A reply in which every sentence names who said it: all simulated roles speak alike."""
    return SENTENCE.sub(f" ({role}).", text)


class Listening(Counted):
    """A world that keeps every prompt and reply."""

    def __init__(self, options: Options) -> None:
        World.__init__(self, {"*": Steady(Rehearsal(options))}, HashedEmbedder())
        self.asked = Counter()
        self.seen: list[Seen] = []
        self.said: dict[str, list[str]] = {}

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        if not isinstance(question, Complete):
            return await super().answer(run, question, asked, address, reserved)
        before = {role: tuple(texts) for role, texts in self.said.items()}
        held = {name: text for name, text in question.variables if text}
        self.seen.append(Seen(question.template.name, held, before, question.template.user(held)))
        reply = await super().answer(run, question, asked, address, reserved)
        assert isinstance(reply, Completed)
        reply = structs.replace(reply, text=signed(reply.text, question.role))
        self.said.setdefault(question.role, []).append(spoken(reply.text).text)
        return reply


@dataclass(frozen=True)
class Series:
    """A short series under a policy, which it learns from where it learns."""

    policy: str
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    problems: str = "game24:901-904"
    calls: int = 24
    options: Options = field(default_factory=lambda: Options(seed=7))


def prompts(one: Series, folder: Path) -> list[Seen]:
    """Every prompt of a series."""
    policy, values = one.policy, one.values
    path, world = folder / "log.db", Listening(one.options)
    path.unlink(missing_ok=True)
    batch = {"batch_size": 2} if "batch_size" in POLICIES[policy].settings.model_fields else {}
    limits = Limits(calls=one.calls)
    produced(path, one.problems, policy=policy, values={**batch, **values}, limits=limits)
    with closing(quick(SqliteLog(path))) as log:
        worked(log, world=world, concurrency=1)
    return world.seen
