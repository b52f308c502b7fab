"""What a policy says that an episode calls at most: it never calls more, and comes to it."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.base import Task
from handlers.policies.registry import POLICIES
from schemas.problem import Profile
from schemas.questions import Complete
from schemas.reply import Field
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


def reluctant(question: Complete) -> str:
    """A chain at once; of a judgement or a plan nothing that can be read before it is asked for again.

    Nothing is ever good enough, and every list is as long as it may be.
    """
    fields = question.template.reply.fields
    answers = any(field.kind == "answer" and field.when is None for field in fields)
    if not answers and not question.history:
        return "I would say so."
    return "\n".join(f"{field.label}: {_unsure(field)}" for field in fields)


def _unsure(field: Field) -> str:
    match field.kind:
        case "answer":
            return "\\boxed{31}"
        case "number":
            return "0.1"
        case "choice":
            return next((said for said in ("NO", "OPEN") if said in field.choices), "")
        case "list":
            most = field.most or 9
            return "".join(f"\n- Condition {at} of the eggs holds" for at in range(most))
        case "text":
            return "Count them again."


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", SAID)
def test_no_episode_calls_more_and_one_calls_as_much(name: str, profile: Profile) -> None:
    policy = SAID[name]
    settings: Any = policy.settings.resolve(profile, {})
    repliers: tuple[Replier, ...] = (mute, right("31"), right("32", trust=0.1), reluctant)
    task = Task("t", PROBLEM, "default", 7, memory_version=1)
    made = [
        len(run(policy.solve(task, settings), each, memory=known).requests)
        for each in repliers
        for known in MEMORIES
    ]
    assert max(made) == policy.most_calls(settings)


def test_the_simplest_say_it() -> None:
    assert {"cot", "greedy", "io", "self_consistency", "mc2", "meta_reasoner"} <= SAID.keys()
    assert {
        "best_of_n",
        "self_refine",
        "self_verification",
        "reflexion",
        "mcr",
        "macm",
    } <= SAID.keys()


def test_a_reasoner_alone_calls_four_times_at_most() -> None:
    policy = POLICIES["mc2"]
    settings: Any = policy.settings.resolve("service", {"roles": "R"})
    task = Task("t", PROBLEM, "default", 7, memory_version=1)
    made = len(run(policy.solve(task, settings), mute, memory=full_memory()).requests)
    assert made == policy.most_calls(settings) == 4
