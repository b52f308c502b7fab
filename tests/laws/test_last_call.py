"""No limit of calls ends an episode without an answer that one reserved call would have given."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.base import Task
from handlers.policies.last_call import CLOSING, answering
from handlers.policies.mc2 import MC2
from handlers.policies.registry import POLICIES
from handlers.roles.role import Role, text
from schemas.asking import All, Steps
from schemas.problem import Profile
from schemas.questions import Complete
from schemas.settings import PROFILES, PolicySettings
from tests.papers.mc2_says import full_memory
from tests.right import right
from tests.scripted import run, shown

PROBLEM = "Ada has 3 boxes of 12 eggs and drops 5 eggs. How many eggs are whole?"
MOST = 20
HURRIES = (0, 3, 99)
"""Steps that the model takes before it answers what it may leave open."""


def settings_of(name: str, profile: Profile) -> Any:
    """A policy's settings; what it withholds or stops at by its own choice is not what a limit takes away."""
    settings = POLICIES[name].settings
    own = {"on_stop": "best", "tool_calls": MOST}
    return settings.resolve(profile, {k: v for k, v in own.items() if k in settings.model_fields})


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", POLICIES)
def test_every_limit_of_calls_leaves_an_answer(name: str, profile: Profile) -> None:
    settings, policy = settings_of(name, profile), POLICIES[name]
    lost = [
        (calls, patience)
        for calls in range(1, MOST + 1)
        for patience in HURRIES
        if _answer(policy.solve, settings, calls, patience) != "31"
    ]
    assert not lost, "calls and patience"


def test_with_memory_the_first_call_is_not_the_last_one() -> None:
    task = Task("t", PROBLEM, "default", 7, memory_version=1)
    for calls in range(1, MOST + 1):
        steps = MC2.solve(task, MC2.settings.resolve("service", {}))
        assert run(steps, right("31"), calls=calls, memory=full_memory()).result.answer == "31"


SLOW = Role.of("thinker", "Think.", sections=("Problem",), reply=[text("Thought", "it")])


def _thinks(task: Task, settings: PolicySettings) -> Steps[Any]:
    while True:
        yield from SLOW.ask(problem=task.problem)


def test_the_kept_call_goes_on_from_the_work_so_far_and_the_limit_stays_named() -> None:
    task = Task("t", PROBLEM, "default", 7)
    ran = run(answering(_thinks)(task, PolicySettings()), right("31"), calls=4)
    assert ran.roles == ["thinker", "thinker", "thinker", "reasoner"]
    assert ran.requests[-1].template is CLOSING.template
    assert "[Step 3]" in shown(ran.requests[-1])
    assert (ran.result.answer, ran.result.ended_by, ran.result.limit) == ("31", "limit", "calls")


def _forks(task: Task, settings: PolicySettings) -> Steps[Any]:
    yield from All([SLOW.ask(problem="a"), SLOW.ask(problem="b")], [1, 1])
    yield from SLOW.ask(problem=task.problem)


def test_lanes_use_up_what_they_are_given() -> None:
    task = Task("t", PROBLEM, "default", 7)
    lanes = [("thinker", "a"), ("thinker", "b")]
    for calls, rest, answer in ((2, [], None), (3, [("reasoner", PROBLEM)], "31")):
        ran = run(answering(_forks)(task, PolicySettings()), right("31"), calls=calls)
        asked = [(each.role, dict(each.variables)["problem"]) for each in ran.requests]
        assert asked == [*lanes, *rest], "what is over is for the closing call, and for no lane"
        assert (ran.result.answer, ran.result.limit) == (answer, "calls")


def test_an_answer_that_a_policy_withholds_stays_withheld() -> None:
    policy = POLICIES["mgv_flavell"]
    settings: Any = policy.settings.resolve("paper", {})
    assert settings.on_stop == "withhold"
    ran = run(policy.solve(Task("t", PROBLEM, "default", 7), settings), right("31"), calls=2)
    assert (ran.result.answer, ran.result.limit) == (None, "calls")


def test_what_must_be_left_over_is_no_part_of_a_question() -> None:
    question: Complete = SLOW.question({"problem": "p"})
    kept = Complete(question.role, question.template, question.variables, keeps=1)
    assert kept.fingerprint() == question.fingerprint()
    assert kept.parts() == question.parts()


def _answer(solve: Any, settings: Any, calls: int, patience: int) -> str | None:
    task = Task("t", PROBLEM, "default", 7)
    ran = run(solve(task, settings), right("31", patience), calls=calls, logprob=-0.1)
    assert len(ran.requests) <= calls
    answer: str | None = ran.result.answer
    return answer
