"""What both ways to run a model ourselves share: options, patience, turns, and one loading for all calls."""

from __future__ import annotations

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from schemas.questions import Sampling
from streams.answering.backbones import llamacpp, openvino
from streams.answering.backbones.llamacpp import LlamaCpp
from streams.answering.backbones.llamacpp.marks import Marks
from streams.answering.backbones.loaded import LoadedModel, RoomOptions
from streams.answering.backbones.openvino import OpenVino
from streams.answering.backbones.openvino.backbone import asked_of
from streams.answering.backbones.openvino.messages import Answered, Asked
from streams.answering.backbones.spelling import build
from streams.core.backbone import ModelReply, ModelRequest
from tests.streams.backbones.test_llamacpp import SMALL, asking
from tests.streams.backbones.test_openvino import gguf

F32, Q5_0 = 0, 6


class Fake(LoadedModel[list[str]]):
    """A model that is loaded slowly and says how often."""

    kind = "fake"

    def __init__(self, path: Path) -> None:
        super().__init__(path, slots=2)
        self.loaded = 0

    async def load(self) -> list[str]:
        self.loaded += 1
        await asyncio.sleep(0)
        return ["loaded"]

    async def complete(self, request: ModelRequest) -> ModelReply:
        async with self._turns:
            await self.model()
            return self.late(1.0)


def test_a_model_is_loaded_once_however_many_calls_wait_for_it(tmp_path: Path) -> None:
    async def use() -> list[ModelReply]:
        return await asyncio.gather(*(fake.complete(asking()) for _ in range(5)))

    fake = Fake(gguf(tmp_path / "m.gguf", "qwen2", F32))
    replies = asyncio.run(use())
    assert (fake.loaded, fake.name) == (1, "fake:m")
    assert {(reply.finish, reply.model, reply.seconds) for reply in replies} == {
        ("timeout", "fake:m", 1.0)
    }


@pytest.mark.parametrize("options", [llamacpp.Options, openvino.Options])
def test_both_kinds_have_the_same_room_and_refuse_none(options: type[RoomOptions]) -> None:
    made = options(slots=3, context=77, threads=2, max_tokens=9, cache=False, timeout_s=5.0)
    assert made.room() == {
        "slots": 3,
        "context": 77,
        "threads": 2,
        "max_tokens": 9,
        "cache": False,
        "timeout_s": 5.0,
    }
    with pytest.raises(ValueError, match="option context must be at least 1"):
        options(context=0)
    with pytest.raises(ValueError, match="option timeout_s must be more than 0"):
        options(timeout_s=0.0)


def test_llama_cpp_gets_the_room_that_openvino_was_given(tmp_path: Path) -> None:
    file = gguf(tmp_path / "five.gguf", "qwen2", F32, Q5_0)
    asked = build(f"openvino:{file}?slots=3&context=700&timeout_s=9&exact=true")
    assert isinstance(asked, LlamaCpp)
    options = asked._options  # pyright: ignore[reportPrivateUsage]
    assert (options.slots, options.context, options.timeout_s) == (3, 700, 9.0)


def test_a_role_s_own_time_comes_before_the_backbone_s() -> None:
    options = openvino.Options(timeout_s=5.0)
    assert options.patience(asking()) == 5.0
    assert options.patience(asking(sampling=Sampling(timeout_s=2.0))) == 2.0
    assert asked_of(asking(sampling=Sampling(max_tokens=9)), options).max_tokens == 9


def test_a_call_of_llama_cpp_that_takes_too_long_is_recorded_as_such() -> None:
    async def use() -> list[ModelReply]:
        backbone = LlamaCpp(options=llamacpp.Options(**SMALL, slots=1, max_tokens=900))
        endless = asking("Count to a thousand.", sampling=Sampling(max_tokens=900))
        short = replace(endless.sampling, timeout_s=0.05)
        try:
            await backbone.complete(asking())
            late = await backbone.complete(structs.replace(endless, sampling=short))
            return [late, await backbone.complete(asking())]
        finally:
            await backbone.close()

    late, after = asyncio.run(use())
    assert (late.text, late.finish, late.completion_tokens) == ("", "timeout", None)
    assert late.seconds is not None
    assert late.seconds >= 0.05
    assert after.completion_tokens == 12


class Held:
    """Stands in for an engine and for a child: whatever is asked of it waits for the gate."""

    marks = Marks()

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.begun, self.gate = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        self.begun.set()
        await self.gate.wait()

    def chat(self, body: bytes, given_up: object) -> bytes:
        asyncio.run_coroutine_threadsafe(self.wait(), self.loop).result()
        return b""

    async def ask(self, asked: Asked) -> Answered:
        await self.wait()
        return Answered(number=asked.number, fault="nothing was loaded")


@pytest.mark.parametrize("kind", ["llamacpp", "openvino"])
def test_a_call_s_time_begins_with_its_slot(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for one is not under way yet, so that no clock runs."""
    options = {"llamacpp": llamacpp.Options(slots=1), "openvino": openvino.Options(slots=1)}
    classes: dict[str, Any] = {"llamacpp": LlamaCpp, "openvino": OpenVino}
    timed: list[int] = []

    def patience(_: object, request: ModelRequest) -> float:
        timed.append(request.seed)
        return 60.0

    async def use() -> None:
        held = Held()

        async def model(_: object) -> Held:
            return held

        monkeypatch.setattr(classes[kind], "model", model)
        backbone = classes[kind](gguf(tmp_path / "m.gguf", "qwen2", F32), options[kind])
        calls = [asyncio.create_task(backbone.complete(asking(seed=at))) for at in (1, 2)]
        await held.begun.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert timed == [1]
        held.gate.set()
        await asyncio.gather(*calls)
        assert timed == [1, 2]

    monkeypatch.setattr(importlib.util, "find_spec", anywhere)
    monkeypatch.setattr(RoomOptions, "patience", patience)
    asyncio.run(use())


def anywhere(_: str) -> object:
    """Every package is here."""
    return object()


def test_a_prompt_that_openvino_has_no_room_for_is_told_as_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it is asked again without what was learned, as with any other model."""

    class Full:
        async def ask(self, asked: Asked) -> Answered:
            return Answered(number=asked.number, fault="a prompt of 9 tokens", too_long=True)

    async def model(_: object) -> Full:
        return Full()

    monkeypatch.setattr(importlib.util, "find_spec", anywhere)
    monkeypatch.setattr(OpenVino, "model", model)
    backbone = OpenVino(gguf(tmp_path / "m.gguf", "qwen2", F32))
    reply = asyncio.run(backbone.complete(asking()))
    assert (reply.finish, reply.too_long) == ("error", True)
