"""Graph memory where the truth is known: SIMULATED worlds in which one principle helps and one harms.

What a problem earns is drawn by its seed: half of the problems are solved without a principle, most with
the one that helps, few with the one that harms. It shows that weighing finds out; it says nothing of any
model.
"""

from __future__ import annotations

import pytest

from handlers.learning import graph
from handlers.learning.reinforce import relevance, softmax
from handlers.policies.base import Task
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import Check, Complete
from tests.papers.gm_says import (
    GOOD,
    NEAR,
    OTHER,
    PROBLEM,
    learning,
    member,
    remembered,
    remembering,
)
from tests.papers.worlds import LEAST, MANY
from tests.scripted import run

PROBLEMS = 60
ODDS = {"": 0.5, "advice helps": 0.9, "advice idle": 0.5, "advice harms": 0.1}


def earned(world: int, problem: str, guidance: str) -> Outcome:
    """What a run of a problem comes to in this world."""
    return "right" if hash01(world, problem, guidance) < ODDS[guidance] else "wrong"


def before() -> Memory:
    """A similar case by two paths; all three principles stand on both."""
    names = {"harms": 1.0, "helps": 1.0, "idle": 1.0}
    return remembering({NEAR: {GOOD: "right", OTHER: "right"}}, {GOOD: names, OTHER: names})


def lived(world: int) -> Memory:
    """The memory after this world's problems were weighed, one by one."""
    memory = before()
    for at in range(PROBLEMS):
        problem = f"{NEAR} Number {world} {at}."

        def said(question: Complete, problem: str = problem) -> str:
            return (
                f"<answer>{earned(world, problem, dict(question.variables)['guidance'])}</answer>"
            )

        def label(question: Check) -> Outcome:
            return "right" if question.answer == "right" else "wrong"

        one = member(earned(world, problem, ""), None, problem, phase="weigh")
        ran = learning(one, script=said, memory=memory, label=label)
        memory = remembered(ran, memory)
    return memory


def share(memory: Memory) -> float:
    """p of the principle that helps, for a problem like the case."""
    [similar] = memory.learned["cases"]
    return softmax(relevance(graph.active(memory.learned, {similar: 0.9})))["helps"]


def shown_first(memory: Memory) -> str:
    """What the prompt of the next problem holds, where one principle is shown."""
    task = Task("next", PROBLEM, "qa", 7, memory.number)
    settings = GraphSettings(principles_shown=1)
    ran = run(GRAPH_MEMORY.solve(task, settings), ["<answer>x</answer>"], memory=memory)
    return dict(ran.requests[0].variables)["guidance"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_where_a_principle_helps_its_weight_rises_and_prompts_show_it() -> None:
    start = share(before())
    lives = [lived(world) for world in range(MANY)]
    assert shown_first(before()) == "advice harms", "before anything is learned the names decide"
    rose = sum(share(memory) > start for memory in lives)
    shown = sum(shown_first(memory) == "advice helps" for memory in lives)
    assert min(rose, shown) >= LEAST, (rose, shown)
