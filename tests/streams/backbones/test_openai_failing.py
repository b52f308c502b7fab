from __future__ import annotations

import asyncio

import pytest

from schemas.questions import Sampling
from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.endpoint import EndpointPool
from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.line import ChatTransport
from streams.answering.backbones.openai.options import find_site
from streams.core.backbone import ModelReply, SetupBroken, Unreachable
from tests.endpoint import Answer, Asked, drops, events, fails, serving, streamed, whole
from tests.ports import refusing
from tests.streams.backbones.asking import QUICK, always, asking, in_turn, one, with_backbone

# -- junk is asked for once more, then recorded

JUNK = [
    Answer(raw=b"not json"),
    Answer(raw=b""),
    Answer(raw=b"[" * 100_000),
    Answer(raw=b'{"choices": []}'),
    Answer(raw=b'{"choices": [null]}'),
    Answer(raw=b"[1, 2]"),
    whole(None),
    whole(7),
    streamed(["half"], finish=None, done=False),
    # As gateways, DeepSeek and vLLM end what they broke off.
    whole("half", finish="error"),
    whole("half", finish="insufficient_system_resource"),
    streamed(["half"], finish="abort"),
    events(['{"choices": [{"delta": {"content": "a"}}]}', "{broken", "[DONE]"]),
]


def test_a_page_of_somebody_in_between_is_no_reply() -> None:
    """A gateway or a hotel's portal answers 200 with HTML: nothing was asked of a model, nor paid."""
    page = Answer(raw=b" <html>log in first</html>", type="text/html")
    with pytest.raises(Unreachable, match="a page instead of a reply") as told:
        one(always(page))
    assert told.value.tried.free


@pytest.mark.parametrize("answer", JUNK)
def test_junk_is_an_error_after_one_retry(answer: Answer) -> None:
    reply = one(always(answer))
    assert (reply.text, reply.finish, reply.attempts) == ("", "error", 2)
    assert reply.prompt_tokens is None


@pytest.mark.parametrize("answer", JUNK)
def test_junk_then_a_reply(answer: Answer) -> None:
    reply = one(in_turn(answer, whole("ok")))
    assert (reply.text, reply.attempts) == ("ok", 2)
    assert not reply.free  # what the unreadable one cost is unknown


# -- the moment's faults


@pytest.mark.parametrize(
    "answer", [drops("before"), drops("middle"), fails(500), fails(502), fails(429), fails(503)]
)
def test_the_moments_faults_are_retried_and_counted(answer: Answer) -> None:
    reply = one(in_turn(answer, answer, whole("ok")))
    assert (reply.text, reply.attempts) == ("ok", 3)


@pytest.mark.parametrize(
    ("status", "free"), [(408, False), (504, False), (524, False), (500, True)]
)
def test_what_a_gateway_waited_for_no_longer_may_be_charged(status: int, free: bool) -> None:
    reply = one(in_turn(fails(status), whole("ok")))
    assert (reply.text, reply.attempts, reply.free) == ("ok", 2, free)


@pytest.mark.parametrize("answer", [drops("before"), drops("middle"), fails(500), fails(429)])
def test_unreachable_after_the_last_attempt(answer: Answer) -> None:
    with serving(always(answer)) as endpoint:
        with pytest.raises(Unreachable, match=endpoint.url):
            with_backbone(endpoint, lambda b: b.complete(asking()), max_attempts=3)
        assert len(endpoint.asked) == 3


def test_refused_connection_is_unreachable_and_said_so() -> None:
    async def body(url: str) -> None:
        options = Options(max_attempts=2, **QUICK)
        backbone = OpenAIBackbone("m", base_url=url, environ={}, options=options)
        for _ in range(2):
            with pytest.raises(Unreachable, match="connection refused") as caught:
                await backbone.complete(asking())
            assert (caught.value.tried.attempts, caught.value.tried.silence) == (2, "lost")
        await backbone.close()

    with refusing() as closed:
        asyncio.run(body(f"http://127.0.0.1:{closed}/v1"))


def test_what_never_connected_is_free_and_what_broke_is_not() -> None:
    async def free(url: str) -> bool:
        line = ChatTransport(
            find_site({}, base_url=url), Options(), EndpointPool().state_of(url, None, 1)
        )
        fault = await line.complete({"messages": []})
        await line.close()
        assert isinstance(fault, Fault)
        assert fault.kind == "lost"
        return fault.free

    with serving(always(drops())) as endpoint:
        assert not asyncio.run(free(endpoint.url))
    assert asyncio.run(free(endpoint.url))


@pytest.mark.parametrize(
    ("answer", "free"), [(fails(500), True), (fails(429), True), (drops(), False)]
)
def test_a_retry_that_may_have_been_paid_for_is_not_free(answer: Answer, free: bool) -> None:
    assert one(in_turn(answer, whole("ok"))).free == free


def test_a_timeout_is_a_reply_after_one_retry() -> None:
    script = always(whole("late", latency_s=30))
    reply = one(script, timeout_s=0.3)
    assert (reply.text, reply.finish, reply.attempts, reply.free) == ("", "timeout", 2, False)
    assert reply.seconds is not None
    assert reply.seconds >= 0.6


def test_retry_after_is_waited_for_up_to_the_cap() -> None:
    busy = fails(429, headers={"Retry-After": "0.2"})
    waited = one(in_turn(busy, whole("ok")), longest_pause_s=5)
    capped = one(in_turn(fails(429, headers={"Retry-After": "3600"}), whole("ok")))
    assert waited.seconds is not None
    assert capped.seconds is not None
    assert waited.seconds >= 0.2
    assert capped.seconds < 3600
    assert (waited.text, capped.text) == ("ok", "ok")


# -- the set-up's faults


@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        (
            fails(401, "invalid_api_key", "Incorrect API key: sk-x"),
            "auth",
            "HTTP 401 invalid_api_key",
        ),
        (fails(403, "unsupported_country"), "auth", "HTTP 403"),
        (
            fails(404, "model_not_found", "The model `check` does not exist"),
            "model",
            "check cannot",
        ),
        (fails(404), "model", "HTTP 404"),
        (
            fails(400, "unknown_parameter", "Unknown parameter: 'messages'.", param="messages"),
            "model",
            "messages",
        ),
        (
            fails(429, "insufficient_quota", "You exceeded your current quota"),
            "quota",
            "quota spent",
        ),
        (fails(402, None, "Payment required"), "quota", "HTTP 402"),
    ],
)
def test_a_broken_setup_raises_at_the_first_attempt(answer: Answer, code: str, word: str) -> None:
    with serving(always(answer)) as endpoint:
        with pytest.raises(SetupBroken, match=word) as caught:
            with_backbone(endpoint, lambda b: b.complete(asking()))
        assert (caught.value.code, caught.value.where) == (code, endpoint.url)
        assert len(endpoint.asked) == 1


def test_the_keys_source_is_named_and_its_value_never() -> None:
    secret = "sk-very-secret"
    answer = fails(401, f"bad key {secret}", f"the key {secret} is refused")

    async def body(url: str) -> str:
        backbone = OpenAIBackbone(
            "m", base_url=url, api_key=secret, key_source="OPENAI_API_KEY in .env:3", environ={}
        )
        with pytest.raises(SetupBroken) as caught:
            await backbone.complete(asking())
        await backbone.close()
        return f"{caught.value} {backbone!r} {vars(backbone)!r}"

    with serving(always(answer)) as endpoint:
        shown = asyncio.run(body(endpoint.url))
    assert "key from OPENAI_API_KEY in .env:3" in shown
    assert secret not in shown


# -- the prompt's faults


@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        (
            fails(400, "context_length_exceeded", "maximum context length is 8", param="messages"),
            "error",
        ),
        (fails(400, None, "bad messages"), "error"),
        (fails(413), "error"),
        (fails(400, "content_filter", "filtered"), "refusal"),
        (fails(403, None, "no", metadata={"flagged_input": "…"}), "refusal"),
    ],
)
def test_the_prompts_faults_are_recorded_at_once(answer: Answer, finish: str) -> None:
    reply = one(always(answer))
    assert (reply.text, reply.finish, reply.attempts) == ("", finish, 1)


def test_the_caps_other_name_is_learnt() -> None:
    def script(asked: Asked) -> Answer:
        if "max_tokens" not in asked.body:
            return whole(str(asked.body["max_completion_tokens"]))
        message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return fails(400, "unsupported_parameter", message, param="max_tokens")

    async def twice(backbone: OpenAIBackbone) -> list[ModelReply]:
        request = asking(sampling=Sampling(max_tokens=9))
        return [await backbone.complete(request), await backbone.complete(request)]

    with serving(script) as endpoint:
        replies = with_backbone(endpoint, twice)
    assert [(reply.text, reply.attempts) for reply in replies] == [("9", 2), ("9", 1)]


def test_a_cap_above_the_servers_own_is_dropped() -> None:
    def script(asked: Asked) -> Answer:
        if "max_tokens" in asked.body:
            return fails(400, "invalid_value", "max_tokens is too large", param="max_tokens")
        return whole("ok")

    reply = one(script, asking(sampling=Sampling(max_tokens=10**6)))
    assert (reply.text, reply.attempts) == ("ok", 2)
