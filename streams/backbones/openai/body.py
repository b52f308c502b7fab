"""What is sent: model, messages and seed; all else only where it was set."""

from __future__ import annotations

import re
from typing import Any

from schemas.questions import Sampling
from streams.backbones.openai.faults import Fault
from streams.backbones.openai.options import Options
from streams.backbones.port import ModelRequest

CAP_NAMES = ("max_tokens", "max_completion_tokens")  # the older name is the one every server knows
_ABOUT_SIZE = re.compile(r"max_(?:completion_)?tokens|context|completion", re.IGNORECASE)
_SEEDS = 1 << 31  # some servers keep a seed in 32 bits


def encodable(text: str) -> str:
    """The text with every lone surrogate replaced: UTF-8 has no place for one."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def body_of(request: ModelRequest, model: str, options: Options, cap_name: str) -> dict[str, Any]:
    """The JSON body of one call."""
    messages = [{"role": role, "content": encodable(text)} for role, text in request.messages]
    body: dict[str, Any] = {"model": model, "messages": messages}
    if options.send_seed:
        body["seed"] = request.seed % _SEEDS
    body |= _sampling(request.sampling, cap_name)
    if options.structured and request.schema is not None:
        shape = {"name": "reply", "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    if options.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def _sampling(sampling: Sampling, cap_name: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        cap_name: sampling.max_tokens,
        "stop": list(sampling.stop) or None,
        "logprobs": sampling.logprobs or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def mended(body: dict[str, Any], fault: Fault) -> dict[str, Any] | None:
    """The body to try instead, if the fault is our cap on tokens; nothing if it is not.

    A server that knows the cap by its other name gets that one. One that finds it too large gets
    none: its own is smaller then, so no more can come back than was asked for.
    """
    cap = next((name for name in CAP_NAMES if name in body), None)
    if cap is None or fault.kind not in ("model", "error"):
        return None
    rest = {name: value for name, value in body.items() if name != cap}
    if fault.kind == "error":
        return rest if _ABOUT_SIZE.search(fault.detail) else None
    other = CAP_NAMES[1 - CAP_NAMES.index(cap)]
    return rest | {other: body[cap]} if cap in fault.detail else None
