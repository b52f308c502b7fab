from __future__ import annotations

from typing import Any

import pytest

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.registry import POLICIES
from handlers.policies.script import play
from schemas.questions import Embed

TASK = Task("t", "1 + 1", "default", seed=0)


def played(name: str, *replies: str) -> Conclusion:
    policy: Policy[Any] = POLICIES[name]
    return play(policy.solve(TASK, policy.settings()), *replies)


def test_replies_are_handed_out_in_order() -> None:
    assert played("cot", r"\boxed{2}").answer == "2"


def test_each_lane_takes_its_own() -> None:
    votes = [rf"\boxed{{{answer}}}" for answer in (3, 2, 2, 3, 2)]
    assert played("self_consistency", *votes).answer == "2"


def test_a_script_that_runs_out_says_who_asked() -> None:
    with pytest.raises(LookupError, match="no reply is left for reasoner"):
        played("cot")


def test_a_question_that_is_no_completion_is_named() -> None:
    with pytest.raises(LookupError, match="asked for Embed"):
        play(iter(Embed(("a text",))))
