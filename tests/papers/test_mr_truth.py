"""Meta-Reasoner where the truth is known: SIMULATED worlds in which one arm is best, and is chosen in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from handlers.policies.base import Task
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from handlers.policies.meta_reasoner.strategies import STANDARD
from schemas.identity import hash01
from schemas.questions import Complete
from tests.papers.mr_says import (
    after,
    episode,
    judged,
    noted,
    remembering,
    reported,
    stepped,
    summary,
)
from tests.papers.worlds import LEAST, MANY

WINDOWS, WINDOW = 3, 3
BEST = "a3"
SERVICE = MetaReasonerSettings.resolve(
    "service", {"feature_dims": 8, "window": WINDOW, "max_rounds": 5}
)
PROPOSED = ("Draw what is known.", "Look at a smaller case first.", "Name each unknown.")
HELPED, OTHERWISE = 0.85, 0.45
"""How far a step comes that follows the best arm, and any other."""


def world(seed: int, problem: int) -> Callable[[Complete], str]:
    """A model whose steps are good where they are told to begin anew, and a judge that sees it, with noise."""
    followed = ""

    def reply(question: Complete) -> str:
        nonlocal followed
        told = dict(question.variables)
        match question.role:
            case "step":
                followed = told["advice"]
                return stepped(f"a move of {len(told['trajectory'])}")
            case "reporter":
                return reported(f"attempt {hash01(seed, problem, told['trajectory']) * 4:.0f}")
            case "judge":
                good = followed.startswith(STANDARD[2].text)
                drawn = hash01(seed, problem, "judge", told["steps_made"])
                value = (HELPED if good else OTHERWISE) + 0.3 * (drawn - 0.5)
                return judged(value, value)
            case _:
                drawn = hash01(seed, problem, "note", told["report"])
                return noted(PROPOSED[int(drawn * len(PROPOSED))])

    return reply


def pulls(seed: int) -> dict[str, int]:
    """How often each arm was pulled after three windows of a scope."""
    state: Mapping[str, Any] = {}
    for window in range(WINDOWS):
        left: list[Mapping[str, Any]] = []
        for at in range(WINDOW):
            number = window * WINDOW + at
            task = Task(f"q{number}", f"Problem {number}.", "d", seed * 1_000 + number)
            memory = remembering(state, window)
            ran = episode(world(seed, number), SERVICE, memory=memory, task=task)
            left.append(summary(ran, SERVICE))
        state = after(state, left, SERVICE)
    return {arm["id"]: arm.get("pulls", 0) for arm in state["arms"]}


@pytest.mark.slow
@pytest.mark.claim("mr-linucb", "mr-dyn-grow")
@pytest.mark.timeout(900)
def test_where_arm_three_is_best_it_is_pulled_most_after_three_windows() -> None:
    found = [pulls(seed) for seed in range(MANY)]
    right = sum(max(each, key=lambda arm: each[arm]) == BEST for each in found)
    assert right >= LEAST, right
    assert all(len(each) > len(STANDARD) for each in found), (
        "other strategies were proposed and tried"
    )
