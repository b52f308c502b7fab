"""A policy over a list of problems with a simulator for its model, in memory and at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from handlers.limits import Ledger
from handlers.policies.base import Batch, Member, Policy, Task
from schemas.asking import Steps
from schemas.identity import episode_seed, seed_of
from schemas.memory import Memory
from schemas.questions import Complete
from schemas.settings import PolicySettings
from state.folds.memory import Learned, next_memory
from streams.answering.embedders.hashed import hashed
from streams.core.backbone import ModelReply, ModelRequest
from tests.reflections import reflected
from tests.scripted import Driver, Ran, Replier

Simulator: TypeAlias = Callable[[ModelRequest], ModelReply]


@dataclass
class Walk:
    """What a walk over a series came to, problem by problem, and the memory that it leaves."""

    memory: Memory
    answers: list[str | None] = field(default_factory=list[str | None])
    calls: list[int] = field(default_factory=list[int])


def walk(
    policy: Policy[Any],
    settings: PolicySettings,
    problems: Sequence[str],
    simulator: Simulator,
    *,
    domain: str,
    size: int = 10,
) -> Walk:
    """The policy over problems in batches of ``size``, learning at the end of each."""
    found = Walk(Memory("scope", 0))
    for start in range(0, len(problems), size):
        members: list[Member] = []
        for at, problem in enumerate(problems[start : start + size], start):
            seed = episode_seed(0, 1, domain, f"p{at}")
            task = Task(f"p{at}", problem, domain, seed, found.memory.number)
            members.append(_episode(policy, settings, task, found, simulator))
        number = found.memory.number + 1
        batch = Batch("scope", number, tuple(members), found.memory, number)
        found.memory = _learned(policy, settings, batch, simulator)
    return found


def said(steps: Steps[Any], simulator: Simulator, seed: int = 0) -> Any:
    """What a role or policy comes to, alone and without memory."""
    return _driver(simulator, Memory("scope", 0), seed).drive(steps, Ledger())


def _driver(simulator: Simulator, memory: Memory, seed: int) -> Driver:
    return Driver(_replier(simulator, seed, count()), memory, hashed)


def _replier(simulator: Simulator, seed: int, calls: Iterator[int]) -> Replier:
    def reply(asked: Complete) -> str:
        own = seed_of(seed, next(calls))
        request = ModelRequest(
            messages=asked.messages(), sampling=asked.sampling, seed=own, draw=asked.draw
        )
        return simulator(request).text

    return reply


def _episode(
    policy: Policy[Any], settings: PolicySettings, task: Task, found: Walk, simulator: Simulator
) -> Member:
    driver = _driver(simulator, found.memory, task.seed)
    conclusion = driver.drive(policy.solve(task, settings), Ledger())
    trace = Ran(conclusion, driver.events, driver.asked).trace
    found.answers.append(conclusion.answer)
    found.calls.append(sum(isinstance(asked, Complete) for _, asked in driver.asked))
    summary = policy.reflect(trace, conclusion, settings)
    told = reflected(problem_id=task.id, domain=task.domain, problem=task.problem, summary=summary)
    return Member(f"e/{task.id}", told)


def _learned(
    policy: Policy[Any], settings: PolicySettings, batch: Batch, simulator: Simulator
) -> Memory:
    driver = _driver(simulator, batch.memory, batch.seed)
    driver.drive(policy.learn(batch, settings), Ledger())
    learned = Learned()
    for address, event in driver.events:
        learned.feed(address, event)
    span = policy.live_batches(settings)
    live_from = 1 if span is None else max(1, batch.number - span + 1)
    return next_memory(batch.memory, learned, batch.number, live_from)
