from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.registry import POLICIES
from schemas.asking import All, Steps
from schemas.prompt import Section, Template
from schemas.questions import Complete, Embed, Remain
from schemas.reply import Reply
from streams.research.trials.play import play

TASK = Task("t", "1 + 1", "default", seed=0)
TEMPLATE = Template("echo", "Answer.", (Section("Problem", "problem"),), Reply(()))


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


def says() -> Steps[str]:
    said = yield from Complete("reasoner", TEMPLATE, (("problem", "1 + 1"),))
    return said.text


def test_lanes_within_lanes_go_one_after_another() -> None:
    def pair() -> Steps[tuple[Any, ...]]:
        return (yield from All([says(), says()]))

    def both() -> Steps[tuple[Any, ...]]:
        return (yield from All([pair(), pair()]))

    assert play(both(), "a", "b", "c", "d") == (("a", "b"), ("c", "d"))


def test_it_is_driven_as_in_a_worker() -> None:
    def told() -> Steps[float | None]:
        before = yield from Remain()
        yield from Complete("reasoner", TEMPLATE, (("problem", "1 + 1"),))
        return before.calls

    def tells() -> Steps[None]:
        yield cast("Any", "a text, which is neither question nor fact")

    assert play(told(), "a reply") is None, "nothing bounds it, and it may ask what is left"
    with pytest.raises(TypeError, match="may only ask, state or fork"):
        play(tells())


def test_it_plays_within_an_event_loop_too() -> None:
    async def cell() -> str | None:
        return played("cot", r"\boxed{2}").answer

    assert asyncio.run(cell()) == "2"


def test_a_person_takes_his_reply_from_the_script_too() -> None:
    samples = (r"\boxed{1}", r"\boxed{2}", r"\boxed{3}", r"\boxed{4}", r"\boxed{5}")
    assert played("reviewed", *samples, "right").answer == "1"
    assert played("reviewed", *samples, "wrong").ended_by == "rejected"
    own = played("reviewed", *samples, "7")
    assert (own.answer, own.ended_by, own.confidence) == ("7", "reviewed", None)
    with pytest.raises(LookupError, match="no reply is left for a person"):
        played("reviewed", *samples)
    agreed = played("reviewed", *([r"\boxed{2}"] * 5))
    assert (agreed.answer, agreed.ended_by) == ("2", "voted"), "nobody is asked"
