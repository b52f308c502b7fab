"""A provider's reply as the chat API would have said it. Pure.

The library turns a reply into that form and loses a few things, which are taken from what was on the wire: how much
of it was thinking, which model replied, and whether anything was said of tokens at all, where it writes 0.
"""

from __future__ import annotations

from typing import Any, cast

import orjson

from streams.answering.backbones.openai.reading import Json, objects, parse, part
from streams.answering.backbones.providers.kinds import AZURE, Provider


def told(provider: Provider, completion: dict[str, Any], raw: bytes) -> bytes:
    """The body of a chat completion; ``raw`` is the provider's own, where it is known."""
    own = parse(raw)
    wire = cast("Json", own) if isinstance(own, dict) else {}
    choices = [_choice(provider, each) for each in objects(completion.get("choices"))]
    model = wire.get("modelVersion") or completion.get("model")
    body: Json = {"model": model, "choices": choices, "usage": _usage(completion, wire)}
    return orjson.dumps(body)


def _choice(provider: Provider, choice: Json) -> Json:
    message = part(choice, "message")
    said: Json = {
        # Nothing said and said to be at its end is no reply: the chat API tells it by null.
        "content": message.get("content") or None,
        "reasoning_content": message.get("reasoning"),
        "tool_calls": message.get("tool_calls"),
    }
    if provider.name == AZURE:  # the library puts words of its own here for the others
        said["refusal"] = message.get("refusal")
        said["content"] = message.get("content")
    return {
        "finish_reason": choice.get("finish_reason"),
        "message": said,
        "logprobs": choice.get("logprobs"),
    }


def _usage(completion: Json, wire: Json) -> Json | None:
    usage = part(completion, "usage")
    if not usage.get("prompt_tokens") and not usage.get("completion_tokens"):
        return None
    thinking = part(part(wire, "usage"), "output_tokens_details").get("thinking_tokens")
    if isinstance(thinking, int):
        usage = usage | {"completion_tokens_details": {"reasoning_tokens": thinking}}
    return usage
