"""No endpoint floods us: bodies without end, packed or not, heads without end, and JSON that unfolds in memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import chain, repeat

import pytest

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.faults import Fault
from streams.answering.backbones.openai.reading import Heard, read
from streams.answering.backbones.openai.transport import MOST_BYTES
from streams.core.backbone import ModelReply, Unreachable
from tests.endpoint import streamed
from tests.hostile import MIB, Talk, head, packed, talking
from tests.streams.backbones.asking import asking

MOST_GROWN_MIB = 250
GZIP = "content-encoding: gzip"
GOOD = b'{"choices": [{"message": {"content": "ok"}}]}'

ASKING = """
import asyncio, json, sys
from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.core.backbone import BackboneError
from streams.answering.embedders.openai import OpenAIEmbedder
from tests.streams.backbones.asking import asking

async def outcome(of):
    try:
        return (await of).finish
    except BackboneError as error:
        return type(error).__name__

async def ask(url):
    options = Options(max_attempts=1, backoff_s=0.001)
    backbone = OpenAIBackbone("m", base_url=url, environ={}, options=options)
    listing = OpenAIBackbone(base_url=url, environ={}, options=options)
    embedder = OpenAIEmbedder("m", base_url=url, environ={}, options=options)
    said = {
        "reply": await outcome(backbone.complete(asking())),
        "listing": await outcome(listing.complete(asking())),
        "vectors": await outcome(embedder.embed(["a"])),
    }
    for each in (backbone, listing, embedder):
        await each.close()
    return said

def most_mib():
    status = open("/proc/self/status").read().split()
    return int(status[status.index("VmHWM:") + 1]) // 1024

first, *others = sys.argv[1:]
asyncio.run(ask(first))
before = most_mib()
said = [asyncio.run(ask(url)) for url in others]
print(json.dumps([said, most_mib() - before]))
"""

FLOODS: Mapping[str, Talk] = {
    "packed": lambda _: [head("200 OK", GZIP), packed(512)],
    "packed twice": lambda _: [
        head("200 OK", "content-encoding: gzip, gzip"),
        packed(256, layers=2),
    ],
    "packed as an error": lambda _: [head("400 X", GZIP), packed(512)],
    "plain": lambda _: [head(), *[b" " * MIB] * 400],
    "one event": lambda _: [head(kind="text/event-stream"), b"data: ", *[b"x" * MIB] * 400],
    "lists": lambda _: [head(), b"[", b"[]," * (MOST_BYTES // 4), b"0]"],
}


@pytest.mark.slow
@pytest.mark.live
def test_a_reply_without_end_is_junk_and_takes_no_memory() -> None:
    """512 MiB of blanks, a megabyte when packed, once took 1.5 GiB; now a body is bounded as it is unpacked."""
    told, grown = asked_by_another_process([lambda _: [head(), GOOD], *FLOODS.values()])
    assert [each["reply"] for each in told] == ["error"] * len(FLOODS)
    setup = {"packed as an error", "lists"}  # an endpoint need not list its models
    for name, said in zip(FLOODS, told, strict=True):
        assert said["listing"] == ("SetupBroken" if name in setup else "Unreachable")
    # A refusal is one, whatever stands beside it.
    assert {
        name for name, said in zip(FLOODS, told, strict=True) if said["vectors"] == "SetupBroken"
    } == {"packed as an error"}
    assert grown < MOST_GROWN_MIB


def asked_by_another_process(talks: list[Talk]) -> tuple[list[dict[str, str]], int]:
    """What a process of its own made of each, and by how many MiB they made it grow."""
    with ExitStack() as stack:
        urls = [stack.enter_context(talking(talk)).url for talk in talks]
        words = [sys.executable, "-c", ASKING, *urls]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=110)
    said, grown = json.loads(done.stdout)
    return said, grown


def endless(start: bytes, piece: bytes) -> Talk:
    return lambda _: chain((start,), repeat(piece))


HEADS = {
    "a status": endless(b"HTTP/1.1 200 ", b"y" * MIB),
    "a line": endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * MIB),
    "lines": endless(b"HTTP/1.1 200 OK\r\n", (b"x: " + b"y" * 1000 + b"\r\n") * 1000),
    "trailers": endless(
        head("200 OK", "transfer-encoding: chunked") + b"0\r\n",
        (b"x: " + b"y" * 1000 + b"\r\n") * 1000,
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_without_end_is_no_reply(name: str) -> None:
    with talking(HEADS[name]) as server:
        with pytest.raises(Unreachable) as caught:
            asked(server.url)
        assert server.sent < 32 * MIB
    assert "\n" not in caught.value.detail


def test_interim_answers_without_end_are_a_timeout() -> None:
    with talking(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100)) as server:
        assert asked(server.url, timeout_s=0.3).finish == "timeout"


def asked(url: str, timeout_s: float = 20.0) -> ModelReply:
    async def body() -> ModelReply:
        made = Options(backoff_s=0.001, max_attempts=1, timeout_s=timeout_s)
        backbone = OpenAIBackbone("m", base_url=url, environ={}, options=made)
        try:
            return await backbone.complete(asking())
        finally:
            await backbone.close()

    return asyncio.run(body())


# -- what a body unfolds to


def test_a_stream_of_more_chunks_than_a_reply_has_tokens_is_junk() -> None:
    most = streamed(["a"] * 250_000)
    assert isinstance(read(most.raw), Heard)
    more = streamed(["a"] * 270_000)
    assert isinstance(read(more.raw), Fault)


@pytest.mark.parametrize(
    "unit", [b"\n", b"data:\n", b"data: {}\n", b": ping\n\n", b"data: [DONE]\n"]
)
def test_a_stream_of_nothing_takes_no_longer_for_each_of_its_bytes(unit: bytes) -> None:
    """No list of its lines is made: a short reply behind megabytes of them would wait for gigabytes."""
    raw = b"data: {}\n" + unit * (8 * MIB // len(unit))
    tracemalloc.start()
    try:
        read(raw)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


def test_keep_alives_of_a_slow_server_are_no_chunks() -> None:
    waiting = b": ping\n\n" * 300_000
    found = read(waiting + streamed(["ok"]).raw)
    assert isinstance(found, Heard)
    assert found.text == "ok"
