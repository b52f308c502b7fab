"""Worlds of which we know what is true: the bandit comes to choose the arm that is best, and what harms leaves.

Each claim is asked of 200 seeded worlds, of which it must hold in at least 95 of a hundred; where a world
takes a whole series of episodes, of 60 with every run of the suite, and of 200 with `make soak`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from handlers.learning.recall import select
from handlers.learning.retire import shared, tallied
from handlers.policies.base import Task
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings
from handlers.policies.meta_reasoner.strategies import STANDARD
from schemas.events.learning import LessonDistilled
from schemas.identity import hash01, text_digest
from schemas.memory import Memory, MemoryItem
from schemas.questions import Complete, Recall
from schemas.vectors import as_kept, pack
from state.folds.learned import Learned
from state.folds.succession import Measures, next_memory
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
from tests.papers.worlds import ENOUGH, MANY, SERIES, least
from tests.scripted import hashed

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
@SERIES
def test_where_arm_three_is_best_it_is_pulled_most_after_three_windows(worlds: int) -> None:
    found = [pulls(seed) for seed in range(worlds)]
    right = sum(max(each, key=lambda arm: each[arm]) == BEST for each in found)
    assert right >= least(worlds), right
    assert all(len(each) > len(STANDARD) for each in found), (
        "other strategies were proposed and tried"
    )


# ── A lesson that harms ──────────────────────────────────────────────────────────────────────

LESSON = "Guess early."
UNHARMED = 0.8
BATCHES, MEMBERS = 6, 10


def lesson(name: str, text: str) -> MemoryItem:
    vector = pack(as_kept(hashed(text)))
    return MemoryItem(name, "lesson", "reasoner", text, text_digest(text), 1, vector=vector)


HARMFUL = 0.2
REWORDED = ("Guess early.", "Guess, and early.", "Early on, guess.", "Guess, early.")


def relearned(seed: int, batch: int, rule: str, memory: Memory) -> Memory:
    """The next version of a memory to which each batch brings the harmful lesson in other words, with one that is not.

    Lessons live for three batches; whichever of them are in service are shown in turn, every other time.
    """
    live = [item for item in memory.items if item.text in REWORDED]
    episodes: list[tuple[tuple[str, ...], str]] = []
    for at in range(MEMBERS):
        shown = live[at // 2 % len(live)] if live and at % 2 == 0 else None
        chance = UNHARMED if shown is None else HARMFUL
        right = hash01(seed, batch, at) < chance
        marks = () if shown is None else (shown.mark,)
        episodes.append((marks, "right" if right else "wrong"))
    alike = rule == "opportunities@2"
    standing = tallied(memory.standing, shared(memory.standing, episodes) if alike else episodes)
    learned, number = Learned(), memory.number + 1
    text = REWORDED[batch % len(REWORDED)]
    said = LessonDistilled(
        id=f"L{number}.R1", role="reasoner", polarity="do", text=text, subject="d/x",
        evidence=(), source="0", vector=pack(as_kept(hashed("guess early"))),
    )  # fmt: skip
    learned.feed("0", said)
    return next_memory(memory, learned, number, number - 2, Measures({}, standing, None, rule))


def test_a_lesson_that_harms_does_not_come_back_in_other_words() -> None:
    """Each of its names is gone before it was seen ten times; together they are seen often enough."""
    gone = dict.fromkeys(("opportunities@1", "opportunities@2"), 0)
    for seed in range(MANY):
        for rule in gone:
            memory = Memory("s", 0)
            for batch in range(2 * BATCHES):
                memory = relearned(seed, batch, rule, memory)
            gone[rule] += not any(item.text in REWORDED for item in memory.items)
    assert gone["opportunities@2"] >= ENOUGH * MANY, gone
    assert gone["opportunities@1"] <= 0.2 * MANY, gone


def after_batches(seed: int, with_it: float) -> Memory:
    """The memory after six batches in which every other episode had a lesson that made it right so often."""
    memory = Memory("s", 1, (lesson("L1.1", LESSON), lesson("L1.2", "Check the units.")))
    for batch in range(BATCHES):
        episodes: list[tuple[tuple[str, ...], str]] = []
        for at in range(MEMBERS):
            shown = at % 2 == 0 and memory.item("L1.1") in memory.items
            chance = with_it if shown else UNHARMED
            right = hash01(seed, batch, at) < chance
            episodes.append((("L1.1",) if shown else ("L1.2",), "right" if right else "wrong"))
        standing = tallied(memory.standing, episodes)
        measures = Measures({}, standing, retirement="opportunities@1")
        memory = next_memory(memory, Learned(), memory.number + 1, 1, measures)
    return memory


def recalled(memory: Memory) -> list[str]:
    question = Recall("Guess early or check the units?", ("reasoner",), 3, ("lesson",))
    return [item.text for item, _ in select(memory, question, as_kept(hashed(question.query)))]


def test_where_a_lesson_harms_it_is_retired_and_recalled_no_more() -> None:
    gone = sum(LESSON not in recalled(after_batches(seed, 0.2)) for seed in range(MANY))
    assert gone >= ENOUGH * MANY, gone


def test_where_a_lesson_helps_it_stays() -> None:
    stays = sum(LESSON in recalled(after_batches(seed, 1.0)) for seed in range(MANY))
    assert stays >= ENOUGH * MANY, stays
