"""The body of a request: model, messages and seed, and anything else only if it was set and is not refused."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

import orjson

from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.options import Options
from streams.answering.backbones.openai.tools import declared
from streams.core.backbone import ModelRequest
from streams.core.normalise import encodable

CAP_NAMES = ("max_tokens", "max_completion_tokens")  # the older name is the one every server knows
NEEDED = frozenset({"model", "messages"})
Body: TypeAlias = dict[str, Any]
_ABOUT_SIZE = re.compile(r"max_(?:completion_|new_)?tokens|context|completion", re.IGNORECASE)
_SEEDS = 1 << 31  # some servers keep a seed in 32 bits


def body_of(request: ModelRequest, model: str, options: Options, cap_name: str) -> dict[str, Any]:
    """The JSON body of one call."""
    messages = [{"role": role, "content": encodable(text)} for role, text in request.messages]
    body: dict[str, Any] = {"model": model, "messages": messages}
    # Big providers refuse a seed or have none: sent with every call it would stand on every record
    # as left out, for nothing.
    if options.send_seed == "true" or (options.send_seed == "used" and request.seeded):
        body["seed"] = request.seed % _SEEDS
    sampling = request.sampling
    chosen: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        cap_name: sampling.max_tokens,
        "stop": list(sampling.stop) or None,
        "logprobs": sampling.logprobs or None,
    }
    # A parameter that nobody chose is not sent: each is one more that some endpoint may refuse.
    body |= {name: value for name, value in chosen.items() if value is not None}
    if options.token_logprobs:
        body["logprobs"] = True
    if options.native_tools and request.tools:
        body["tools"] = declared(request.tools)  # a reply's schema would forbid to call any
    elif options.structured and request.schema is not None:
        shape = {"name": "reply", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    if options.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if options.reasoning_effort:
        body["reasoning_effort"] = options.reasoning_effort
    if options.chat_template_kwargs:
        body["chat_template_kwargs"] = orjson.loads(options.chat_template_kwargs)
    # Last, since it wins over all that stands above: it is there for what we know nothing of.
    return body | (orjson.loads(options.extra_body) if options.extra_body else {})


def adapted(body: Body, refused: AbstractSet[str]) -> Body:
    """The body without the parameters that an endpoint refuses; a cap goes by its other name if that one is left."""
    rest = {name: value for name, value in body.items() if name not in refused}
    for name, other in (CAP_NAMES, CAP_NAMES[::-1]):
        if name in body and name in refused and other not in refused:
            rest[other] = body[name]
    # The official endpoint allows this one only beside the other.
    if "stream" in refused:
        rest.pop("stream_options", None)
    return rest


def refused_by(fault: Fault, sent: Body) -> frozenset[str]:
    """Parameters of ours that a refusal names; none where it is about anything else.

    Of two that exclude each other, such as ``temperature`` and ``top_p``, only the second is given up.
    """
    # Whatever else an endpoint refuses, a smaller body would not help it.
    if fault.kind != "model":
        return frozenset()
    named = fault.names & (sent.keys() - NEEDED)
    if fault.excludes and {"temperature", "top_p"} <= named:
        named -= {"temperature"}
    # "Use max_completion_tokens instead" names what is not sent, and is no refusal of it.
    return frozenset(named)


def uncapped(body: Body, fault: Fault) -> Body | None:
    """The body without a cap that the endpoint finds too large: its own is smaller, so no more can come back."""
    cap = next((name for name in CAP_NAMES if name in body), None)
    if cap is None or fault.kind != "error" or not _ABOUT_SIZE.search(fault.detail):
        return None
    return {name: value for name, value in body.items() if name != cap}


def left_out(asked: Body, sent: Body) -> tuple[str, ...]:
    """Names of the parameters that a call was meant to have and did not; a cap counts by either name."""
    names = {name for name in asked if name not in sent}
    if any(name in sent for name in CAP_NAMES):
        names -= {*CAP_NAMES}
    return tuple(sorted(names))
