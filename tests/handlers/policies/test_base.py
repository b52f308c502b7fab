"""What a policy is given and made of: tasks, traces, batches, and the version that its prompts make it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.policies.base import (
    Around,
    Batch,
    Conclusion,
    Member,
    Policy,
    Task,
    Trace,
    put,
    task_of,
    told,
    type_of,
)
from handlers.policies.registry import find
from schemas.answer_type import AnswerType
from schemas.asking import Steps
from schemas.events.episode import Completed
from schemas.events.reasoning import Generated
from schemas.memory import Memory
from schemas.price import Price
from schemas.settings import BadSetting, PolicySettings
from tests.reflections import reflected
from tests.scripted import run

CHOICE = AnswerType(type="choice", options=("four", "nine"))
SAID = CHOICE.model_dump(exclude_none=True, exclude_defaults=True) | {"type": "choice"}


def test_who_answers_is_told_the_form_and_who_judges_the_options_alone() -> None:
    task = Task("q", "Which is a prime?", "default", 1, statement="Choose.", answer_type=CHOICE)
    assert task.subject == "default/q"
    options = "The options:\nA) four\nB) nine\n\nWhich is a prime?"
    assert task.posed == f"Choose. {options}"
    assert task.stated.startswith("Choose. ")
    assert task.stated.endswith(options)
    assert task.stated != task.posed
    bare = Task("q", "Which is a prime?", "default", 1)
    assert bare.stated == bare.posed == "Which is a prime?"


def test_a_reflected_problem_is_put_as_it_was() -> None:
    left = reflected(
        problem_id="q", domain="default", problem="Which?", statement="Choose.", answer_type=SAID
    )
    task = task_of(left, 5)
    assert task == Task("q", "Which?", "default", 5, statement="Choose.", answer_type=type_of(left))
    assert (put(left), told(left)) == (task.stated, task.posed)
    assert put(left) != told(left)
    assert type_of(reflected()) is None
    assert Member("e", left).subject == "default/q"


def test_a_trace_gives_the_reply_at_an_address_without_its_thoughts() -> None:
    said = Completed(asked="-", text="<think>hm</think>\nIt is 7.", finish="stop", model="m")
    trace = Trace([("0", said), ("1", Generated(answer="7", source="0"))])
    assert trace.text("0") == "It is 7."
    assert trace.text("1") == ""
    with pytest.raises(KeyError, match="2"):
        trace.text("2")
    json = Completed(asked="-", text='{"a": 1}', finish="stop", model="m")
    assert Trace([("0", json)]).text("0") == "a: 1"


def test_a_batch_that_is_learned_from_again_is_named_by_its_revision() -> None:
    names = [Batch("s", 4, (), Memory("s", 3), 7, revision=each).name for each in (0, 1, 12)]
    assert names == ["4", "4.1", "4.12"]


def test_settings_for_a_role_that_is_never_asked_are_refused_by_name() -> None:
    policy = find("self_refine")
    known = policy.resolve("service", {"parameters": {"critic": {"temperature": 0.5}}})
    assert known.asked("critic") == {"temperature": 0.5} | known.asked("reasoner")
    assert policy.resolve("service", {"parameters": {"*": {"top_p": 0.5}}})
    with pytest.raises(
        BadSetting, match=r"parameters: self_refine asks no role 'critik'; .*critic"
    ):
        policy.resolve("service", {"parameters": {"critik": {"temperature": 0.5}}})


def test_other_prompts_make_another_version_and_leave_the_policy_alone() -> None:
    policy = find("cot")
    bare = policy.resolve("service", {})
    assert policy.under(bare) is policy
    worded = policy.resolve("service", {"prompts": {"chain": {"instructions": "Solve it."}}})
    other = policy.under(worded)
    assert other.reference.startswith(f"{policy.reference}")
    assert other.reference != policy.reference == f"cot@{policy.version}"
    assert other.solve is policy.solve


def test_what_a_policy_leaves_out_has_its_defaults() -> None:
    def solve(task: Task, settings: PolicySettings) -> Steps[Conclusion]:
        yield from ()
        return Conclusion(answer=task.problem, ended_by="answered")

    mine: Policy[Any] = Policy(
        name="mine", version="1", about="echoes", settings=PolicySettings, solve=solve
    )
    settings = mine.resolve("service", {})
    assert run(mine.solve(Task("q", "p", "d", 1), settings), []).result.answer == "p"
    assert [mine.window(settings, size) for size in (None, 0, 4)] == [10, 10, 4]
    assert mine.reflect(Trace(()), Conclusion(answer=None, ended_by="x"), settings) == {}
    assert (mine.reads(settings), mine.unlearnable(settings), mine.most_calls(settings)) == (
        True,
        None,
        None,
    )
    assert (mine.live_batches(settings), mine.warm_source(settings)) == (None, None)
    assert (mine.rule_constants(settings), mine.usual("paper", Around(tools=True))) == ({}, {})
    assert mine.warm_start(Memory("s", 0)) == ()
    assert mine.learns == "none"


COSTS = st.floats(min_value=0, max_value=1e6)


@given(
    st.booleans(),
    st.lists(st.text(max_size=5)),
    st.dictionaries(st.text(max_size=5), st.builds(Price, prompt=COSTS, completion=COSTS)),
)
def test_what_is_at_hand_is_heard_as_it_was_said(
    tools: bool, roles: list[str], prices: dict[str, Price]
) -> None:
    around = Around(tools, tuple(roles), prices)
    assert Around.of(json.loads(json.dumps(around.said()))) == around


def test_what_is_at_hand_is_said_as_far_as_it_is_known() -> None:
    price = Price(prompt=1, completion=2)
    around = Around(True, ("strong",), {"*": price})
    told = {"prompt": 1.0, "completion": 2.0, "cached": None}
    assert around.said() == {"tools": True, "roles": ["strong"], "prices": {"*": told}}
    assert Around.of(around.said()) == around
    assert Around().said() == {"tools": False}
    assert Around.of({}) == Around()
