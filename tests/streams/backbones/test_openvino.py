"""OpenVINO: which files it takes, what becomes of the others, and a model of it in a process of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import structs

from schemas.questions import Sampling
from streams.answering.backbones.llamacpp import LlamaCpp
from streams.answering.backbones.openvino import OpenVino, Options, unreadable
from streams.answering.backbones.openvino.grammar import is_short
from streams.answering.backbones.openvino.server import Lines
from streams.answering.backbones.spelling import build
from streams.core.backbone import ModelReply, SetupBroken, Unreachable
from tests.llama import POLICY_ROLES
from tests.streams.backbones.test_llamacpp import SHORT, asking

T = TypeVar("T")
F32, Q5_0, Q4_K = 0, 6, 12
ENDLESS = structs.replace(asking("Count to a thousand."), sampling=Sampling(max_tokens=900))
real = pytest.mark.skipif(
    importlib.util.find_spec("openvino_genai") is None,
    reason="the extra openvino is not installed: make openvino",
)


def text(said: str) -> bytes:
    return struct.pack("<Q", len(said)) + said.encode()


def gguf(path: Path, architecture: str, *kinds: int) -> Path:
    """The header of a model: words of a vocabulary, its architecture, and tensors kept in these ways."""
    words = text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    scores = text("tokenizer.ggml.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.5)
    made = text("general.architecture") + struct.pack("<I", 8) + text(architecture)
    tensors = b"".join(
        text(f"t{at}") + struct.pack("<I2QIQ", 2, 32, 32, kind, 0) for at, kind in enumerate(kinds)
    )
    head = b"GGUF" + struct.pack("<IQQ", 3, len(kinds), 3)
    path.write_bytes(head + words + scores + made + tensors)
    return path


def test_what_openvino_can_read_is_told_by_the_header(tmp_path: Path) -> None:
    assert unreadable(gguf(tmp_path / "good.gguf", "qwen2", F32, Q4_K)) is None
    assert unreadable(gguf(tmp_path / "five.gguf", "qwen2", F32, Q5_0)) == "Q5_0 tensors"
    assert unreadable(gguf(tmp_path / "other.gguf", "gemma", F32)) == "architecture gemma"


def test_a_header_that_ends_early_or_claims_too_much_is_none(tmp_path: Path) -> None:
    whole = gguf(tmp_path / "good.gguf", "qwen2", F32, Q4_K).read_bytes()
    for cut in (0, 3, 20, len(whole) // 2, len(whole) - 1):
        file = tmp_path / f"{cut}.gguf"
        file.write_bytes(whole[:cut])
        assert unreadable(file) == "no GGUF"
    claims = tmp_path / "claims.gguf"
    claims.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1 << 62, 1 << 62) + whole[24:])
    assert unreadable(claims) == "no GGUF"


def test_llama_cpp_runs_what_openvino_cannot_read_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = gguf(tmp_path / "five.gguf", "qwen2", F32, Q5_0)
    assert isinstance(build(f"openvino:{file}?slots=3"), LlamaCpp)
    [line] = caplog.messages
    assert line == "five.gguf: OpenVINO cannot read it (Q5_0 tensors): llama.cpp runs it instead"


def test_a_broken_set_up_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupBroken, match="no such file"):
        build(f"openvino:{tmp_path}/none.gguf")
    with pytest.raises(ValueError, match="openvino option slots must be at least 1"):
        build("openvino?slots=0")
    monkeypatch.setattr(importlib.util, "find_spec", nowhere)
    with pytest.raises(SetupBroken, match="make openvino"):
        OpenVino(gguf(tmp_path / "good.gguf", "qwen2", F32))


def nowhere(_: str) -> None:
    """No package is here."""


def test_lines_come_whole_however_they_are_written() -> None:
    source, sink = os.pipe()
    try:
        lines = Lines(source)
        os.write(sink, b'{"a": 1}\n{"b"')
        assert list(lines.read(wait=True)) == [b'{"a": 1}']
        assert list(lines.read(wait=False)) == []
        os.write(sink, b": 2}\n")
        assert list(lines.read(wait=True)) == [b'{"b": 2}']
    finally:
        os.close(sink)
    assert list(lines.read(wait=True)) == []
    assert lines.ended
    os.close(source)


def with_model(use: Callable[[OpenVino], Awaitable[T]], options: Options) -> T:
    async def body() -> T:
        backbone = OpenVino(options=options)
        try:
            return await use(backbone)
        finally:
            await backbone.close()

    return asyncio.run(body())


@real
@pytest.mark.slow
def test_a_call_that_nobody_waits_for_or_that_takes_too_long_is_given_up() -> None:
    async def use(backbone: OpenVino) -> None:
        call = asyncio.create_task(backbone.complete(ENDLESS))
        await asyncio.sleep(0)
        call.cancel()
        late = await backbone.complete(ENDLESS)
        assert (late.text, late.finish, late.completion_tokens) == ("", "timeout", None)

    with_model(use, Options(context=1024, threads=1, slots=1, max_tokens=900, timeout_s=0.2))


@real
@pytest.mark.slow
def test_a_reply_carries_what_it_measured() -> None:
    async def use(backbone: OpenVino) -> None:
        reply = await backbone.complete(asking(sampling=Sampling(max_tokens=12, logprobs=True)))
        assert (reply.completion_tokens, reply.finish) == (12, "length")
        assert reply.prompt_tokens is not None
        assert reply.prompt_tokens > 20
        assert reply.logprob is not None
        assert reply.logprob < 0

    with_model(use, Options(context=1024, threads=1))


@real
@pytest.mark.slow
def test_a_prompt_without_room_is_recorded_as_too_long() -> None:
    async def use(backbone: OpenVino) -> None:
        reply = await backbone.complete(asking("1 + " * 2000))
        assert (reply.text, reply.finish, reply.too_long) == ("", "error", True)

    with_model(use, Options(context=1024, threads=1))


@real
@pytest.mark.slow
def test_a_model_whose_process_ended_is_started_again() -> None:
    async def use(backbone: OpenVino) -> None:
        first = await backbone.complete(asking(sampling=SHORT))
        child = await backbone.model()
        call = asyncio.create_task(backbone.complete(ENDLESS))
        await asyncio.sleep(0)
        os.kill(child._process.pid, signal.SIGKILL)  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(Unreachable, match="ended"):
            await call
        again = await backbone.complete(asking(sampling=SHORT))
        assert again.text == first.text

    with_model(use, Options(context=1024, threads=1, exact=True, max_tokens=900))


@real
@pytest.mark.slow
def test_what_a_grammar_lets_pass_is_read_of_a_model_that_hardly_knows_what_it_is_asked() -> None:
    """It talks past its form; what it says stays, and behind it stands the form. Every form is taken."""
    wild = Sampling(temperature=1.0, max_tokens=160)
    roles = [role for role in POLICY_ROLES if is_short(role.reply)]

    async def use(backbone: OpenVino) -> list[ModelReply]:
        asked = (asking("Speak of ducks.", sampling=wild, reply=each.reply) for each in roles)
        return await asyncio.gather(*map(backbone.complete, asked))

    replies = with_model(use, Options(context=1024, threads=1))
    ended = [
        (role, reply)
        for role, reply in zip(roles, replies, strict=True)
        if reply.finish == "stop"
        and (reply.completion_tokens or 0) < 160  # else it left a box open
    ]
    unread = {
        role.name: each.text for role, each in ended if not isinstance(role.read(each.text), dict)
    }
    assert len(ended) > 1
    assert not unread
    assert max(reply.completion_tokens or 0 for reply in replies) <= 160
