"""However a server leaves the connection behind a reply that is all there: the reply was paid for, and is taken."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping

import pytest

from streams.answering.backbones.openai import OpenAIBackbone, Options
from streams.answering.backbones.openai.line import LINGERS_S
from streams.core.backbone import ModelReply, SetupBroken, Unreachable
from tests.endpoint import streamed, whole
from tests.hostile import Hostile, Talk, talking
from tests.streams.backbones.asking import QUICK, asking

STREAM = streamed(["four", "ty two"]).raw
NO_DONE = streamed(["four", "ty two"], done=False).raw
WHOLE = whole("fourty two").raw
HALF = streamed(["four"], finish=None, done=False).raw


def chunked(body: bytes, kind: str = "text/event-stream") -> list[bytes]:
    """A body without the mark of its end."""
    lines = ("HTTP/1.1 200 OK", f"content-type: {kind}", "transfer-encoding: chunked", "", "")
    return ["\r\n".join(lines).encode(), b"%x\r\n%s\r\n" % (len(body), body)]


def held_open(body: bytes, then: bytes = b"") -> Iterator[bytes]:
    yield from chunked(body)
    for _ in range(60):
        time.sleep(0.05)
        yield then


TALKS: Mapping[str, Talk] = {
    "cut": lambda _: chunked(STREAM),
    "cut before its last word": lambda _: chunked(NO_DONE),
    "cut where nothing streams": lambda _: chunked(WHOLE, "application/json"),
    "shorter than it says": lambda _: [
        b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(WHOLE) + 9),
        WHOLE,
    ],
    "held open": lambda _: held_open(STREAM, b"e\r\n: keep-alive\n\n\r\n"),
    "held open without its last word": lambda _: held_open(NO_DONE),
}


def asked(server: Hostile) -> ModelReply:
    async def body() -> ModelReply:
        options = Options(stream=True, idle_s=1.0, timeout_s=20.0, max_attempts=1, **QUICK)
        backbone = OpenAIBackbone("check", base_url=server.url, environ={}, options=options)
        try:
            return await backbone.complete(asking())
        finally:
            await backbone.close()

    return asyncio.run(body())


@pytest.mark.parametrize("name", TALKS)
def test_what_is_all_there_is_taken_and_asked_for_once(name: str) -> None:
    with talking(TALKS[name]) as server:
        reply = asked(server)
        assert len(server.asked) == 1
    assert (reply.text, reply.finish, reply.attempts) == ("fourty two", "stop", 1)
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 10)


def test_nobody_waits_for_long_behind_the_last_word() -> None:
    with talking(TALKS["held open"]) as server:
        took = asked(server).seconds
    assert took is not None
    assert took < LINGERS_S + 2


@pytest.mark.parametrize(("status", "silence"), [(429, "busy"), (500, "error")])
def test_a_refusal_that_breaks_off_is_that_refusal(status: int, silence: str) -> None:
    raw = b"HTTP/1.1 %d X\r\ncontent-length: 500\r\n\r\n{" % status
    with talking(lambda _: [raw]) as server, pytest.raises(Unreachable) as caught:
        asked(server)
    assert (caught.value.tried.silence, caught.value.tried.free) == (silence, True)


@pytest.mark.parametrize(("status", "silence"), [(429, "busy"), (503, "busy"), (500, "error")])
def test_a_refusal_whose_words_trickle_in_is_that_refusal_and_no_timeout(
    status: int, silence: str
) -> None:
    def talk(request: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 %d X\r\ncontent-length: 500\r\n\r\n" % status
        for _ in range(60):
            time.sleep(0.1)
            yield b"{"

    with talking(talk) as server, pytest.raises(Unreachable) as caught:
        asked(server)
    assert (caught.value.tried.silence, caught.value.tried.free) == (silence, True)


def test_a_refused_key_ends_the_worker_where_its_words_break_off() -> None:
    raw = b"HTTP/1.1 401 X\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"
    with talking(lambda _: [raw]) as server, pytest.raises(SetupBroken) as caught:
        asked(server)
    assert caught.value.code == "auth"


def test_half_a_reply_is_none() -> None:
    with talking(lambda _: chunked(HALF)) as server, pytest.raises(Unreachable) as caught:
        asked(server)
    assert not caught.value.tried.free
