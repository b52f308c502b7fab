"""Worlds for random policies: they answer in an order that the test drew, and count what was asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

from handlers.learning.recall import select
from handlers.limits import Ledger, Reservation, prompt_estimate
from schemas.asking import Ask
from schemas.events.base import AnswerEvent, Event
from schemas.events.episode import Completed, Embedded, Recalled
from schemas.identity import hash01, text_digest
from schemas.memory import Memory, MemoryItem
from schemas.problem import Limits
from schemas.questions import Complete, Embed, Recall
from schemas.vectors import as_kept, pack
from state.journal import Crashed, MemoryRecorder, Recorder
from streams.core.drive import Run, drive, replayed
from tests.laws.programs import Program, policy
from tests.scripted import hashed

EPISODE = "p/laws/x/0"
UNLIMITED = Limits()


def lesson(number: int) -> MemoryItem:
    text = f"lesson {number} of {number % 3}"
    return MemoryItem(
        id=f"L{number}",
        kind="lesson",
        role="thinker",
        text=text,
        text_digest=text_digest(text),
        batch=1,
        vector=pack(hashed(text)),
    )


MEMORY = Memory("laws", 1, tuple(map(lesson, range(4))))


def vector(*parts: object) -> tuple[float, ...]:
    return tuple(hash01(*parts, n) - 0.5 for n in range(4))


def say(question: Complete, asked: str, luck: str, reserved: Reservation) -> Completed:
    """A reply that keeps to its reservation; every fifth says nothing about its usage."""
    messages = question.messages()
    estimate = prompt_estimate(sum(len(text) for _, text in messages), len(messages))
    most = 60 if reserved.max_tokens is None else min(60, reserved.max_tokens)
    known = hash01(asked, luck, "known") > 0.2
    return Completed(
        asked=asked,
        text=f"{hash01(asked, luck, 'text')}",
        finish="stop",
        model="law",
        prompt_tokens=int(estimate * hash01(asked, luck, "prompt")) if known else None,
        completion_tokens=round(most * hash01(asked, luck, "reply")) if known else None,
        cost=None,
        seconds=round(3 * hash01(asked, luck, "seconds"), 3) if known else None,
    )


@dataclass
class Paced:
    """Answers when ``release`` is called, the question that the drawn order points at.

    A ``chancy`` world never answers twice alike; any other answers by question and address alone.
    """

    order: Sequence[int] = (0,)
    chancy: bool = False
    luck: Iterator[int] = field(default_factory=count)
    asked: Counter[str] = field(default_factory=Counter[str])
    questions: dict[str, Ask[Any]] = field(default_factory=dict[str, Ask[Any]])
    reserved: dict[str, Reservation] = field(default_factory=dict[str, Reservation])
    waiting: dict[str, asyncio.Future[None]] = field(
        default_factory=dict[str, asyncio.Future[None]]
    )
    cancelled: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.next = cycle(self.order or (0,))

    async def answer(
        self, run: Run, question: Ask[Any], asked: str, address: str, reserved: Reservation
    ) -> AnswerEvent:
        self.asked[address] += 1
        self.questions[address], self.reserved[address] = question, reserved
        self.waiting[address] = asyncio.get_running_loop().create_future()
        try:
            await self.waiting[address]
        except asyncio.CancelledError:
            self.cancelled.append(address)
            raise
        finally:
            del self.waiting[address]
        luck = f"{address} {next(self.luck)}" if self.chancy else address
        return self.event(run, question, asked, luck, reserved)

    def event(
        self, run: Run, question: Ask[Any], asked: str, luck: str, reserved: Reservation
    ) -> AnswerEvent:
        match question:
            case Complete():
                return say(question, asked, luck, reserved)
            case Recall():
                hits = select(run.memory, question, as_kept(hashed(question.query + luck)))
                items = tuple((item.id, item.text_digest, near) for item, near in hits)
                return Recalled(asked=asked, memory_version=run.memory.number, items=items)
            case Embed():
                packed = tuple(pack(vector(luck, text)) for text in question.texts)
                return Embedded(asked=asked, embedder="law", dimensions=4, vectors=packed)
            case _:
                raise AssertionError(question)

    def release(self) -> None:
        """Let one or two of the waiting questions be answered."""
        for _ in range(1 + next(self.next) % 2):
            ready = sorted(at for at, future in self.waiting.items() if not future.done())
            if ready:
                self.waiting[ready[next(self.next) % len(ready)]].set_result(None)


@dataclass
class Ended:
    """How a run ended."""

    result: str | None
    error: BaseException | None
    ledger: Ledger
    world: Paced
    journal: dict[str, Event]


async def paced(program: Program, run: Run, ledger: Ledger, world: Paced) -> str:
    """Drive a program while its world answers in the drawn order."""
    task = asyncio.create_task(drive(policy(program), run, ledger))
    while not task.done():
        for _ in range(1 + next(world.next) % 4):
            await asyncio.sleep(0)
        world.release()
    return await task


def live(
    program: Program,
    recorder: Recorder,
    journal: dict[str, Event],
    world: Paced,
    limits: Limits = UNLIMITED,
) -> Ended:
    """Run a program in an event loop of its own; whatever it raises is kept."""
    run = Run(EPISODE, dict(journal), 7, MEMORY, "events", recorder, world)
    ledger = Ledger.of(limits)
    result: str | None = None
    caught: BaseException | None = None
    try:
        result = asyncio.run(paced(program, run, ledger, world))
    except (Exception, Crashed) as error:
        caught = error
    return Ended(result, caught, ledger, world, run.journal)


def finished(
    program: Program, world: Paced, limits: Limits = UNLIMITED
) -> tuple[Ended, MemoryRecorder]:
    """A run that was never disturbed, and its record."""
    recorder = MemoryRecorder()
    return live(program, recorder, {}, world, limits), recorder


def replay(program: Program, journal: dict[str, Event], limits: Limits = UNLIMITED) -> Ended:
    """Run a program over its record alone, without an event loop."""
    run = Run(EPISODE, dict(journal), 7, MEMORY)
    ledger = Ledger.of(limits)
    result: str | None = None
    caught: BaseException | None = None
    try:
        result = replayed(drive(policy(program), run, ledger))
    except Exception as error:
        caught = error
    return Ended(result, caught, ledger, Paced(), run.journal)
