"""Worlds of which we know what is true: the cascade comes to do what pays there, and to know how sure it may be.

Each claim is asked of 40 seeded worlds, of which it must hold in at least 95 of a hundred.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.cascade import chance_of_lead, joined, lead_key
from handlers.policies.base import Conclusion, Member, Task
from schemas.events.strategy import StrategyChosen
from schemas.identity import hash01
from schemas.memory import Memory
from schemas.outcome import Outcome
from schemas.questions import Check, Complete
from tests.handlers.policies.cascade.says import (
    episode,
    found,
    learning,
    member,
    remembered,
    says,
    settings,
)
from tests.papers.worlds import ENOUGH
from tests.scripted import NO_MEMORY, Ran

RIGHT = "right"
WORLDS = 40
WINDOWS, WINDOW = 3, 8
OWN = settings(arms=("more", "check"), lessons="off", most_samples=4, batch_size=WINDOW)
Model = Callable[[Complete], str]


def label(question: Check) -> Outcome:
    return "right" if question.answer == RIGHT else "wrong"


def where_checks_pay(seed: int, at: int) -> Model:
    """Chains all say something else, and nothing right; a check sees it, and the next attempt is right."""

    def reply(question: Complete) -> str:
        if question.role == "monitor":
            return found("YES", "The second step is wrong.")
        advised = dict(question.variables).get("advice")
        drawn = hash01(seed, at, "mended")
        if advised and drawn < 0.9:
            return says(RIGHT)
        return says(f"wrong {question.draw}{'a' if advised else ''}")

    return reply


def where_checks_spoil(seed: int, at: int) -> Model:
    """The first chain is right, and so are most others; a check objects all the same, and misleads."""

    def reply(question: Complete) -> str:
        if question.role == "monitor":
            return found("YES", "The second step is wrong.")
        if dict(question.variables).get("advice"):
            return says("misled")
        good = question.draw == 0 or (question.draw > 1 and hash01(seed, at, question.draw) < 0.9)
        return says(RIGHT if good else f"wrong {question.draw}")

    return reply


def series(seed: int, world: Callable[[int, int], Model]) -> list[list[Ran[Conclusion]]]:
    """The windows of a series, each worked on with what those before it taught."""
    memory: Memory = NO_MEMORY
    windows: list[list[Ran[Conclusion]]] = []
    for window in range(WINDOWS):
        ran: list[Ran[Conclusion]] = []
        members: list[Member] = []
        for at in range(window * WINDOW, (window + 1) * WINDOW):
            task = Task(f"t{at}", f"Problem {at}.", "words", seed=seed * 1_000 + at)
            one = episode(world(seed, at), OWN, memory=memory, task=task)
            outcome: Outcome = "right" if one.result.answer == RIGHT else "wrong"
            members.append(member(one, outcome, OWN, task))
            ran.append(one)
        memory = remembered(
            learning(members, OWN, memory=memory, label=label), members, OWN, memory
        )
        windows.append(ran)
    return windows


def first_arms(window: list[Ran[Conclusion]]) -> list[str | None]:
    chosen = [ran.of(StrategyChosen) for ran in window]
    return [each[0].arm for each in chosen if each]


def share_right(window: list[Ran[Conclusion]]) -> float:
    right = [ran.result.answer == RIGHT for ran in window]
    return right.count(True) / len(right)


@pytest.mark.slow
def test_where_only_checks_pay_they_are_what_is_tried_first() -> None:
    held = 0
    for seed in range(WORLDS):
        windows = series(seed, where_checks_pay)
        last = first_arms(windows[-1])
        held += last.count("check") > 0.8 * WINDOW and share_right(windows[-1]) >= 0.5
    assert held >= ENOUGH * WORLDS, held


@pytest.mark.slow
def test_where_checks_spoil_they_are_given_up_and_not_followed() -> None:
    held = 0
    for seed in range(WORLDS):
        windows = series(seed, where_checks_spoil)
        checks = [
            sum(each.arm == "check" for ran in window for each in ran.of(StrategyChosen))
            for window in windows
        ]
        held += checks[-1] <= 1 and share_right(windows[-1]) >= 0.9
    assert held >= ENOUGH * WORLDS, held


@given(
    st.integers(0, 16),
    st.integers(0, 16),
    st.integers(1, 40),
    st.floats(0.05, 0.95),
    st.integers(0, 50),
    st.integers(0, 50),
)
def test_a_chance_lies_between_what_was_seen_and_what_was_expected(
    votes: int, runner_up: int, of: int, ease: float, right: int, wrong: int
) -> None:
    runner_up = min(votes, runner_up)
    of = max(of, votes + runner_up)
    state = {"leads": {lead_key(votes, runner_up, of): [right, right + wrong]}}
    before = chance_of_lead({}, votes, runner_up, of, ease, 4.0)
    chance = chance_of_lead(state, votes, runner_up, of, ease, 4.0)
    assert 0.0 <= chance <= 1.0
    if not votes:
        assert chance == 0.0
    elif right + wrong:
        seen = right / (right + wrong)
        assert min(before, seen) - 1e-9 <= chance <= max(before, seen) + 1e-9
    else:
        assert chance == before


@given(st.floats(0, 1), st.floats(0, 1))
def test_witnesses_that_agree_are_surer_together_and_chances_are_chances(
    lead: float, opinion: float
) -> None:
    both, same = joined(lead, opinion, agrees=True)
    assert both == same
    ours, theirs = joined(lead, opinion, agrees=False)
    assert 0 <= both <= 1 + 1e-9
    assert ours >= 0 <= theirs
    assert ours + theirs <= 1 + 1e-9
    if opinion >= 0.5:
        assert both >= lead - 1e-9
    assert (ours >= theirs) == (lead >= opinion) or abs(lead - opinion) < 1e-9


def test_more_votes_are_surer_and_a_hard_problem_is_less_sure() -> None:
    def chance(votes: int, of: int, ease: float = 0.5) -> float:
        return chance_of_lead({}, votes, of - votes, of, ease, 4.0)

    assert chance(2, 2) < chance(3, 3) < chance(8, 8) < 1
    assert chance(3, 5) < chance(4, 5)
    assert chance(3, 3, ease=0.1) < chance(3, 3, ease=0.9)
