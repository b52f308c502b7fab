"""What each provider says on the wire, as it documents it: replies, and refusals in its own words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from streams.answering.backbones.providers import Options, ProviderBackbone
from streams.core.backbone import ModelReply, ModelRequest
from tests.endpoint import Answer, Asked, Endpoint, Script, serving
from tests.streams.backbones.asking import QUICK, asking

T = TypeVar("T")
SECRET = "sk-never-to-be-seen"
REASONS = ("end", "length", "filtered")


def said(body: Mapping[str, Any], status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(raw=json.dumps(body).encode(), status=status, headers=named)


@dataclass(frozen=True, kw_only=True)
class Wire:
    """One provider. ``reasons`` are its words for an end, a cut and a filter."""

    kind: str
    key: str
    address: str
    path: str
    reply: Callable[[str, str | None, str, bool], Answer]
    reasons: tuple[str, str, str]
    prompt: Callable[[Mapping[str, Any]], str]
    refusal: Callable[[int, str, str], Answer]
    bad_key: Answer
    no_model: Answer
    too_long: Answer
    refused: Answer
    """It takes no ``top_p``."""
    busy: Answer
    overloaded: Answer
    pause_s: float | None
    within: str | None = None
    """Where in the body parameters stand, if not at its top."""
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its names of our parameters, where they differ."""
    thinking: int | None = 15
    lacks: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict[str, str])

    def env(self, endpoint: Endpoint) -> dict[str, str]:
        """The environment that leads a client here."""
        return {self.key: SECRET, self.address: endpoint.url.removesuffix("/v1"), **self.more}

    def sent(self, body: Mapping[str, Any], name: str) -> Any:
        """What was sent as one of our parameters."""
        place: Mapping[str, Any] = body[self.within] if self.within else body
        return place.get(self.words.get(name, name))

    def fine(self, text: str = "42", thought: str | None = None) -> Answer:
        return self.reply(text, thought, self.reasons[0], True)

    def echo(self, asked: Asked) -> Answer:
        return self.fine(self.prompt(asked.body))


def parts(thinking: Mapping[str, Any], text: str, **kind: str) -> list[dict[str, Any]]:
    """A reply in pieces: what was thought, if anything was, then what was said."""
    said_so = [{**kind, "text": text}] if text else []
    return [*([dict(thinking)] if thinking else []), *said_so]


# -- Anthropic: the Messages API


def anthropic_reply(text: str, thought: str | None, reason: str, counted: bool) -> Answer:
    thinking = {"type": "thinking", "thinking": thought, "signature": "c2ln"} if thought else {}
    content = parts(thinking, text, type="text")
    usage: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0}
    if counted:
        usage = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 5}
        usage |= {
            "cache_creation_input_tokens": 0,
            "output_tokens_details": {"thinking_tokens": 15},
        }
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": content,
    }
    return said(body | {"stop_reason": reason, "stop_sequence": None, "usage": usage})


def anthropic_refusal(status: int, kind: str, message: str) -> Answer:
    return said({"type": "error", "error": {"type": kind, "message": message}}, status)


ANTHROPIC = Wire(
    kind="anthropic",
    key="ANTHROPIC_API_KEY",
    address="ANTHROPIC_BASE_URL",
    path="/v1/messages",
    reply=anthropic_reply,
    reasons=("end_turn", "max_tokens", "refusal"),
    prompt=lambda body: body["messages"][-1]["content"],
    refusal=anthropic_refusal,
    words={"stop": "stop_sequences"},
    bad_key=anthropic_refusal(401, "authentication_error", "invalid x-api-key"),
    no_model=anthropic_refusal(404, "not_found_error", "model: claude-nope"),
    too_long=anthropic_refusal(
        400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
    ),
    refused=anthropic_refusal(
        400,
        "invalid_request_error",
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    ),
    busy=said(
        {"type": "error", "error": {"type": "rate_limit_error", "message": "too many requests"}},
        429,
        retry_after="7",
    ),
    overloaded=anthropic_refusal(529, "overloaded_error", "Overloaded"),
    pause_s=7.0,
    lacks=("seed",),
)


# -- Gemini: generateContent


def gemini_reply(text: str, thought: str | None, reason: str, counted: bool) -> Answer:
    content = parts({"text": thought, "thought": True} if thought else {}, text)
    candidate = {"content": {"parts": content, "role": "model"}, "finishReason": reason, "index": 0}
    body: dict[str, Any] = {"candidates": [candidate], "modelVersion": "m-1", "responseId": "r"}
    if counted:
        usage = {"promptTokenCount": 15, "candidatesTokenCount": 5, "thoughtsTokenCount": 15}
        body["usageMetadata"] = usage | {"cachedContentTokenCount": 5, "totalTokenCount": 35}
    return said(body)


def gemini_refusal(status: int, kind: str, message: str, *details: Any) -> Answer:
    error = {"code": status, "message": message, "status": kind}
    return said({"error": error | ({"details": list(details)} if details else {})}, status)


GEMINI = Wire(
    kind="gemini",
    key="GEMINI_API_KEY",
    address="GOOGLE_GEMINI_BASE_URL",
    path="/v1beta/models/m-1:generateContent",
    reply=gemini_reply,
    reasons=("STOP", "MAX_TOKENS", "SAFETY"),
    prompt=lambda body: body["contents"][-1]["parts"][0]["text"],
    refusal=gemini_refusal,
    within="generationConfig",
    words={"stop": "stopSequences", "top_p": "topP", "max_tokens": "maxOutputTokens"},
    bad_key=gemini_refusal(
        400,
        "INVALID_ARGUMENT",
        "API key not valid. Please pass a valid API key.",
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
    ),
    no_model=gemini_refusal(
        404,
        "NOT_FOUND",
        "models/nope is not found for API version v1beta, or is not supported for generateContent.",
    ),
    too_long=gemini_refusal(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    refused=gemini_refusal(
        400,
        "INVALID_ARGUMENT",
        "Invalid JSON payload received. Unknown name \"topP\" at 'generation_config': Cannot find field.",
    ),
    busy=gemini_refusal(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota. Please retry in 7s.",
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"},
    ),
    overloaded=gemini_refusal(
        503, "UNAVAILABLE", "The model is overloaded. Please try again later."
    ),
    pause_s=7.0,
)


# -- Bedrock: Converse


def bedrock_reply(text: str, thought: str | None, reason: str, counted: bool) -> Answer:
    reasoning = {"reasoningText": {"text": thought, "signature": "s"}}
    content = parts({"reasoningContent": reasoning} if thought else {}, text)
    body: dict[str, Any] = {"output": {"message": {"role": "assistant", "content": content}}}
    if counted:
        usage = {"inputTokens": 10, "outputTokens": 20, "totalTokens": 35}
        body["usage"] = usage | {"cacheReadInputTokens": 5, "cacheWriteInputTokens": 0}
    return said(body | {"stopReason": reason, "metrics": {"latencyMs": 7}})


def bedrock_refusal(status: int, kind: str, message: str, **headers: str) -> Answer:
    return said({"message": message}, status, x_amzn_errortype=kind, **headers)


BEDROCK = Wire(
    kind="bedrock",
    key="AWS_SECRET_ACCESS_KEY",
    address="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    path="/model/m-1/converse",
    reply=bedrock_reply,
    reasons=("end_turn", "max_tokens", "guardrail_intervened"),
    prompt=lambda body: body["messages"][-1]["content"][0]["text"],
    refusal=bedrock_refusal,
    within="inferenceConfig",
    words={"stop": "stopSequences", "top_p": "topP", "max_tokens": "maxTokens"},
    bad_key=bedrock_refusal(
        403,
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
    ),
    no_model=bedrock_refusal(
        400, "ValidationException", "The provided model identifier is invalid."
    ),
    too_long=bedrock_refusal(400, "ValidationException", "Input is too long for requested model."),
    refused=bedrock_refusal(
        400,
        "ValidationException",
        "This model doesn't support the topP field. Remove topP and try again.",
    ),
    busy=bedrock_refusal(
        429, "ThrottlingException", "Too many requests, please wait.", retry_after="7"
    ),
    overloaded=bedrock_refusal(
        503, "ServiceUnavailableException", "Too many connections, please wait."
    ),
    pause_s=7.0,
    thinking=None,
    lacks=("seed",),
    more={"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_REGION": "eu-west-1"},
)


# -- Azure OpenAI: deployments behind the v1 chat API


def azure_reply(text: str, thought: str | None, reason: str, counted: bool) -> Answer:
    message = {"role": "assistant", "content": text or None, "refusal": None}
    choice = {"index": 0, "finish_reason": reason, "message": message}
    body: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 0, "model": "m-1"}
    body["choices"] = [choice]
    if counted:
        usage: dict[str, Any] = {"prompt_tokens": 15, "completion_tokens": 20, "total_tokens": 35}
        usage["completion_tokens_details"] = {"reasoning_tokens": 15}
        body["usage"] = usage | {"prompt_tokens_details": {"cached_tokens": 5}}
    return said(body)


def azure_refusal(status: int, kind: str, message: str, **more: Any) -> Answer:
    return said({"error": {"code": kind, "message": message, **more}}, status)


AZURE = Wire(
    kind="azure",
    key="AZURE_OPENAI_API_KEY",
    address="AZURE_OPENAI_ENDPOINT",
    path="/openai/v1/chat/completions",
    reply=azure_reply,
    reasons=("stop", "length", "content_filter"),
    prompt=lambda body: body["messages"][-1]["content"],
    refusal=azure_refusal,
    words={"max_tokens": "max_completion_tokens"},
    bad_key=azure_refusal(
        401, "401", "Access denied due to invalid subscription key or wrong API endpoint."
    ),
    no_model=azure_refusal(
        404, "DeploymentNotFound", "The API deployment for this resource does not exist."
    ),
    too_long=azure_refusal(
        400,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens.",
        param="messages",
    ),
    refused=azure_refusal(
        400,
        "unsupported_parameter",
        "Unsupported parameter: 'top_p' is not supported with this model.",
        param="top_p",
    ),
    busy=said(
        {"error": {"code": "429", "message": "Requests have exceeded the rate limit."}},
        429,
        retry_after="7",
    ),
    overloaded=azure_refusal(503, "503", "The service is temporarily unable to process it."),
    pause_s=7.0,
)
WIRES = {each.kind: each for each in (ANTHROPIC, GEMINI, BEDROCK, AZURE)}


def with_provider(
    wire: Wire,
    endpoint: Endpoint,
    use: Callable[[ProviderBackbone], Awaitable[T]],
    model: str = "m-1",
    **options: Any,
) -> T:
    async def body() -> T:
        asks = ProviderBackbone(
            wire.kind, model, environ=wire.env(endpoint), options=Options(**(QUICK | options))
        )
        try:
            return await use(asks)
        finally:
            await asks.close()

    return asyncio.run(body())


def one(wire: Wire, script: Script, request: ModelRequest | None = None, **more: Any) -> ModelReply:
    with serving(script) as endpoint:
        return with_provider(wire, endpoint, lambda b: b.complete(request or asking()), **more)
