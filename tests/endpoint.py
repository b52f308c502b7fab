"""An OpenAI-compatible server on loopback, whose every answer a test can write.

It runs in a thread of its own, so synchronous tests and other processes can talk to it as well. A
script is a function from what was asked to the answer; the helpers below make the common ones.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

PIECES = 10
GLANCE_S = 0.005
LET_IN = 3
"""Turns of the loop from a connection to its handler: accepted, joined to a reader, begun."""
JSON_TYPE, SSE_TYPE = "application/json", "text/event-stream"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request. ``number`` counts all completions asked; ``times`` this prompt and seed."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    number: int
    times: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to send. ``drop`` cuts the connection: before a byte is sent, or half-way through.

    Nothing is sent before ``after`` is set: a call stays in flight for as long as a test needs it to.
    """

    raw: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    type: str = JSON_TYPE
    latency_s: float = 0.0
    after: threading.Event | None = None
    drop: Literal["no", "before", "middle"] = "no"
    pace_s: float = 0.0
    stall_s: float = 0.0

    def paced(self, pace_s: float, stalls_s: float = 0.0) -> Answer:
        """The same, piece by piece over so long, and silent for a while half-way."""
        return replace(self, pace_s=pace_s, stall_s=stalls_s)


Script: TypeAlias = Callable[[Asked], Answer]
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def whole(
    content: object,
    *,
    finish: str | None = "stop",
    usage: object = USAGE,
    model: object = "check",
    logprobs: object = None,
    refusal: str | None = None,
    **answer: Any,
) -> Answer:
    """A completion in one piece; ``usage=None`` leaves it out."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice: dict[str, Any] = {"index": 0, "finish_reason": finish, "message": message}
    if logprobs is not None:
        choice["logprobs"] = logprobs
    body: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 0, "model": model}
    body |= {"choices": [choice]} | ({} if usage is None else {"usage": usage})
    return Answer(raw=json.dumps(body).encode(), **answer)


def streamed(
    texts: list[str], *, finish: str | None = "stop", usage: object = USAGE, done: bool = True
) -> Answer:
    """A completion in chunks, closed by usage (unless ``None``) and ``[DONE]``."""
    deltas: list[tuple[dict[str, Any], str | None]] = [({"content": text}, None) for text in texts]
    chunks: list[dict[str, Any]] = [
        {"model": "check", "choices": [{"index": 0, "delta": delta, "finish_reason": why}]}
        for delta, why in [({"role": "assistant"}, None), *deltas, ({}, finish)]
    ]
    if usage is not None:
        chunks.append({"model": "check", "choices": [], "usage": usage})
    return events([json.dumps(chunk) for chunk in chunks] + (["[DONE]"] if done else []))


def events(data: list[str]) -> Answer:
    """Server-sent events, each as it stands."""
    return Answer(raw="".join(f"data: {line}\n\n" for line in data).encode(), type=SSE_TYPE)


def fails(status: int, code: str | None = None, message: str = "", **more: Any) -> Answer:
    """An error as the official endpoint words it; ``headers`` and ``param`` may be given."""
    headers: dict[str, str] = more.pop("headers", {})
    error = {"message": message, "type": more.pop("type", None), "code": code, **more}
    return Answer(raw=json.dumps({"error": error}).encode(), status=status, headers=headers)


def drops(when: Literal["before", "middle"] = "before") -> Answer:
    """A connection that breaks."""
    return Answer(raw=b"x" * 2000, drop=when)


def echo(asked: Asked) -> Answer:
    """The last message back."""
    return whole(asked.body["messages"][-1]["content"])


def pieces_of(raw: bytes, answer: Answer) -> list[bytes]:
    """What is sent at once: all of it, unless it is paced."""
    if not answer.pace_s:
        return [raw]
    size = max(-(-len(raw) // PIECES), 1)
    return [raw[at : at + size] for at in range(0, len(raw), size)]


def key_of(body: Mapping[str, Any]) -> str:
    """What makes two requests the same question: messages and seed."""
    return json.dumps([body.get("messages"), body.get("seed")], sort_keys=True)


class Endpoint:
    """The server: ``url`` to reach it at, ``asked`` and ``requests`` to see what it was asked."""

    def __init__(self, script: Script = echo, models: tuple[str, ...] = ("check",)) -> None:
        self.script = script
        self.models_answer = Answer(raw=json.dumps({"data": [{"id": m} for m in models]}).encode())
        self.asked: list[Asked] = []
        self.requests: Counter[str] = Counter()
        self.listings = self.sent = 0
        self.inside = self.most_inside = 0
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server = self._loop.run_until_complete(self._listen())
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def env(self) -> dict[str, str]:
        """The environment that leads a client here."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "check", "OPENAI_MODEL": "check"}

    def repeats(self) -> int:
        """Requests that asked what had been asked before."""
        return sum(times - 1 for times in self.requests.values())

    def close(self) -> None:
        """Stop listening, cut every connection, end the thread."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=2048)

    async def _stop(self) -> None:
        # Who was just accepted is a task that has not begun: cancelled so, or by a server that closed
        # before, it would leave its socket open.
        for listening in self._server.sockets:
            self._loop.remove_reader(listening)
        for _ in range(LET_IN):
            await asyncio.sleep(0)
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.split(":", 1) for line in head[1:] if ":" in line)
        headers = {name.lower(): value.strip() for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        answer = self._answer(head[0].split()[1], headers, body)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            await asyncio.sleep(answer.latency_s)
            while answer.after is not None and not answer.after.is_set():  # noqa: ASYNC110 - of another thread
                await asyncio.sleep(GLANCE_S)
        finally:
            self.inside -= 1
        return await self._send(writer, answer)

    def _answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if path.endswith("/models"):
            self.listings += 1
            return self.models_answer
        told = json.loads(body)
        self.requests[key_of(told)] += 1
        times, number = self.requests[key_of(told)], len(self.asked)
        asked = Asked(path=path, headers=headers, body=told, number=number, times=times)
        self.asked.append(asked)
        return self.script(asked)

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        if answer.drop == "before":
            return False
        told = {
            "content-type": answer.type,
            "content-length": str(len(answer.raw)),
            **answer.headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{lines}\r\n".encode("latin-1"))
        middle = answer.drop == "middle"
        raw = answer.raw[: len(answer.raw) // 2] if middle else answer.raw
        for at, piece in enumerate(pieces_of(raw, answer)):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(answer.stall_s if at == PIECES // 2 else answer.pace_s / PIECES)
        self.sent += 1
        return not middle


@contextmanager
def serving(script: Script = echo, models: tuple[str, ...] = ("check",)) -> Generator[Endpoint]:
    """A server for the length of a block."""
    endpoint = Endpoint(script, models)
    try:
        yield endpoint
    finally:
        endpoint.close()
