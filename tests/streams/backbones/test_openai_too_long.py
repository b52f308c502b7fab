"""A prompt that is longer than the model takes is asked again once without what was learned, on the record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from handlers.limits import UNBOUNDED
from handlers.roles.role import Role, answer
from schemas.events.episode import Completed
from schemas.memory import Memory
from schemas.questions import Complete
from streams.answering.backbones.openai import OpenAIBackbone
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.drive import Run
from tests.endpoint import Answer, Asked, Script, fails, serving, whole

ROLE = Role.of("reasoner", "Solve it.", sections=("Problem", "Guidance?"), reply=[answer()])
LEARNED = "Count the boxes first. " * 20


def openai() -> Answer:
    message = (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9021 "
        "tokens. Please reduce the length of the messages."
    )
    return fails(400, "context_length_exceeded", message, param="messages")


def anthropic() -> Answer:
    message = "prompt is too long: 210021 tokens > 200000 maximum"
    return fails(400, None, message, type="invalid_request_error")


def gemini() -> Answer:
    said = "The input token count (1200021) exceeds the maximum number of tokens allowed (1048576)."
    return fails(400, None, said, type="INVALID_ARGUMENT")


def bedrock() -> Answer:
    return fails(400, None, "Input is too long for requested model.", type="ValidationException")


def vllm() -> Answer:
    said = "The decoder prompt (length 5021) is longer than the maximum model length of 4096."
    return fails(400, None, said, type="BadRequestError")


def llama_cpp() -> Answer:
    said = (
        "request (5021 tokens) exceeds the available context size (4096 tokens), try increasing it"
    )
    return fails(400, None, said, type="exceed_context_size_error")


def n_ctx() -> Answer:
    return fails(400, None, "prompt of 5021 tokens does not fit n_ctx = 4096", type="invalid")


def tgi() -> Answer:
    said = "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500"
    return fails(422, None, said, type="validation")


def together() -> Answer:
    said = "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9001 `inputs` tokens"
    return fails(422, None, said, type="invalid_request_error")


def xai() -> Answer:
    said = "This model's maximum prompt length is 131072 but the request contains 200021 tokens."
    return fails(400, None, said)


def moonshot() -> Answer:
    return fails(400, None, "Invalid request: Your request exceeded model token limit: 8192")


def qwen() -> Answer:
    return fails(400, "invalid_parameter_error", "Range of input length should be [1, 30720]")


def groq() -> Answer:
    said = "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9021"
    return fails(413, "rate_limit_exceeded", said, type="tokens")


SERVERS = (openai, anthropic, gemini, bedrock, vllm, llama_cpp, n_ctx, tgi)
WORDINGS = (*SERVERS, together, xai, moonshot, qwen, groq)


def narrow(most: int, how: Any) -> Script:
    """A model that takes no prompt of more characters."""

    def script(asked: Asked) -> Answer:
        size = sum(len(message["content"]) for message in asked.body["messages"])
        return how() if size > most else whole("\\boxed{24}")

    return script


def answered(script: Script, question: Complete) -> tuple[Completed, list[Asked]]:
    """What is recorded of one question, and what the endpoint was asked."""

    async def ask(url: str) -> Completed:
        backbone = OpenAIBackbone("m", base_url=url, api_key="a-long-key")
        world = World({"*": backbone}, HashedEmbedder(), patient=False)
        run = Run("e", {}, 1, Memory("s", 0))
        asked = question.fingerprint()
        event = await world.during(world.answer(run, question, asked, "0", UNBOUNDED))
        assert isinstance(event, Completed)
        return event

    with serving(script) as endpoint:
        return asyncio.run(ask(endpoint.url)), list(endpoint.asked)


GUIDED = ROLE.question({"problem": "Ada has 3 boxes.", "guidance": LEARNED})


@pytest.mark.parametrize("how", WORDINGS)
def test_it_is_asked_again_once_without_its_guidance(how: Any) -> None:
    event, asked = answered(narrow(500, how), GUIDED)
    assert (event.text, event.finish) == ("\\boxed{24}", "stop")
    assert event.dropped == ("guidance",)
    assert len(asked) == event.attempts == 2
    first, second = (str(each.body["messages"]) for each in asked)
    assert "Count the boxes" in first
    assert "Count the boxes" not in second
    assert "Ada has 3 boxes." in second


def test_what_is_too_long_without_it_is_recorded_as_it_is() -> None:
    event, asked = answered(narrow(10, openai), GUIDED)
    assert (event.text, event.finish, event.dropped) == ("", "error", ("guidance",))
    assert len(asked) == 2


def test_without_guidance_nothing_is_asked_again() -> None:
    plain = ROLE.question({"problem": "Ada has 3 boxes."})
    event, asked = answered(narrow(10, openai), plain)
    assert (event.finish, event.dropped, len(asked)) == ("error", None, 1)


def test_a_cap_that_is_too_large_goes_before_the_guidance() -> None:
    def script(asked: Asked) -> Answer:
        return openai() if "max_tokens" in asked.body else whole("\\boxed{24}")

    capped = structs.replace(GUIDED, sampling=replace(GUIDED.sampling, max_tokens=8_192))
    event, asked = answered(script, capped)
    assert event.dropped == ("max_tokens",)
    assert "Count the boxes" in str(asked[-1].body["messages"])


def test_another_refusal_leaves_the_guidance() -> None:
    event, asked = answered(lambda _: fails(400, None, "bad image"), GUIDED)
    assert (event.finish, len(asked)) == ("error", 1)
