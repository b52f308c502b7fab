"""What a policy says that an episode calls at most: it never calls more, and comes to it."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.base import Task
from handlers.policies.registry import POLICIES
from schemas.problem import Profile
from schemas.questions import Complete
from schemas.settings import PROFILES
from tests.papers.mc2_says import full_memory
from tests.right import right
from tests.scripted import Replier, run

PROBLEM = "Ada has 3 boxes of 12 eggs and drops 5 eggs. How many eggs are whole?"
SAID = {
    name: policy
    for name, policy in POLICIES.items()
    if policy.most_calls(policy.settings.resolve("service", {})) is not None
}


MEMORIES = (full_memory(), full_memory(()))
"""Rules whose lessons may be like no problem, and rules alone, which are always shown."""


def mute(question: Complete) -> str:
    """Nothing that any role could read."""
    return "I would say so."


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", SAID)
def test_no_episode_calls_more_and_one_calls_as_much(name: str, profile: Profile) -> None:
    policy = SAID[name]
    settings: Any = policy.settings.resolve(profile, {})
    repliers: tuple[Replier, ...] = (mute, right("31"), right("32", trust=0.1))
    task = Task("t", PROBLEM, "default", 7, memory_version=1)
    made = [
        len(run(policy.solve(task, settings), each, memory=known).requests)
        for each in repliers
        for known in MEMORIES
    ]
    assert max(made) == policy.most_calls(settings)


def test_the_simplest_say_it() -> None:
    assert {"cot", "greedy", "io", "self_consistency", "mc2"} <= SAID.keys()


def test_a_reasoner_alone_calls_four_times_at_most() -> None:
    policy = POLICIES["mc2"]
    settings: Any = policy.settings.resolve("service", {"roles": "R"})
    task = Task("t", PROBLEM, "default", 7, memory_version=1)
    made = len(run(policy.solve(task, settings), mute, memory=full_memory()).requests)
    assert made == policy.most_calls(settings) == 4
