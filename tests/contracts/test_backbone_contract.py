"""What every backbone keeps, whoever replies: one suite, run on each of them.

A case is a context that yields a backbone and the requests that it can be asked.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from msgspec import structs

from schemas.prompt import Message
from schemas.questions import DEFAULT_SAMPLING, Sampling
from schemas.reply import Field, Reply
from streams.answering.backbones.llamacpp import LlamaCpp
from streams.answering.backbones.llamacpp import Options as LlamaOptions
from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.providers import KINDS, ProviderBackbone
from streams.core.backbone import Backbone, BackboneError, ModelReply, ModelRequest
from tests.endpoint import Answer, Asked, echo, serving, streamed
from tests.streams.backbones.providers.wires import WIRES

Case: TypeAlias = Callable[[Path], AbstractContextManager[tuple[Backbone, Sequence[ModelRequest]]]]

FINISHES = {"stop", "length", "refusal", "timeout", "error"}
SECRET = "sk-never-to-be-seen"
BLOCK = (
    "Reply in this form, each label at the start of a line of its own:\nFinal_answer: \\boxed{...}"
)


def request(number: int) -> ModelRequest:
    """One of many different requests, with a format block for backbones that look for one."""
    task = f"Use the four numbers to make 24.\n\n{BLOCK}"
    messages: tuple[Message, ...] = (("system", task), ("user", f"### Problem\n4 5 6 {number + 1}"))
    return ModelRequest(messages=messages, sampling=DEFAULT_SAMPLING, seed=number)


REQUESTS = [request(number) for number in range(8)]


def in_chunks(asked: Asked) -> Answer:
    """The last message back, word by word."""
    return streamed(asked.body["messages"][-1]["content"].splitlines(keepends=True) or [""])


@contextmanager
def openai_case(_: Path, stream: bool = False) -> Generator[tuple[Backbone, list[ModelRequest]]]:
    """A server that repeats what it is told, whole or streamed."""
    with serving(in_chunks if stream else echo) as endpoint:
        options = Options(stream=stream)
        environ = endpoint.env() | {"OPENAI_API_KEY": SECRET}
        yield OpenAIBackbone(environ=environ, options=options), REQUESTS


@contextmanager
def streaming_case(path: Path) -> Generator[tuple[Backbone, Sequence[ModelRequest]]]:
    with openai_case(path, stream=True) as case:
        yield case


def provider_case(kind: str) -> Case:
    """A server that repeats what it is told, in a provider's own format."""

    @contextmanager
    def case(_: Path) -> Generator[tuple[Backbone, Sequence[ModelRequest]]]:
        wire = WIRES[kind]
        with serving(wire.echo) as endpoint:
            yield ProviderBackbone(kind, "m-1", environ=wire.env(endpoint)), REQUESTS

    return case


@contextmanager
def rehearsal_case(_: Path) -> Generator[tuple[Backbone, list[ModelRequest]]]:
    yield _load("rehearsal", "Rehearsal")(), REQUESTS


@contextmanager
def recorded_case(path: Path) -> Generator[tuple[Backbone, list[ModelRequest]]]:
    lines = [
        json.dumps({"messages": asked.messages, "draw": 0, "text": f"reply {asked.seed}"})
        for asked in REQUESTS
    ]
    file = path / "recorded.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    yield _load("recorded", "Recorded")(file), REQUESTS


@contextmanager
def llamacpp_case(_: Path) -> Generator[tuple[Backbone, list[ModelRequest]]]:
    """A real model, held to a reply of its own for each request: mixing up two calls would show."""
    sampling = Sampling(max_tokens=8)
    asked = [
        structs.replace(
            each, sampling=sampling, reply=Reply((Field("Echo", "choice", "", (f"{at}",)),))
        )
        for at, each in enumerate(REQUESTS)
    ]
    yield LlamaCpp(options=LlamaOptions(threads=1, context=1024)), asked


@contextmanager
def openvino_case(_: Path) -> Generator[tuple[Backbone, list[ModelRequest]]]:
    """A real model in a process of its own, which says at temperature 0 what it is told to repeat."""
    pytest.importorskip(
        "openvino_genai", reason="the extra openvino is not installed: make openvino"
    )
    options = _load("openvino", "Options")
    sampling = Sampling(max_tokens=8, temperature=0.0)
    asked = [structs.replace(each, sampling=sampling) for each in REQUESTS]
    yield _load("openvino", "OpenVino")(options=options(context=1024, threads=1, exact=True)), asked


def _load(module: str, name: str) -> Callable[..., Any]:
    found: Any = pytest.importorskip(
        f"streams.answering.backbones.{module}", reason=f"no {module} here"
    )
    if not hasattr(found, name):
        pytest.skip(f"no {name} here")
    made: Callable[..., Any] = getattr(found, name)
    return made


CASES: dict[str, Case] = {
    "openai": openai_case,
    "openai-streaming": streaming_case,
    **{kind: provider_case(kind) for kind in KINDS},
    "llamacpp": llamacpp_case,
    "openvino": openvino_case,
    "rehearsal": rehearsal_case,
    "recorded": recorded_case,
}
Use: TypeAlias = Callable[[Backbone, Sequence[ModelRequest]], Awaitable[None]]
Runs: TypeAlias = Callable[[Use], None]


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name == "openvino" else []) for name in CASES
    ]
)
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Runs:
    """Runs a coroutine function on the backbone of a case, and closes it."""
    case = CASES[request.param]

    def run(use: Use) -> None:
        async def body(backbone: Backbone, requests: Sequence[ModelRequest]) -> None:
            try:
                await use(backbone, requests)
            finally:
                await backbone.close()

        with case(tmp_path) as (backbone, requests):
            asyncio.run(body(backbone, requests))

    return run


def check(reply: ModelReply) -> None:
    """A reply that can be recorded and added up: numbers known and possible, or unknown."""
    assert isinstance(reply.text, str)
    assert reply.finish in FINISHES
    assert reply.model
    assert reply.attempts >= 1
    counts = (reply.prompt_tokens, reply.completion_tokens, reply.reasoning_tokens)
    for count in (*counts, reply.cached_tokens):
        assert count is None or (isinstance(count, int) and count >= 0)
    for amount in (reply.cost, reply.seconds):
        assert amount is None or (math.isfinite(amount) and amount >= 0)
    assert reply.logprob is None or math.isfinite(reply.logprob)


def test_a_reply_is_whole_and_its_numbers_are_possible(runs: Runs) -> None:
    async def use(backbone: Backbone, requests: Sequence[ModelRequest]) -> None:
        for asked in requests:
            check(await backbone.complete(asked))

    runs(use)


def test_it_says_what_it_is_and_no_secret(runs: Runs) -> None:
    async def use(backbone: Backbone, requests: Sequence[ModelRequest]) -> None:
        await backbone.complete(requests[0])
        assert backbone.name
        assert backbone.name == backbone.name.strip()
        assert backbone.simulated in (True, False)
        assert SECRET not in f"{backbone!r} {backbone} {backbone.name}"

    runs(use)


def test_calls_at_once_get_the_replies_that_calls_in_turn_get(runs: Runs) -> None:
    async def use(backbone: Backbone, requests: Sequence[ModelRequest]) -> None:
        alone = [await backbone.complete(asked) for asked in requests]
        together = await asyncio.gather(*map(backbone.complete, [*requests] * 2))
        texts = [reply.text for reply in together]
        assert texts == [reply.text for reply in alone] * 2

    runs(use)


def test_a_cancelled_call_harms_no_other(runs: Runs) -> None:
    async def use(backbone: Backbone, requests: Sequence[ModelRequest]) -> None:
        tasks = [asyncio.create_task(backbone.complete(asked)) for asked in requests]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks[1::2]:
            check(task.result())
        check(await backbone.complete(requests[0]))

    runs(use)


@pytest.mark.parametrize("text", ["", "\ud800 lone", "x" * 200_000, "\x00\u2028é😀"])
def test_any_prompt_is_answered_or_refused_as_the_port_says(runs: Runs, text: str) -> None:
    async def use(backbone: Backbone, requests: Sequence[ModelRequest]) -> None:
        with suppress(BackboneError):
            check(await backbone.complete(structs.replace(requests[0], messages=(("user", text),))))
        check(await backbone.complete(requests[0]))

    runs(use)


def test_closing_twice_is_closing_once(runs: Runs) -> None:
    async def use(backbone: Backbone, requests: Sequence[ModelRequest]) -> None:
        await backbone.complete(requests[0])
        await backbone.close()
        await backbone.close()

    runs(use)


def test_a_backbone_can_be_closed_unused(runs: Runs) -> None:
    async def use(backbone: Backbone, _: Sequence[ModelRequest]) -> None:
        await backbone.close()

    runs(use)
