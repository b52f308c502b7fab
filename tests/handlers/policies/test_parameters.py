"""Temperature, top_p, cap and timeout of each role are settings of every policy, in both profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from handlers.policies.base import Task
from handlers.policies.registry import POLICIES
from schemas.questions import DEFAULT_SAMPLING, Complete
from schemas.settings import PROFILES, BadSetting
from tests.right import right
from tests.scripted import run

TASK = Task("t", "Ada has 3 boxes of 12 eggs. How many eggs?", "default", 7)


def asked(name: str, profile: Any = "service", **parameters: Any) -> list[Complete]:
    """What a policy asks with these parameters by role (``every`` for the rest)."""
    policy = POLICIES[name]
    said = {"*" if role == "every" else role: each for role, each in parameters.items()}
    settings = policy.resolve(profile, {"parameters": said})
    return run(policy.solve(TASK, settings), right("36", 2), calls=9, logprob=-0.1).requests


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", POLICIES)
def test_what_is_set_for_every_role_reaches_every_call(name: str, profile: Any) -> None:
    said = {"temperature": 0.25, "top_p": None, "max_tokens": 77, "timeout_s": 5.0}
    roles = POLICIES[name].roles
    for question in asked(name, profile, **dict.fromkeys(roles, said)):
        sampling = question.sampling
        assert (sampling.temperature, sampling.top_p) == (0.25, None)
        assert (sampling.max_tokens, sampling.timeout_s) == (77, 5.0)


@pytest.mark.parametrize("name", POLICIES)
def test_the_paper_waits_longer_and_a_service_lets_every_role_think(name: str) -> None:
    assert all(q.sampling.timeout_s == 1_800 for q in asked(name, "paper"))
    caps = {q.sampling.max_tokens for q in asked(name) if name != "ttpi"}
    assert caps <= {8_192}


def test_a_role_s_own_goes_before_everybody_s_and_null_is_the_endpoint_s() -> None:
    found = asked("cot2_meta", every={"temperature": 1.0}, oracle={"temperature": None})
    said = {q.role: q.sampling.temperature for q in found}
    assert said == {"thinker": 1.0, "oracle": None, "confidence": 1.0, "reasoner": 1.0}
    assert {q.sampling.top_p for q in found if q.role == "thinker"} == {0.95}


def test_a_guided_base_is_asked_as_it_is_set_by_itself_unless_the_graph_says_else() -> None:
    policy = POLICIES["graph_memory"]
    for said, temperature in (({}, 0.4), ({"thinker": {"temperature": 0.9}}, 0.9)):
        settings = policy.resolve("service", {"base": "tot", "parameters": said})
        found = run(policy.solve(TASK, settings), right("36"), calls=5).asks("thinker")
        assert {(q.sampling.temperature, q.sampling.max_tokens) for q in found} == {
            (temperature, 8_192)
        }


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"orcle": {"temperature": 0.5}}, "'oracle'"),
        ({"oracle": {"temprature": 0.5}}, "temprature"),
        ({"oracle": {"temperature": -1}}, "temperature"),
        ({"oracle": {"top_p": 0}}, "top_p"),
        ({"oracle": {"max_tokens": 0}}, "max_tokens"),
        ({"oracle": {"timeout_s": 0}}, "timeout_s"),
        ({"oracle": 3}, "oracle"),
        (3, "parameters"),
    ],
)
def test_what_is_set_wrongly_is_named(said: Any, named: str) -> None:
    with pytest.raises(BadSetting, match=named):
        POLICIES["cot2_meta"].resolve("service", {"parameters": said})


def test_a_timeout_is_no_part_of_the_question() -> None:
    question = asked("cot")[0]
    waits = structs.replace(
        question, sampling=replace(DEFAULT_SAMPLING, timeout_s=3.0, max_tokens=8_192)
    )
    assert waits.fingerprint() == question.fingerprint()
