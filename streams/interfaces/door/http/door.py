"""The HTTP door, route by route, over one client of a log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from fastapi.responses import JSONResponse, Response, StreamingResponse
from msgspec import to_builtins
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from schemas.answer import Answer
from schemas.answer_type import AnswerTypeSaid
from schemas.events.codec import plain
from schemas.problem import (
    ID_CHARS,
    Priority,
    ProblemId,
    ProblemText,
    ReferenceAnswer,
    Seed,
    Values,
)
from schemas.record import Record
from schemas.settings import BACKBONE
from streams.interfaces.door.access import Guest, Refused
from streams.interfaces.door.errors import Error
from streams.interfaces.door.handle import Handle
from streams.interfaces.door.http.chat import ChatRequest, chunks, completion, event, problem_of
from streams.interfaces.door.service import Service

STATUS: Mapping[str, int] = {
    "input.duplicate": 409,
    "input.refused": 400,
    "policy.unknown": 404,
    "backbone.unknown": 404,
    "policy.setting": 400,
    "usage": 400,
    "input.field": 400,
    "episode.unknown": 404,
    "episode.ended": 409,
    "episode.waits": 409,
    "episode.in_set": 409,
    "review.no_answer": 409,
    "cancelled": 409,
    "episode.parked": 502,
    "patience": 504,
}
"""The status of an error by its code; an ``input.`` that is not here is 400, the rest is 503."""


OPENAI: Mapping[str, str] = {"problem": "messages", "answer_type": "response_format"}
"""Fields of a problem by the names that OpenAI's clients know them by."""
GOES_ON = frozenset({"patience", "stopping", "log.unsure"})
"""Errors of a request whose episode goes on."""
LISTS = "GET /v1/models"
"""Where all that is offered is listed."""
SILENT_S = 15.0
"""A stream that says nothing for so long says that it is there."""


# A list, and a short one: what is recorded with a problem stays, and headers hold cookies and keys.
CARRIED = ("traceparent", "tracestate", "correlation-id", "x-correlation-id", "x-request-id")
"""Headers of a request that are recorded with its problem, and stand on every response about its episode but errors."""


class PutProblem(BaseModel):
    """A problem of our own kind. The same id, policy, settings and seed are the same episode."""

    model_config = ConfigDict(extra="forbid")

    id: ProblemId
    problem: ProblemText
    policy: str | None = Field(default=None, description="One of those that this door offers.")
    settings: Values = {}
    seed: Seed = 0
    answer_type: AnswerTypeSaid | None = Field(
        default=None, description="What the answer is: one of another form is never given."
    )
    answer: ReferenceAnswer = Field(default=None, description="A reference: it only grades.")
    call_limit: int | None = Field(default=None, ge=1)
    token_limit: int | None = Field(default=None, ge=1)
    priority: Priority = Field(default=0, description="The higher is begun first.")


class Judged(BaseModel):
    """A judgement of an answer: exactly one of the four fields, and whose it is."""

    model_config = ConfigDict(extra="forbid")

    verdict: bool | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    reference: ReferenceAnswer = None
    passed: Literal[True] | None = Field(
        default=None, description="Who looked at it cannot judge it."
    )
    by: str | None = Field(default=None, max_length=ID_CHARS, description="The person's name.")


class Door:
    """The handlers, over one service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.client, self.offer, self.access = service.client, service.offer, service.access

    # -- who comes ---------------------------------------------------------------------------------

    async def _waited(self, handle: Handle, seconds: float) -> Answer:
        return await self.service.waited(
            handle.answer(), seconds, f"GET /v1/answers/{quote(handle.episode)}"
        )

    # -- as OpenAI's clients speak -----------------------------------------------------------------

    def models(self) -> dict[str, Any]:
        """Policies, and each with each backbone that is offered beside the usual one, as models."""
        return {"object": "list", "data": [self.model(name) for name in self.service.models]}

    def model(self, name: str) -> dict[str, Any]:
        """A policy, or one with a backbone, as a model. Raises an ``Error`` where it is not offered."""
        self.service.model(name, lists=LISTS)
        return {
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "metalogue",
        }

    async def chat(
        self, asked: ChatRequest, guest: Guest, key: str | None, carried: Mapping[str, str]
    ) -> Response:
        """A chat completion, as a whole or as a stream. Each is an episode of its own, unless its key is known."""
        id = guest.own_id(f"chat-{uuid4().hex}") if key is None else guest.keyed_id(key)
        text = problem_of(asked.messages)
        # A stack, since a stream goes on when this function has returned: it takes the place
        # along and frees it.
        with ExitStack() as place:
            place.enter_context(self.access.place(guest))
            policy, backbone = self.service.model(asked.model, lists=LISTS)
            chosen = {} if backbone is None else {BACKBONE: backbone}
            typed = None if asked.response_format is None else asked.response_format.answer_type
            try:
                handle = await self.service.submit(
                    *(guest, text, id, policy),
                    new=True,
                    answer_type=typed,
                    headers=carried,
                    settings={**self.client.way.settings, **chosen},
                )
            except Error as error:
                # The client knows these fields by OpenAI's names, and would look in vain for ours.
                ours, dot, rest = error.field.partition(".")
                named = f"{OPENAI.get(ours, ours)}{dot}{rest}"
                where, hint = error.where, error.hint
                raise Error(
                    error.detail, code=error.code, where=where, field=named, hint=hint
                ) from error
            headers = headers_of(handle)
            if not asked.stream:
                answer = await self._waited(handle, self.offer.patience_s)
                return JSONResponse(completion(handle, asked.model, answer), headers=headers)
            options = asked.stream_options
            with_usage = options is not None and bool(options.include_usage)
            kept = place.pop_all()
            said = chunks(handle, asked.model, with_usage=with_usage, free=kept.close)
            return Stream(self._in_time(said, handle.episode, kept.close), kept, headers)

    async def _in_time(
        self,
        said: AsyncIterator[bytes],
        episode: str,
        free: Callable[[], object],
        name: str | None = None,
    ) -> AsyncIterator[bytes]:
        """A stream that ends when its time is over, with the error as its last event, under this ``name``.

        While nothing is said for a while a comment is, so that nobody on the way takes the connection for dead.
        """
        # Its status was sent with the first byte. All that can still be told is an event.
        again = f"GET /v1/answers/{quote(episode)}"
        ends_s = time.monotonic() + self.offer.patience_s
        coming: asyncio.Future[bytes] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(said))
                left_s = ends_s - time.monotonic()
                done, _ = await asyncio.wait([coming], timeout=max(0.0, min(left_s, SILENT_S)))
                if done:
                    each, coming = coming.result(), None
                    yield each
                elif left_s <= 0:
                    free()
                    yield event(told(Error(f"no answer yet: {again}", code="patience")), name)
                    return
                else:
                    yield b": still at it\n\n"
        except StopAsyncIteration:
            return
        except Error as error:
            if error.code in GOES_ON:
                error = Error(f"{error.detail}: {again}", code=error.code)
            free()
            yield event(told(error), name)
        finally:
            if coming is not None:
                coming.cancel()

    # -- our own -----------------------------------------------------------------------------------

    async def put(self, said: PutProblem, guest: Guest, carried: Mapping[str, str]) -> JSONResponse:
        """Put a problem. 200 with its answer where it is known, else 202; both name the episode."""
        with self.access.place(guest):
            handle = await self.service.submit(
                guest,
                said.problem,
                guest.own_id(said.id),
                self.service.policy(
                    said.policy or self.offer.policies[0], field="policy", lists=LISTS
                ),
                new=False,
                settings=said.settings,
                seed=said.seed,
                answer=said.answer,
                answer_type=None if said.answer_type is None else said.answer_type.said,
                call_limit=said.call_limit,
                token_limit=said.token_limit,
                priority=said.priority,
                headers=carried,
            )
            return await self._state(handle, 0.0)

    async def answer(self, episode: str, wait_s: float, guest: Guest) -> JSONResponse:
        """The answer of an episode; 202 where it does not come within so many seconds."""
        with self.access.place(guest):
            handle = await self.service.own(episode, guest)
            return await self._state(handle, min(wait_s, self.offer.patience_s))

    async def _state(self, handle: Handle, wait_s: float) -> JSONResponse:
        headers = headers_of(handle)
        try:
            answer = await self._waited(handle, wait_s)
        except Error as error:
            # The answer is not there yet, which is no error of a request that asks how far it is.
            if error.code != "patience":
                raise
            said = {"episode": handle.episode, "status": "open"}
            return JSONResponse(said, 202, {**headers, "retry-after": "1"})
        return JSONResponse(to_builtins(answer), headers=headers)

    async def events(self, episode: str, guest: Guest, after: int) -> StreamingResponse:
        """The records of an episode behind an offset as server-sent events, as they are written."""
        with ExitStack() as place:
            place.enter_context(self.access.place(guest))
            handle = await self.service.own(episode, guest)
            kept = place.pop_all()
            said = followed(handle, after, kept.close)
            in_time = self._in_time(said, handle.episode, kept.close, "error")
            return Stream(in_time, kept, headers_of(handle))

    async def explain(self, episode: str, guest: Guest) -> tuple[dict[str, Any], dict[str, str]]:
        """How an episode came to its answer, and the headers of a response about it."""
        with self.access.place(guest):
            own = await self.service.own(episode, guest)
            return await self.client.explain(own.episode), headers_of(own)

    async def judge(self, episode: str, said: Judged, guest: Guest) -> Response:
        """Take feedback on an answer."""
        with self.access.place(guest):
            own = await self.service.own(episode, guest)
            await self.client.feedback(
                own.episode,
                verdict=said.verdict,
                score=said.score,
                reference=said.reference,
                passed=bool(said.passed),
                # Whoever reads a verdict must see whose it is, and a guest can only sign
                # within its own name.
                by=f"door:{guest.name}" + ("" if said.by is None else f"/{said.by}"),
            )
        return Response(status_code=202, headers=headers_of(own))

    async def reviews(self, guest: Guest, below: float, votes: float, limit: int) -> dict[str, Any]:
        """The guest's answers that wait for a person."""
        with self.access.place(guest):
            # Anybody on loopback sees all of them, as on the command line.
            memory = guest.name if guest.is_named else None
            found = await self.client.reviews(below=below, votes=votes, memory=memory, limit=limit)
        return {"reviews": [each.record() for each in found]}

    async def cancel(self, episode: str, guest: Guest) -> Response:
        """Take an episode out that has not ended."""
        # It needs no place: whoever waits in all of theirs frees them so.
        own = await self.service.own(episode, guest)
        await self.client.cancel(own.episode, by=f"door:{guest.name}")
        return Response(status_code=202, headers=headers_of(own))


def carried_of(headers: Mapping[str, str]) -> dict[str, str]:
    """What of a request's headers comes back on its answer: traces and names of requests, never a credential."""
    return {name: headers[name] for name in CARRIED if name in headers}


def headers_of(handle: Handle) -> dict[str, str]:
    """The headers of a response about an episode. One on Kafka may have been given what HTTP cannot say."""
    # A header with a line break in it would begin another one.
    known = {name.lower(): value for name, value in handle.headers.items()}
    kept = {
        name: known[name]
        for name in CARRIED
        if name in known and known[name].isascii() and known[name].isprintable()
    }
    return {**kept, "metalogue-episode": handle.episode}


async def followed(handle: Handle, after: int, free: Callable[[], object]) -> AsyncIterator[bytes]:
    """The records of an episode as they are written, and its answer or the error that it ended with.

    Whoever has the last of it has his place free again (``free``).
    """
    async for record in handle.events(after):
        yield event(record_json(record), "record", record.offset)
    try:
        last = event(to_builtins(await handle.answer()), "answer")
    except Error as error:
        last = event(told(error), "error")
    # Before it is sent: who reads it may ask for more at once, such as to judge it.
    free()
    yield last


def record_json(record: Record) -> dict[str, Any]:
    """A record as plain values."""
    return {
        "offset": record.offset,
        "address": record.address,
        "at_ms": record.at_ms,
        "event": plain(record.event),
    }


class Stream(StreamingResponse):
    """Server-sent events; the place of whoever asked for them is free with the last of them, or when he is gone."""

    def __init__(
        self, said: AsyncIterator[bytes], place: ExitStack, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(said, media_type="text/event-stream", headers=headers)
        self.place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Not left to the generator: one that was never begun, since its client went before the first byte, never
        # comes to its end.
        with self.place:
            await super().__call__(scope, receive, send)


def told(error: Error | Refused) -> dict[str, Any]:
    """An error as OpenAI's clients read it."""
    if isinstance(error, Refused):
        return {
            "error": {"message": error.why, "type": "refused", "param": None, "code": error.code}
        }
    kind = "invalid_request_error" if status_of(error) < 500 else "server_error"
    said = {"message": str(error), "type": kind, "param": error.field or None, "code": error.code}
    return {"error": said}


def status_of(error: Error) -> int:
    """The status that an error is told with."""
    # What nobody foresaw is taken for our own fault: 503 asks to come again, 400 would tell
    # a client to change.
    return STATUS.get(error.code, 400 if error.code.startswith("input.") else 503)
