"""Ways to ask an OpenAI backbone whose server a test has written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from schemas.questions import DEFAULT_SAMPLING
from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.core.backbone import ModelReply, ModelRequest
from tests.endpoint import Answer, Endpoint, Script, serving

T = TypeVar("T")
QUICK: dict[str, Any] = {"backoff_s": 0.001, "longest_pause_s": 0.01}


def asking(text: str = "2+2", seed: int = 7, **more: Any) -> ModelRequest:
    sampling = more.pop("sampling", DEFAULT_SAMPLING)
    return ModelRequest(messages=(("user", text),), sampling=sampling, seed=seed, **more)


def with_backbone(
    endpoint: Endpoint, use: Callable[[OpenAIBackbone], Awaitable[T]], **options: Any
) -> T:
    async def body() -> T:
        backbone = OpenAIBackbone(environ=endpoint.env(), options=Options(**(QUICK | options)))
        try:
            return await use(backbone)
        finally:
            await backbone.close()

    return asyncio.run(body())


def one(script: Script, request: ModelRequest | None = None, **options: Any) -> ModelReply:
    with serving(script) as endpoint:
        return with_backbone(endpoint, lambda b: b.complete(request or asking()), **options)


def always(answer: Answer) -> Script:
    return lambda _: answer


def in_turn(*answers: Answer) -> Script:
    return lambda asked: answers[min(asked.number, len(answers) - 1)]
