"""Episodes, batches and memory versions of the cascade, driven over scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from handlers.learning.measured import Measured
from handlers.learning.rules import learned_after
from handlers.policies.base import Batch, Conclusion, Member, Task
from handlers.policies.cascade import CASCADE
from handlers.policies.cascade.settings import CascadeSettings, constants
from schemas.events.cascade import AnswerWeighed
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import Check
from state.folds.learned import Learned
from state.folds.succession import Measures, next_memory
from tests.reflections import reflected
from tests.scripted import NO_MEMORY, Ran, Script, run

TASK = Task("q1", "Ada has 3 boxes of 12 eggs and drops 5. How many are whole?", "words", seed=7)


def settings(**values: Any) -> CascadeSettings:
    return CascadeSettings.resolve("service", {"audit": 0.0, **values})


def says(answer: object) -> str:
    return f"So it is {answer}.\nFinal_answer: \\boxed{{{answer}}}"


def found(flag: str, description: str = "NONE") -> str:
    return (
        f"Analysis: each step was done again\nError_description: {description}\nError_found: {flag}"
    )


def episode(
    script: Script,
    own: CascadeSettings | None = None,
    *,
    memory: Memory = NO_MEMORY,
    task: Task = TASK,
    calls: int | None = None,
) -> Ran[Conclusion]:
    task = Task(task.id, task.problem, task.domain, task.seed, memory.number)
    return run(CASCADE.solve(task, own or settings()), script, memory=memory, calls=calls)


def weighed(ran: Ran[Any]) -> list[AnswerWeighed]:
    return ran.of(AnswerWeighed)


def member(
    ran: Ran[Conclusion],
    outcome: Outcome,
    own: CascadeSettings | None = None,
    task: Task = TASK,
    *,
    labelled: bool = True,
) -> Member:
    """The finished episode as a learner sees it."""
    summary = CASCADE.reflect(ran.trace, ran.result, own or settings())
    left = reflected(
        policy="cascade@1",
        problem_id=task.id,
        domain=task.domain,
        problem=task.problem,
        labelled=labelled,
        answer=ran.result.answer,
        summary=summary,
    )
    return Member(f"p/{task.subject}/run", left, outcome)


def learning(
    members: Sequence[Member],
    own: CascadeSettings | None = None,
    *,
    script: Script = (),
    memory: Memory = NO_MEMORY,
    label: Callable[[Check], Outcome] | None = None,
) -> Ran[None]:
    """One learning episode over these members."""
    batch = Batch("s", memory.number + 1, tuple(members), memory, seed=7)
    return run(CASCADE.learn(batch, own or settings()), script, memory=memory, label=label)


def remembered(
    ran: Ran[None],
    members: Sequence[Member],
    own: CascadeSettings | None = None,
    memory: Memory = NO_MEMORY,
) -> Memory:
    """The memory version that follows from a learning episode, by the fold and its rule."""
    said = Learned()
    for address, event in ran.events:
        said.feed(address, event)
    measured = [Measured.of(each.episode, each.outcome, each.reflected) for each in members]
    pinned = constants(own or settings())
    learned = learned_after(CASCADE.rule, memory.learned, measured, pinned, said.facts)
    return next_memory(memory, said, memory.number + 1, 1, Measures(learned))
