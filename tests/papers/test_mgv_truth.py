"""MGV where the truth is known: SIMULATED worlds in which one strategy is for hard problems, one for easy.

Easy problems are mostly solved by going straight for them and rarely by splitting, hard ones the other way
round. Whether an attempt is right is drawn by world, problem and strategy. It shows that difficulty comes
to steer the choice; it says nothing of any model.
"""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.measured import Measured
from handlers.learning.rules import learned_after
from handlers.policies.base import Task
from handlers.policies.mgv import MGV_FLAVELL
from handlers.policies.mgv.settings import FlavellSettings, rule_constants
from schemas.events.monitoring import StrategyMatched
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.mgv_says import checked, sure
from tests.papers.worlds import LEAST, MANY
from tests.scripted import Ran, run

WINDOWS, WINDOW = 3, 8
ODDS = {("easy", "direct"): 0.95, ("hard", "decompose"): 0.95}
OTHERWISE = 0.1
"""Everything else is right in one of ten tries."""
EASY = "A shop sells {} pens. How many pens is that?"
HARD = (
    "A farmer with {} fields, each of which has 12 rows, first harvests 3 rows a day, then, after 5 days "
    "of rain, which cost him 20 rows, hires 4 people, who harvest 7 rows each; if 2 of them leave on day "
    "9, and 15 rows are lost, on which day is he done, and how many rows has each of them harvested?"
)
SETTINGS = FlavellSettings.resolve("service", {"confidence": "verbal", "max_rounds": 2})


def kind_of(problem: str) -> str:
    return "easy" if "pens" in problem else "hard"


def lived(world: int, at: int, memory: Memory) -> tuple[Ran[Any], Task]:
    """One problem of a world, hard ones and easy ones in turn, with an honest but not perfect check."""
    form = HARD if at % 2 else EASY
    problem = form.format(world * 1000 + at)
    task = Task(f"w{world}-{at}", problem, "stories", seed=world, memory_version=memory.number)
    return run(MGV_FLAVELL.solve(task, SETTINGS), script_of(world, problem), memory=memory), task


def script_of(world: int, problem: str) -> Any:
    given = list[bool]()

    def said(question: Complete) -> str:
        if question.role == "reasoner":
            way = question.template.name.rpartition(".")[2]
            odds = ODDS.get((kind_of(problem), way), OTHERWISE)
            given.append(hash01(world, problem, way, len(given)) < odds)
            return solved("96" if given[-1] else f"{len(given)}")
        true = hash01(world, problem, "check", len(given)) < 0.85
        if question.role == "confidence":
            return sure(0.9 if given[-1] is true else 0.4)
        return checked("PASS" if given[-1] is true else "FAIL")

    return said


def memory_of(world: int) -> Memory:
    """What a world's windows of labelled problems leave to be known."""
    memory = Memory("s", 0)
    for window in range(WINDOWS):
        members = list[Measured]()
        for at in range(window * WINDOW, (window + 1) * WINDOW):
            ran, task = lived(world, at, memory)
            members.append(measured(ran, task))
        constants = rule_constants(SETTINGS)
        learned = learned_after("beliefs@1", memory.learned, members, constants, ())
        memory = Memory("s", window + 1, (), learned)
    return memory


def measured(ran: Ran[Any], task: Task) -> Measured:
    answer = ran.result.answer
    return Measured(
        episode=f"p/stories/{task.id}/run",
        problem=task.problem,
        outcome="right" if answer == "96" else "wrong" if answer else "withheld",
        answer=answer,
        calls=len(ran.requests),
        summary=MGV_FLAVELL.reflect(ran.trace, ran.result, SETTINGS),
    )


def first_choice(form: str, world: int, memory: Memory) -> str:
    """The first strategy for a new problem of a kind."""
    problem = form.format(world * 1000 + 999)
    task = Task("new", problem, "stories", seed=world, memory_version=memory.number)
    ran = run(MGV_FLAVELL.solve(task, SETTINGS), script_of(world, problem), memory=memory)
    return ran.of(StrategyMatched)[0].strategy


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_where_strategies_differ_by_difficulty_the_choice_comes_to_follow_it() -> None:
    chosen = list[tuple[str, str]]()
    for world in range(MANY):
        memory = memory_of(world)
        chosen.append((first_choice(EASY, world, memory), first_choice(HARD, world, memory)))
    both = chosen.count(("direct", "decompose"))
    assert both >= LEAST, (both, sorted(set(chosen)))
