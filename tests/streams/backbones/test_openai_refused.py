"""Endpoints that refuse parameters, as the providers word it: the work goes on, and the record says without what."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.questions import Sampling
from streams.answering.backbones.openai.body import adapted, left_out, refused_by
from streams.answering.backbones.openai.faults import of_status
from streams.answering.backbones.openai.options import Options
from streams.core.backbone import ModelReply, ModelRequest, SetupBroken
from streams.core.normalise import completed
from tests.endpoint import Answer, Asked, Script, events, fails, serving, whole
from tests.streams.backbones.asking import asking, one, with_backbone

PARAMETERS = ("temperature", "top_p", "seed", "logprobs", "max_tokens", "response_format")
EVERYTHING = asking(
    sampling=Sampling(temperature=0.4, top_p=0.9, max_tokens=50, logprobs=True),
    schema={"type": "object"},
)


def openai(name: str) -> Answer:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return fails(400, "unsupported_parameter", message, param=name, type="invalid_request_error")


def openai_value(name: str) -> Answer:
    said = "does not support 0.4 with this model. Only the default (1) value is supported."
    message = f"Unsupported value: '{name}' {said}"
    return fails(400, "unsupported_value", message, param=name, type="invalid_request_error")


def groq(name: str) -> Answer:
    message = f"property '{name}' is unsupported, did you mean 'user'?"
    return fails(400, None, message, type="invalid_request_error")


def gemini(name: str) -> Answer:
    message = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    return fails(400, None, message, type="INVALID_ARGUMENT")


def pydantic(name: str) -> Answer:
    wrong = {
        "type": "extra_forbidden",
        "loc": ["body", name],
        "msg": "Extra inputs are not permitted",
    }
    return Answer(raw=json.dumps({"detail": [wrong]}).encode(), status=422)


def anthropic(name: str) -> Answer:
    return fails(400, None, f"{name}: Extra inputs are not permitted", type="invalid_request_error")


WORDINGS = (openai, openai_value, groq, gemini, pydantic, anthropic)


def refusing(*names: str, how: Any = openai) -> Script:
    """A model that refuses these parameters, the first that it meets, and else replies."""

    def script(asked: Asked) -> Answer:
        met = next((name for name in names if name in asked.body), None)
        return whole("fine") if met is None else how(met)

    return script


@pytest.mark.parametrize("how", WORDINGS)
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_refused_parameter_is_left_out_and_recorded(name: str, how: Any) -> None:
    reply = one(refusing(name, how=how), EVERYTHING, structured=True)
    assert reply.text == "fine"
    assert (reply.attempts, reply.free) == (2, True)
    # A cap that goes by its other name is no cap left out.
    expected = () if name == "max_tokens" else (name,)
    assert reply.dropped == expected
    assert completed("q", reply).dropped == (expected or None)


@pytest.mark.parametrize("how", WORDINGS)
def test_all_of_them_at_once(how: Any) -> None:
    names = (*PARAMETERS, "max_completion_tokens")
    reply = one(refusing(*names, how=how), EVERYTHING, structured=True)
    assert reply.text == "fine"
    assert set(reply.dropped) == set(PARAMETERS)


NOT_ALLOWED = "You are not allowed to request logprobs from this model"
NOT_NOW = "This response_format type is unavailable now"
SCHEMA = (
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
)
NO_FIELD = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'
NO_LOGPROBS = "Logprobs is not enabled for models/gemini-2.5-flash"
TOO_LARGE = "max_tokens is too large: 50. This model supports at most 40 completion tokens."
AS_WORDED: list[tuple[str, int, Any]] = [
    ("logprobs", 403, {"error": {"message": NOT_ALLOWED, "type": "invalid_request_error"}}),
    ("response_format", 400, {"error": {"message": SCHEMA, "param": None, "code": None}}),
    ("response_format", 400, {"error": {"message": NOT_NOW, "code": "invalid_request_error"}}),
    ("response_format", 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
    ("seed", 400, {"error": {"message": "Unrecognized request argument supplied: seed"}}),
    ("seed", 400, [{"error": {"code": 400, "message": NO_FIELD, "status": "INVALID_ARGUMENT"}}]),
    ("logprobs", 400, [{"error": {"code": 400, "message": NO_LOGPROBS}}]),
    ("logprobs", 400, {"code": "x", "error": "Argument not supported on this model: logprobs"}),
    ("temperature", 400, {"error": {"message": "temperature is deprecated for this model."}}),
    ("temperature", 400, {"error": {"message": "temperature must be at most 0.3", "code": 1214}}),
    ("top_p", 400, {"message": "#: extraneous key [top_p] is not permitted, please reformat."}),
    ("max_tokens", 400, {"error": {"message": TOO_LARGE, "param": "max_tokens"}}),
]
"""Refusals as endpoints of several makers word them, by status and body, in shapes of their own."""


@pytest.mark.parametrize(("name", "status", "body"), AS_WORDED)
def test_refusals_in_other_shapes_are_known(name: str, status: int, body: Any) -> None:
    """A 403 that forbids a parameter was taken for a refused key and stopped the worker; a list told nothing."""

    def script(asked: Asked) -> Answer:
        sent = name in asked.body or (
            name == "max_tokens" and "max_completion_tokens" in asked.body
        )
        return Answer(raw=json.dumps(body).encode(), status=status) if sent else whole("fine")

    reply = one(script, EVERYTHING, structured=True)
    assert (reply.text, reply.dropped) == ("fine", (name,))


PYDANTIC = [
    {
        "type": "less_than_equal",
        "loc": ["body", "top_p"],
        "msg": "Input should be less than or equal to 1",
    }
]
OTHERWISE: list[tuple[str, object]] = [
    ("temperature", "invalid temperature: only 1 is allowed for this model"),
    ("temperature", "only 1 is allowed for temperature"),
    ("temperature", "`temperature` may only be set to 1 when thinking is enabled."),
    ("temperature", "Invalid value: temperature can only be 1 for this model"),
    ("temperature", "'temperature' should be 1"),
    ("temperature", "temperature should be in (0.0, 1.0)"),
    ("temperature", "temperature: range: 0..1"),
    ("temperature", "Invalid 'temperature': decimal above maximum value. Expected a value <= 1."),
    ("temperature top_p", "top_p and temperature are fixed at 0.95 and 1.0 for this model"),
    ("reasoning_effort", "`reasoning_effort` must be one of `none` or `default`"),
    ("top_p", PYDANTIC),
    ("response_format", "This model does not support response format `json_schema`."),
    ("response_format", "Structured outputs are not supported by this model"),
    ("response_format", "JSON mode is not enabled for models/gemma-3-27b-it"),
    (
        "response_format",
        "json_schema is enabled only for api versions 2024-08-01-preview and later",
    ),
    (
        "response_format",
        "Invalid value: 'json_schema'. Supported values are: 'text' and 'json_object'.",
    ),
    ("response_format", "invalid JSON schema for response_format: 'reply'"),
    ("response_format", "The provided JSON schema contains features not supported by xgrammar."),
    ("response_format", "JSON schema conversion failed: Unrecognized schema: {}"),
    ("response_format", "Failed to parse grammar"),
    ("response_format", "Grammar error: Invalid grammar specification."),
    ("temperature top_p", "Not accepted for reasoning models: temperature, top_p"),
    ("seed", "the following are not implemented: seed"),
]
"""Bounds, and names of the form, as endpoints word them that name no parameter apart."""
NO_PARAMETER = (
    "temperature is told for more tokens than the maximum context length",
    "Invalid content: 'The temperature should be 20 degrees in the room'",
    "Invalid value: 'wizard'. Supported values are: 'system', 'assistant', 'user'.",
    "messages.0.role must be one of: system, user, assistant",
    "Only 1 image is allowed for this prompt",
    "Please write a JSON schema for your question",
    "Could not parse the JSON body of your request",
    "Failed to parse the sentence: its grammar is odd",
)


@pytest.mark.parametrize(("names", "said"), OTHERWISE)
def test_a_bound_and_a_form_by_other_names_refuse_a_parameter(names: str, said: object) -> None:
    """The first such problem was charged for what every other one would meet."""
    sent: dict[str, Any] = dict.fromkeys((*PARAMETERS, "model", "messages", "reasoning_effort"))
    body = {"error": {"message": said}} if isinstance(said, str) else {"detail": said}
    assert refused_by(of_status(400, body), sent) == {*names.split()}


@pytest.mark.parametrize("said", NO_PARAMETER)
def test_what_is_wrong_with_a_prompt_refuses_no_parameter(said: str) -> None:
    assert of_status(400, {"error": {"message": said}}).kind == "error"


def test_a_key_that_may_not_is_still_the_set_ups_fault() -> None:
    with pytest.raises(SetupBroken) as caught:
        one(lambda _: fails(403, None, "You are not allowed to use this model."), EVERYTHING)
    assert caught.value.code == "auth"


def test_it_is_refused_once_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def ask_thrice(backbone: Any) -> list[ModelReply]:
        return [await backbone.complete(EVERYTHING) for _ in range(3)]

    with serving(refusing("temperature")) as endpoint, caplog.at_level(logging.WARNING):
        replies = with_backbone(endpoint, ask_thrice)
        assert len(endpoint.asked) == 4
    assert [reply.dropped for reply in replies] == [("temperature",)] * 3
    assert [record.getMessage().partition("refuses")[2][:12] for record in caplog.records] == [
        " temperature"
    ]


def test_of_two_that_exclude_each_other_one_stays() -> None:
    message = (
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    )

    def script(asked: Asked) -> Answer:
        both = {"temperature", "top_p"} <= asked.body.keys()
        return fails(400, None, message, type="invalid_request_error") if both else whole("fine")

    with serving(script) as endpoint:
        reply = with_backbone(endpoint, lambda b: b.complete(EVERYTHING))
        assert endpoint.asked[-1].body["temperature"] == 0.4
    assert reply.dropped == ("top_p",)


def test_a_cap_goes_by_the_name_that_the_refusal_suggests() -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    )

    def script(asked: Asked) -> Answer:
        if "max_tokens" in asked.body:
            return fails(400, "unsupported_parameter", message, param="max_tokens")
        return whole("fine")

    with serving(script) as endpoint:
        reply = with_backbone(endpoint, lambda b: b.complete(EVERYTHING))
        assert endpoint.asked[-1].body["max_completion_tokens"] == 50
    assert reply.dropped == ()


def test_what_cannot_be_left_out_stays_the_set_ups_fault() -> None:
    message = "The model `check` does not exist"
    with pytest.raises(SetupBroken):
        one(lambda _: fails(404, "model_not_found", message, param="model"))
    stubborn = fails(
        400, "unsupported_parameter", "Unsupported parameter: 'messages'", param="messages"
    )
    with pytest.raises(SetupBroken):
        one(lambda _: stubborn)


def test_a_prompt_that_is_too_long_gives_up_no_parameter() -> None:
    message = "This model's maximum context length is 8192 tokens; reduce the length of the messages or max_tokens."
    reply = one(lambda _: fails(400, "context_length_exceeded", message, param="messages"))
    assert (reply.finish, reply.dropped) == ("error", ())
    # What it said is on the record: whoever reads the log later has no other way to know.
    assert message in (completed("q", reply).detail or "")


BODIES = st.fixed_dictionaries(
    {"model": st.just("m"), "messages": st.just([])},
    optional={name: st.integers(1, 9) for name in (*PARAMETERS, "stream", "stream_options")},
)


@given(body=BODIES, refused=st.sets(st.sampled_from([*PARAMETERS, "max_completion_tokens"])))
def test_nothing_refused_is_sent_and_nothing_else_is_lost(
    body: dict[str, Any], refused: set[str]
) -> None:
    sent = adapted(body, refused)
    assert not refused & sent.keys()
    kept: Mapping[str, Any] = {name: body[name] for name in body if name not in refused}
    assert {name: sent[name] for name in kept} == kept
    capped = "max_tokens" in body and not {"max_tokens", "max_completion_tokens"} <= refused
    assert capped == ("max_tokens" in sent or "max_completion_tokens" in sent)
    lost = {name for name in body if name not in sent} - ({"max_tokens"} if capped else set())
    assert left_out(body, sent) == tuple(sorted(lost))


# -- what goes along beside, and what comes back beside


def test_what_an_endpoint_wants_besides_goes_along() -> None:
    with serving() as endpoint:
        with_backbone(
            endpoint,
            lambda b: b.complete(asking()),
            reasoning_effort="low",
            chat_template_kwargs='{"enable_thinking": false}',
            extra_body='{"top_k": 20, "seed": 1}',
        )
        body = endpoint.asked[0].body
    assert body["reasoning_effort"] == "low"
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["top_k"], body["seed"]) == (20, 1)


@pytest.mark.parametrize("text", ["[1]", "{", '"a"'])
def test_what_is_no_object_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="extra_body"):
        Options(extra_body=text)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_thought_that_comes_apart_is_kept_beside_the_reply(name: str, stream: bool) -> None:
    message = {"role": "assistant", "content": "42", name: "6 times 7"}
    body = {
        "model": "check",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }
    pieces = [{name: "6 times"}, {name: " 7"}, {"content": "42"}]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in pieces
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    answer = (
        events([*map(json.dumps, chunks), "[DONE]"])
        if stream
        else Answer(raw=json.dumps(body).encode())
    )
    reply = one(lambda _: answer, stream=stream)
    assert (reply.text, reply.thought) == ("42", "6 times 7")
    assert completed("q", reply).thought == "6 times 7"


def test_nothing_is_left_out_where_nothing_is_refused() -> None:
    reply = one(lambda _: whole("fine"), ModelRequest((("user", "x"),), Sampling(), 1))
    assert (reply.dropped, reply.thought) == ((), None)
    assert completed("q", reply).dropped is None
