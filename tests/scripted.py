"""A synchronous driver over scripted replies: what a policy asked, stated and came to.

Replies are scripted by role (in the order in which that role is asked), by order alone, or by a
function of the question. A script that runs out, or asks for a role without script, is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, cast

from handlers.learning.recall import select
from handlers.limits import Ledger
from handlers.policies.base import Trace
from schemas.asking import All, Ask, OutOfLimit, Steps, Stopped
from schemas.events.base import Event
from schemas.events.codec import decode, encode
from schemas.events.episode import Checked, Completed, Embedded, Forked, LimitReached, Recalled
from schemas.events.graph import ToolCalled
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import (
    Check,
    Complete,
    Completion,
    Credit,
    Embed,
    Recall,
    RecalledItem,
    Recollection,
    Remain,
    ToolResult,
    UseTool,
)
from schemas.vectors import as_kept, pack
from streams.world import checked as checked_by_domain

R = TypeVar("R")
E = TypeVar("E", bound=Event)

Replier: TypeAlias = Callable[[Complete], str]
Script: TypeAlias = Mapping[str, Iterable[str]] | Sequence[str] | Replier
Vectors: TypeAlias = Callable[[str], Sequence[float]]

DIMENSIONS = 32
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


def shown(question: Complete) -> str:
    """All that a model would see of this question."""
    return "\n".join(text for _, text in question.messages())


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


@dataclass
class Driver:
    """Answers questions from a script, in lane order."""

    reply: Replier
    memory: Memory = NO_MEMORY
    vectors: Vectors = hashed
    tool: Callable[[UseTool], ToolResult] = lambda question: ToolResult("", "refused")
    label: Callable[[Check], Outcome] | None = None
    credit: Callable[[Credit], float | None] = lambda question: None
    logprob: float | None = None
    """What every reply's log-probability is, where one is asked for."""
    events: list[tuple[str, Event]] = field(default_factory=list[tuple[str, Event]])
    asked: list[tuple[str, Ask[Any]]] = field(default_factory=list[tuple[str, Ask[Any]]])

    def drive(self, steps: Steps[R], ledger: Ledger, at: str = "") -> R:
        """Run to the end. Raises ``OutOfLimit`` where the policy does not catch it."""
        reply: Any = None
        stopped: OutOfLimit | None = None
        turn = 0
        while True:
            try:
                request = steps.send(reply) if stopped is None else steps.throw(stopped)
            except StopIteration as done:
                return cast("R", done.value)
            here, reply, stopped = f"{at}{turn}", None, None
            turn += 1
            if isinstance(request, All):
                reply = self.fork(request, ledger, here)
            elif isinstance(request, Ask):
                try:
                    reply = self.answer(request, ledger, here)
                except OutOfLimit as limit:
                    stopped = limit
            else:
                assert isinstance(request, Event), f"yielded {request!r}"
                self.events.append((here, request))

    def fork(self, request: All[Any], ledger: Ledger, here: str) -> tuple[Any, ...]:
        """Each lane with its share, one after another."""
        lanes = len(request.branches)
        twins = request.twins or None
        forked = Forked(asked=f"All {lanes}", lanes=lanes, allow=request.allow, twins=twins)
        self.events.append((here, forked))
        ledgers = ledger.split(lanes, request.allow) if lanes else []
        pairs = zip(request.branches, ledgers, strict=True)
        results = [
            self.lane(branch, share, f"{here}.{at}.") for at, (branch, share) in enumerate(pairs)
        ]
        ledger.join(ledgers)
        return tuple(results)

    def lane(self, branch: Steps[Any], ledger: Ledger, at: str) -> Any:
        """One lane's result, or what stopped it."""
        try:
            return self.drive(branch, ledger, at)
        except OutOfLimit as limit:
            return Stopped(limit.which)

    def answer(self, question: Ask[Any], ledger: Ledger, here: str) -> Any:
        """The scripted answer to one question, recorded."""
        if isinstance(question, Remain):
            return ledger.remaining()
        self.asked.append((here, question))
        asked = question.fingerprint()
        match question:
            case Complete():
                return self.complete(question, asked, ledger, here)
            case Recall():
                return self.recall(question, asked, here)
            case Embed():
                vectors = [as_kept(self.vectors(text)) for text in question.texts]
                packed = tuple(map(pack, vectors))
                dimensions = len(vectors[0])
                event = Embedded(
                    asked=asked, embedder="hashed", dimensions=dimensions, vectors=packed
                )
                self.events.append((here, event))
                return tuple(vectors)
            case Check():
                checked = checked_by_domain(question, asked)
                if self.label is not None and question.subject:
                    checked = Checked(asked=asked, outcome=self.label(question), checker="label")
                self.events.append((here, checked))
                return checked.outcome
            case Credit():
                checked = Checked(
                    asked=asked, outcome="unknown", checker="label", credit=self.credit(question)
                )
                self.events.append((here, checked))
                return checked.credit
            case UseTool():
                found = self.tool(question)
                called = ToolCalled(
                    asked=asked,
                    tool=question.tool,
                    result=found.result,
                    text=found.text,
                )
                self.events.append((here, called))
                return found
            case _:
                raise AssertionError(f"nobody answers {question!r}")

    def complete(self, question: Complete, asked: str, ledger: Ledger, here: str) -> Completion:
        """The next scripted reply, if a limit covers it."""
        reserved = ledger.reserve(0, question.sampling.max_tokens, None, question.keeps)
        if isinstance(reserved, str):
            self.events.append((here, LimitReached(asked=asked, which=reserved)))
            raise OutOfLimit(reserved)
        logprob = self.logprob if question.sampling.logprobs else None
        text = self.reply(question)
        event = Completed(asked=asked, text=text, finish="stop", model="scripted", logprob=logprob)
        ledger.settle(reserved, None, None, None)
        self.events.append((here, event))
        return Completion(here, event.text, event.finish, event.model, logprob=logprob)

    def recall(self, question: Recall, asked: str, here: str) -> Recollection:
        """What memory holds, by the rule that the real world uses."""
        hits = select(self.memory, question, as_kept(self.vectors(question.query)))
        found = tuple((item.id, item.text_digest, similarity) for item, similarity in hits)
        version = self.memory.number
        self.events.append((here, Recalled(asked=asked, memory_version=version, items=found)))
        items = [RecalledItem(i.id, i.kind, i.role, i.text, s) for i, s in hits]
        return Recollection(version, tuple(items), self.memory.learned)


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
) -> Ran[R]:
    """Drive a policy over a script, with at most so many calls."""
    driver = Driver(replier(script), memory, vectors, label=label, logprob=logprob)
    if tool is not None:
        driver.tool = tool
    if credit is not None:
        driver.credit = credit
    result = driver.drive(steps, Ledger(calls=calls))
    return Ran(result, driver.events, driver.asked)
