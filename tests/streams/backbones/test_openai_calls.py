from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from schemas.questions import Sampling
from streams.answering.backbones.openai import OpenAIBackbone
from streams.core.backbone import ModelRequest
from streams.core.normalise import completed
from tests.endpoint import Answer, echo, events, serving, streamed, whole
from tests.streams.backbones.asking import always, asking, one, with_backbone


def sent(request: ModelRequest, **options: Any) -> dict[str, Any]:
    with serving() as endpoint:
        with_backbone(endpoint, lambda b: b.complete(request), **options)
        return endpoint.asked[0].body


# -- what is sent


def test_default_request_holds_model_messages_and_seed_alone() -> None:
    message = {"role": "user", "content": "2+2"}
    assert sent(asking()) == {"model": "check", "messages": [message], "seed": 7}


def test_a_refused_seed_can_be_left_out() -> None:
    assert "seed" not in sent(asking(), send_seed="false")


def test_sampling_is_sent_where_it_is_set() -> None:
    sampling = Sampling(temperature=0.0, max_tokens=9, stop=("###",), logprobs=True)
    body = sent(asking(sampling=sampling))
    del body["model"], body["messages"], body["seed"]
    assert body == {"temperature": 0.0, "max_tokens": 9, "stop": ["###"], "logprobs": True}


def test_schema_is_sent_only_when_configured() -> None:
    request = asking(schema={"type": "object"})
    assert "response_format" not in sent(request)
    shape = sent(request, structured=True)["response_format"]
    assert shape == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": request.schema, "strict": True},
    }


def test_streaming_asks_for_usage() -> None:
    with serving(always(streamed(["a", "b"]))) as endpoint:
        reply = with_backbone(endpoint, lambda b: b.complete(asking()), stream=True)
        assert endpoint.asked[0].body["stream_options"] == {"include_usage": True}
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("ab", 100, 10)


def test_lone_surrogates_are_sent_as_replacement_characters() -> None:
    assert sent(asking("a\ud800b é"))["messages"][0]["content"] == "a�b é"


# -- what comes back


def test_a_reply() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "completion_tokens_details": {"reasoning_tokens": 4},
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    logprobs = {"content": [{"logprob": -0.5}, {"logprob": -1.5}]}
    reply = one(always(whole("four", usage=usage, logprobs=logprobs, model="check-2")))
    assert (reply.text, reply.finish, reply.model, reply.attempts) == ("four", "stop", "check-2", 1)
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 10)
    assert (reply.reasoning_tokens, reply.cached_tokens) == (4, 64)
    assert reply.logprob == -1.0
    assert reply.seconds is not None
    assert reply.seconds > 0


@pytest.mark.parametrize("answer", [whole("x", usage=None), streamed(["x"], usage=None)])
def test_missing_usage_is_unknown(answer: Answer) -> None:
    reply = one(always(answer))
    assert reply.text == "x"
    assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)


@pytest.mark.parametrize(
    ("answer", "text", "finish"),
    [
        (whole("half", finish="length"), "half", "length"),
        (whole(None, finish="length"), "", "length"),
        (whole("", finish="stop"), "", "stop"),
        (whole("x", finish=None), "x", "stop"),
        (whole("cut", finish="content_filter"), "cut", "refusal"),
        (whole(None, finish="content_filter"), "", "refusal"),
        (whole(None, refusal="I cannot."), "I cannot.", "refusal"),
        (whole([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab", "stop"),
        (whole("\ud83d lone"), "\ud83d lone", "stop"),
    ],
)
def test_finish(answer: Answer, text: str, finish: str) -> None:
    reply = one(always(answer))
    assert (reply.text, reply.finish, reply.attempts) == (text, finish, 1)


def test_a_huge_reply_comes_whole() -> None:
    assert len(one(always(whole("x" * 20_000_000))).text) == 20_000_000


def test_a_server_that_streams_unasked_or_not_when_asked_is_understood() -> None:
    assert one(always(streamed(["a", "b"]))).text == "ab"
    assert one(echo, stream=True).text == "2+2"


LETTERS = [{"token": letter, "logprob": -float(at)} for at, letter in enumerate("4 and 2", 1)]


@pytest.mark.parametrize("stream", [False, True])
def test_each_tokens_log_probability_is_kept_where_that_is_wanted(stream: bool) -> None:
    """For training on what was said; policies that ask for log-probabilities have their mean as ever."""
    chunk = {"choices": [{"delta": {"content": "4 and 2"}, "logprobs": {"content": LETTERS}}]}
    last: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    answer = (
        events([json.dumps(chunk), json.dumps(last), "[DONE]"])
        if stream
        else whole("4 and 2", logprobs={"content": LETTERS})
    )
    with serving(lambda _: answer) as endpoint:
        ask = partial(OpenAIBackbone.complete, request=asking())
        reply = with_backbone(endpoint, ask, token_logprobs=True, stream=stream)
        assert endpoint.asked[0].body["logprobs"] is True
        other = with_backbone(endpoint, ask, stream=stream)
        assert "logprobs" not in endpoint.asked[1].body
    assert reply.token_logprobs == tuple(zip("4 and 2", [-1, -2, -3, -4, -5, -6, -7], strict=True))
    assert completed("q", reply).token_logprobs == reply.token_logprobs
    assert (reply.logprob, other.logprob, other.token_logprobs) == (-4, -4, None)
    assert completed("q", other).token_logprobs is None


def test_tokens_with_a_hole_are_unknown() -> None:
    for hole in ({"token": "x"}, {"logprob": -1.0}, {"token": "x", "logprob": float("nan")}, 1):
        answer = whole("4x", logprobs={"content": [LETTERS[0], hole]})
        assert one(lambda _, a=answer: a, token_logprobs=True).token_logprobs is None  # type: ignore[misc]
