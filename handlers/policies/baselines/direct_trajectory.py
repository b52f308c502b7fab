"""Past trajectories as memory: the most similar ones are shown as they were.

Source: trainable graph memory, App. (baseline: direct trajectory); design/baselines.md.
"""

from __future__ import annotations

from handlers.policies.base import Batch, Conclusion, Policy, Task
from handlers.policies.baselines.remembered import MemorySettings, fresh, guided, reflect
from handlers.policies.last_call import answering
from schemas.asking import Steps
from schemas.events.learning import LessonDistilled
from schemas.questions import Embed

ROLE = "trajectory"


def solve(task: Task, settings: MemorySettings) -> Steps[Conclusion]:
    """The nearest trajectories, then tool-integrated reasoning."""
    return (yield from guided(task, settings, ROLE, ("lesson",)))


def learn(batch: Batch, settings: MemorySettings) -> Steps[None]:
    """Every episode leaves its trajectory, found again by its problem. No model is asked."""
    # Trajectories stand in prompts whole, but are embedded by their problems: a new problem is like
    # an old problem, and like nobody's work on one.
    problems: list[str] = []
    for at, member in enumerate(fresh(batch).members, 1):
        told = member.reflected
        ended = {"right": "It was right.", "wrong": "It was wrong."}.get(member.outcome, "")
        answer = told.summary.get("answer") or "none"
        text = f"{told.problem}\n{told.summary['trajectory']}\nAnswer: {answer}. {ended}".strip()
        problems.append(told.problem)
        yield LessonDistilled(
            id=f"T{batch.number}.{at}",
            role=ROLE,
            polarity="avoid" if member.outcome == "wrong" else "do",
            text=text,
            subject=f"{told.domain}/{told.problem_id}",
            evidence=(member.episode,),
            source="-",
        )
    if problems:
        yield from Embed(tuple(problems))


DIRECT_TRAJECTORY = Policy(
    name="direct_trajectory",
    version="3",
    about="shows the most similar past trajectories, then searches and answers",
    settings=MemorySettings,
    roles=("reasoner",),
    solve=answering(solve),
    learns="labels",
    reflect=reflect,
    learn=learn,
    window=MemorySettings.batch_of,
)
