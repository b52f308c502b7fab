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
    choices: list[Json] = []
    for choice in objects(completion.get("choices")):
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
        kept = {name: choice.get(name) for name in ("finish_reason", "logprobs")}
        choices.append(kept | {"message": said})
    usage = part(completion, "usage")
    thinking = part(part(wire, "usage"), "output_tokens_details").get("thinking_tokens")
    if isinstance(thinking, int):
        usage = usage | {"completion_tokens_details": {"reasoning_tokens": thinking}}
    # The library writes 0 where the provider said nothing, and unknown is not zero.
    is_told = usage.get("prompt_tokens") or usage.get("completion_tokens")
    # Gemini may have another model reply than the one that was asked; prices hang on which.
    model = wire.get("modelVersion") or completion.get("model")
    body = {"model": model, "choices": choices, "usage": usage if is_told else None}
    return orjson.dumps(body)
