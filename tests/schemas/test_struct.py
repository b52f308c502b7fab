"""Structs of the product's own: written as JSON without what is unknown, and read with every fault named."""

from __future__ import annotations

import gc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from schemas.events.base import Event
from schemas.events.codec import BadEvent, UnknownEvent, as_written, decode, encode, plain, what
from schemas.events.episode import Completed, EpisodeOpened, ProblemAdmitted
from schemas.events.search import ConfidenceStated
from schemas.problem import Limits, Problem
from schemas.struct import model_within, plain_within, to_json
from schemas.written import (
    DECOMPOSED,
    TWICE,
    Twice,
    feedback_of,
    is_composed,
    loads,
    once,
    problem_of,
)


def completed(**more: Any) -> Completed:
    said: dict[str, Any] = {"asked": "q", "text": "t", "finish": "stop", "model": "m", **more}
    return Completed(**said)


def test_what_is_unknown_is_left_out_and_a_default_is_written() -> None:
    assert plain(completed(cost=0.0)) == {
        "kind": "completed", "version": 1, "asked": "q", "text": "t", "finish": "stop", "model": "m",
        "attempts": 1, "cost": 0.0,
    }  # fmt: skip
    assert completed().version == 1


def test_no_search_for_cycles_walks_through_events() -> None:
    assert not gc.is_tracked(completed(answer_logprob=0.5, token_logprobs=(("a", 0.5),)))


def test_models_and_figures_of_other_libraries_are_written_as_pythons_own() -> None:
    assert to_json(completed(cost=np.float64(0.5), prompt_tokens=np.int64(3))) == to_json(
        completed(cost=0.5, prompt_tokens=3)
    )
    assert to_json(completed(text=np.str_("t"))) == to_json(completed())
    problem = Problem(id="x", problem="1 + 1", domain="d")
    admitted = ProblemAdmitted(problem=problem, scope="s", offset=0)
    assert b'"problem":{"id":"x","problem":"1 + 1","domain":"d"' in encode(admitted)
    assert b"null" not in encode(admitted)
    assert plain_within(Limits(calls=3)) == {"calls": 3}
    assert plain_within(np.int64(3)) == 3
    assert (plain_within(Fraction(1, 2)), type(plain_within(Fraction(1, 2)))) == (0.5, float)
    assert type(plain_within(np.str_("a"))) is str
    with pytest.raises(TypeError, match="no JSON for complex"):
        plain_within(1j)


def test_a_model_within_a_struct_is_read_with_its_first_wrong_field_named() -> None:
    assert model_within(Limits, {"calls": 3}) == Limits(calls=3)
    with pytest.raises(ValueError, match=r"^calls: Input should be greater than 0$"):
        model_within(Limits, {"calls": 0, "tokens": 0})
    with pytest.raises(ValueError, match=r"^Input should be a valid dictionary"):
        model_within(Limits, 3)
    with pytest.raises(TypeError, match="no way to read int"):
        model_within(int, 3)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ('{"version":1}', "completed: asked: missing required"),
        ('{"asked":3}', "completed: asked: Expected `str`, got `int`"),
        ("[]", "completed: (whole): Expected `object`, got `array`"),
        ("{", "completed: (whole): Input data was truncated"),
        (
            '{"asked":"q","text":"t","finish":"s","model":"m","token_logprobs":[["a","b"]]}',
            "completed: token_logprobs[0][1]: Expected `float`, got `str`",
        ),
    ],
)
def test_a_body_that_is_no_event_is_refused_by_its_first_wrong_field(body: str, wrong: str) -> None:
    with pytest.raises(BadEvent) as refused:
        decode("completed", body)
    assert str(refused.value).startswith(wrong)


def test_whole_numbers_with_a_point_are_read_as_whole_but_for_those_that_no_float_says() -> None:
    body = '{"asked":"q","text":"t","finish":"s","model":"m","prompt_tokens":12.0}'
    read: Event = decode("completed", body)
    assert isinstance(read, Completed)
    assert (read.prompt_tokens, type(read.prompt_tokens)) == (12, int)
    with pytest.raises(BadEvent, match="prompt_tokens"):
        decode("completed", body.replace("12.0", "12.5"))
    with pytest.raises(BadEvent, match="prompt_tokens"):
        decode("completed", body.replace("12.0", "9007199254740992.0"))
    assert plain(decode("completed", body.replace("12.0", "9007199254740991.0")))[
        "prompt_tokens"
    ] == (9_007_199_254_740_991)


def test_other_versions_are_kept_and_faults_of_this_one_are_told() -> None:
    assert isinstance(decode("completed", '{"version":2,"new":1}'), UnknownEvent)
    kept = decode("completed", b'{"version":0}')
    assert isinstance(kept, UnknownEvent)
    assert (kept.kind, kept.to_json()) == ("completed", b'{"version":0}')
    for none in ('{"version":1}', '{"version":"2"}', '{"version":true}', '{"version":2.5}', "3"):
        with pytest.raises(BadEvent):
            decode("completed", none)
    assert what(ValueError("odd")) == "(whole): odd"
    assert what(ValueError("Bad - at `$.a.b`")) == "a.b: Bad"


def test_what_is_written_is_what_is_read_back() -> None:
    stated = ConfidenceStated(node="1", source="0", value=1)
    assert type(as_written(stated).value) is float
    for wrong, name in (
        (ConfidenceStated(node="1", source="0", value=float("nan")), "value"),
        (ConfidenceStated(node="\ud800", source="0"), "node"),
        (EpisodeOpened(policy="p", policy_version="1", settings="0f", limits=Limits(), seed=-1,
                       memory_version=0, backbones="m"), "seed"),
    ):  # fmt: skip
        with pytest.raises(BadEvent, match=f"{wrong.kind}: {name}: "):
            as_written(wrong)


# ── What people write ────────────────────────────────────────────────────────────────────────


def test_what_stands_twice_in_one_object_is_refused_by_name() -> None:
    assert once([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    for text in ('{"a": 1, "b": 2, "b": 3}', '[{"c": {"b": 1, "b": 1}}]'):
        with pytest.raises(Twice, match=f"b: {TWICE}") as refused:
            loads(text)
        assert refused.value.name == "b"
    assert loads('{"a": {"b": 1}, "b": [1.5, null]}') == {"a": {"b": 1}, "b": [1.5, None]}
    with pytest.raises(ValueError, match="NaN is no JSON number"):
        loads("[NaN]")
    with pytest.raises(ValueError, match="nested too deep"):
        loads("[" * 200_000 + "]" * 200_000)


def test_problems_and_judgements_name_things_in_one_spelling() -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    assert [is_composed(name) for name in (composed, apart, "cafe", "")] == [
        True,
        False,
        True,
        True,
    ]
    line = '{{"id": "{}", "problem": "1 + 1", "domain": "d"}}'
    assert problem_of(line.format(composed).encode()).id == composed
    judged = '{{"domain": "d", "problem_id": "{}", "verdict": true}}'
    assert feedback_of(judged.format(composed).encode()).problem_id == composed
    assert feedback_of(b'{"episode": "e", "verdict": true}').problem_id is None
    for read, text, field in ((problem_of, line, "id"), (feedback_of, judged, "problem_id")):
        with pytest.raises(ValueError, match="Unicode NFC") as refused:
            read(text.format(apart).encode())
        assert field in str(refused.value)
        assert DECOMPOSED in str(refused.value)
        assert "type=written" in str(refused.value)
    with pytest.raises(ValueError, match=TWICE):
        problem_of(b'{"id": "x", "id": "y", "problem": "1", "domain": "d"}')
    with pytest.raises(ValueError, match="Invalid JSON"):
        problem_of(b"{")
