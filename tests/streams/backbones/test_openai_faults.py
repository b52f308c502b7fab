from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.answering.backbones.openai.body import uncapped
from streams.answering.backbones.openai.faults import GAVE_UP, Fault, of_status

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
RATE = (
    "Rate limit reached for gpt-4o on tokens per min. You can increase your rate limit by adding a "
    "payment method to your account at https://platform.openai.com/account/billing."
)
CAPPED = {"model": "m", "max_tokens": 5}
QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, {"code": "invalid_api_key"}, "auth"),
        (403, {"message": "forbidden"}, "auth"),
        (404, {"code": "model_not_found"}, "model"),
        (402, {}, "quota"),
        (429, {"code": "insufficient_quota", "message": QUOTA}, "quota"),
        (429, {"message": QUOTA}, "quota"),
        (429, {"message": f"{QUOTA} Please retry in 20 s."}, "busy"),
        (429, {"code": "rate_limit_exceeded", "message": RATE}, "busy"),
        (429, {"message": "slow down"}, "busy"),
        (403, {"message": "Insufficient balance"}, "quota"),
        (400, {"message": "Your credit balance is too low"}, "quota"),
        (400, {"code": "billing_hard_limit_reached"}, "quota"),
        (400, {"code": "unsupported_value", "param": "temperature"}, "model"),
        (400, {"message": "Unrecognized request argument supplied: stream_options"}, "model"),
        (400, {"message": "Invalid schema", "param": "response_format"}, "model"),
        (400, {"message": "The model `x` does not exist"}, "model"),
        (400, {"code": "context_length_exceeded", "param": "messages"}, "error"),
        (400, {"message": "prompt is too long: 9 tokens > 8"}, "error"),
        (400, {"message": "Invalid 'messages[0]'", "param": "messages[0]"}, "error"),
        (400, {"code": "content_filter"}, "refusal"),
        (413, {}, "error"),
        (451, {}, "error"),
        (408, {}, "failed"),
        (424, {"message": "Request failed during generation"}, "failed"),
        (498, {"code": "capacity_exceeded"}, "busy"),
        (499, {}, "failed"),
        (500, {}, "failed"),
        (503, {}, "busy"),
        (504, {}, "failed"),
        (529, {"type": "overloaded_error"}, "busy"),
    ],
)
def test_whose_fault_it_is(status: int, error: dict[str, Any], kind: str) -> None:
    assert of_status(status, error).kind == kind
    assert of_status(status, {"error": error}).kind == kind


def test_a_pause_says_that_quota_words_will_pass() -> None:
    assert of_status(429, {"message": QUOTA}, pause=20.0) == Fault(
        "busy", f"HTTP 429 {QUOTA}", 20.0, free=True
    )


def test_a_validation_list_is_understood() -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "not permitted"}]
    assert of_status(422, {"detail": detail}).kind == "model"


def test_a_refused_key_is_not_repeated() -> None:
    fault = of_status(401, {"code": "invalid_api_key", "message": "Incorrect API key: sk-abc"})
    assert fault.detail == "HTTP 401 invalid_api_key"


@given(status=st.integers(400, 599), body=JSON)
def test_any_body_is_understood_somehow(status: int, body: Any) -> None:
    fault = of_status(status, body)
    assert fault.free == (status not in GAVE_UP)
    assert len(fault.detail) <= 300


@pytest.mark.parametrize(
    ("body", "fault", "expected"),
    [
        ({"model": "m"}, Fault("error", "context too long"), None),
        (CAPPED, Fault("error", "bad role"), None),
        (CAPPED, Fault("lost", "max_tokens"), None),
        (CAPPED, Fault("error", "max_tokens is too large"), {"model": "m"}),
        (CAPPED, Fault("error", "`inputs` tokens + `max_new_tokens` must be <= 9"), {"model": "m"}),
    ],
)
def test_a_cap_that_is_too_large_is_left_to_the_endpoint(
    body: dict[str, Any], fault: Fault, expected: dict[str, Any] | None
) -> None:
    assert uncapped(body, fault) == expected
