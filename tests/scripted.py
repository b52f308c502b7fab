"""Policies over scripted replies, run by the product's own driver: what they asked, stated and came to.

Replies are scripted by role (in the order in which that role is asked), by order alone, or by a
function of the question. A script that runs out, or asks for a role without script, is an error.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import get_ident
from typing import Any, Generic, TypeAlias, TypeVar

from handlers.learning.recall import select
from handlers.limits import Ledger, Reservation
from handlers.policies.base import Trace
from schemas.asking import Ask, Steps
from schemas.events.base import AnswerEvent, Event
from schemas.events.codec import decode, encode
from schemas.events.episode import (
    Checked,
    Completed,
    Embedded,
    Forked,
    LimitReached,
    Recalled,
    ReviewAnswered,
)
from schemas.events.graph import ToolCalled
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import (
    Check,
    Complete,
    Credit,
    Embed,
    Recall,
    Review,
    ToolResult,
    UseTool,
)
from schemas.vectors import as_kept, pack
from state.journal import MemoryRecorder
from streams.answering.world import checked as checked_by_domain
from streams.core.drive import Run, drive

R = TypeVar("R")
E = TypeVar("E", bound=Event)

Replier: TypeAlias = Callable[[Complete], str]
Script: TypeAlias = Mapping[str, Iterable[str]] | Sequence[str] | Replier
Vectors: TypeAlias = Callable[[str], Sequence[float]]

DIMENSIONS = 32
EPISODE = "p/scripted/x/run"
NO_MEMORY = Memory("scripted", 0)


def hashed(text: str) -> tuple[float, ...]:
    """A bag of hashed words: alike for texts that share words."""
    vector = [0.0] * DIMENSIONS
    for word in text.casefold().split():
        vector[int(hash01("word", word) * DIMENSIONS)] += 1.0
    return tuple(vector)


def replier(script: Script) -> Replier:
    """The function that answers completions from a script."""
    if callable(script):
        return script
    if isinstance(script, Mapping):
        queues: dict[str, Iterator[str]] = {role: iter(said) for role, said in script.items()}
        return lambda question: _next(queues.get(question.role, iter(())), question)
    queue = iter(script)
    return lambda question: _next(queue, question)


def _next(queue: Iterator[str], question: Complete) -> str:
    try:
        return next(queue)
    except StopIteration:
        raise AssertionError(f"no reply scripted for {question.role}") from None


class CutOff(str):
    """A scripted reply that its length cut off."""

    __slots__ = ()


def shown(question: Complete) -> str:
    """All that a model would see of this question."""
    return "\n".join(text for _, text in question.messages())


def ended(text: str) -> str:
    """Why a scripted reply ended."""
    if isinstance(text, Refused):
        return "error"
    return "length" if isinstance(text, CutOff) else "stop"


@dataclass
class Ran(Generic[R]):
    """What a run came to, and everything that was recorded on the way."""

    result: R
    events: list[tuple[str, Event]]
    asked: list[tuple[str, Ask[Any]]]

    @property
    def requests(self) -> list[Complete]:
        """The completions asked for, in order; those that a limit refused are not there."""
        limited = {at for at, event in self.events if isinstance(event, LimitReached)}
        found = [question for at, question in self.asked if at not in limited]
        return [question for question in found if isinstance(question, Complete)]

    def asks(self, role: str) -> list[Complete]:
        """The completions asked of one role."""
        return [question for question in self.requests if question.role == role]

    @property
    def roles(self) -> list[str]:
        """Who was asked, in order."""
        return [question.role for question in self.requests]

    def of(self, kind: type[E]) -> list[E]:
        """The recorded events of one kind, in order."""
        return [event for _, event in self.events if isinstance(event, kind)]

    @property
    def facts(self) -> list[str]:
        """The kinds of the facts stated, in order."""
        answers = (Completed, Recalled, Embedded, Checked, Forked, LimitReached, ToolCalled)
        return [event.kind for _, event in self.events if not isinstance(event, answers)]

    @property
    def trace(self) -> Trace:
        """The record, after a round trip through its bytes."""
        return Trace(tuple((at, decode(event.kind, encode(event))) for at, event in self.events))


class Refused(str):
    """No reply at all: what an endpoint comes to that takes no prompt of this length, say."""

    __slots__ = ()


@cache
def loop_of(thread: int) -> asyncio.AbstractEventLoop:
    """One loop for all scripts of a thread: a new one for each takes a third of what a short script takes."""
    made = asyncio.new_event_loop()
    atexit.register(made.close)
    return made


def driven(work: Coroutine[Any, Any, R]) -> R:
    """What comes of it; of lanes that a failure left behind none goes on in the next script."""
    loop = loop_of(get_ident())
    try:
        return loop.run_until_complete(work)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


@dataclass
class Driver:
    """A world of scripts: the product's own driver asks it, and its answers are recorded in memory."""

    reply: Replier
    memory: Memory = NO_MEMORY
    vectors: Vectors = hashed
    tool: Callable[[UseTool], ToolResult] = lambda question: ToolResult("", "refused")
    label: Callable[[Check], Outcome] | None = None
    credit: Callable[[Credit], float | None] = lambda question: None
    logprob: float | None = None
    """What every reply's log-probability is, where one is asked for."""
    answer_logprob: float | None = None
    """That of its answer's tokens alone."""
    model: Callable[[Complete], str] = lambda question: "scripted"
    """Which model answers a question."""
    asked: list[tuple[str, Ask[Any]]] = field(default_factory=list[tuple[str, Ask[Any]]])
    record: MemoryRecorder = field(default_factory=MemoryRecorder)

    @property
    def events(self) -> list[tuple[str, Event]]:
        """What was recorded, in order."""
        return [*self.record.journal(EPISODE).items()]

    def drive(self, steps: Steps[R], ledger: Ledger, at: str = "") -> R:
        """Run to the end, lane after lane. Raises ``OutOfLimit`` where the policy does not catch it."""
        run = Run(EPISODE, {}, 0, self.memory, recorder=self.record, world=self)
        return driven(drive(steps, run, ledger, at))

    def surety(self, question: Complete) -> float | None:
        """The log-probability of the reply to a question."""
        return self.logprob if question.sampling.logprobs else None

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        """The scripted answer to one question. It never waits, so lanes are asked one after another."""
        self.asked.append((address, question))
        match question:
            case Complete():
                text = self.reply(question)
                return Completed(
                    asked=asked,
                    text=str(text),
                    finish=ended(text),
                    model=self.model(question),
                    logprob=self.surety(question),
                    answer_logprob=self.answer_logprob if question.sampling.logprobs else None,
                )
            case Recall():
                hits = select(self.memory, question, as_kept(self.vectors(question.query)))
                found = tuple((item.id, item.text_digest, similarity) for item, similarity in hits)
                return Recalled(asked=asked, memory_version=self.memory.number, items=found)
            case Embed():
                vectors = [as_kept(self.vectors(text)) for text in question.texts]
                return Embedded(
                    asked=asked,
                    embedder="hashed",
                    dimensions=len(vectors[0]),
                    vectors=tuple(map(pack, vectors)),
                )
            case Check():
                if self.label is not None and question.subject:
                    return Checked(asked=asked, outcome=self.label(question), checker="label")
                return checked_by_domain(question, asked)
            case Credit():
                given = self.credit(question)
                return Checked(asked=asked, outcome="unknown", checker="label", credit=given)
            case Review():
                return ReviewAnswered(asked=asked, result="nobody")
            case UseTool():
                told = self.tool(question)
                return ToolCalled(
                    asked=asked, tool=question.tool, result=told.result, text=told.text
                )
            case _:
                raise AssertionError(f"nobody answers {question!r}")


def run(
    steps: Steps[R],
    script: Script,
    *,
    memory: Memory = NO_MEMORY,
    vectors: Vectors = hashed,
    calls: int | None = None,
    tool: Callable[[UseTool], ToolResult] | None = None,
    label: Callable[[Check], Outcome] | None = None,
    credit: Callable[[Credit], float | None] | None = None,
    logprob: float | None = None,
    answer_logprob: float | None = None,
) -> Ran[R]:
    """Drive a policy over a script, with at most so many calls."""
    driver = Driver(replier(script), memory, vectors, label=label, logprob=logprob)
    driver.answer_logprob = answer_logprob
    if tool is not None:
        driver.tool = tool
    if credit is not None:
        driver.credit = credit
    result = driver.drive(steps, Ledger(calls=calls))
    return Ran(result, driver.events, driver.asked)
