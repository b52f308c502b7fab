"""The routes: what may be asked of a door, as its OpenAPI page says it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import Response

from handlers.reviewing import USUAL
from schemas.problem import ID_CHARS
from streams.interfaces.door.access import Guest
from streams.interfaces.door.http.chat import ChatRequest
from streams.interfaces.door.http.door import Door, Judged, PutProblem, carried_of

LONGEST_WAIT_S = 3600
MOST_REVIEWS = 1_000
router = APIRouter(prefix="/v1")


def door_of(request: Request) -> Door:
    """The door that an application was made for."""
    door = request.app.state.door
    assert isinstance(door, Door)
    return door


ADoor = Annotated[Door, Depends(door_of)]


# Each route names its guest, and so cannot be reached without one.
def guest_of(door: ADoor, authorization: Annotated[str | None, Header()] = None) -> Guest:
    """Return the guest who asks. Raises ``Refused``."""
    return door.access.guest(authorization)


AGuest = Annotated[Guest, Depends(guest_of)]


async def while_there(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """The response, unless its client hangs up before it is there: then its place is free at once."""
    task = asyncio.ensure_future(work)

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    left = asyncio.ensure_future(gone())
    try:
        await asyncio.wait((task, left), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            return Response(status_code=499)
        return await task
    finally:
        left.cancel()
        task.cancel()


@router.get("/models", tags=["openai"])
async def models(door: ADoor, guest: AGuest) -> dict[str, Any]:
    """The policies that this door offers, as models."""
    return door.models()


@router.get("/models/{model:path}", tags=["openai"])
async def model(model: str, door: ADoor, guest: AGuest) -> dict[str, Any]:
    """One of the policies that this door offers, as a model."""
    return door.model(model)


@router.post("/chat/completions", tags=["openai"], response_model=None)
async def chat(
    asked: ChatRequest,
    door: ADoor,
    guest: AGuest,
    request: Request,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=ID_CHARS)] = None,
) -> Response:
    """One chat completion: an episode of the policy that ``model`` names, its usage that of the whole episode."""
    work = door.chat(asked, guest, idempotency_key, carried_of(request.headers))
    return await while_there(request, work)


@router.post("/problems", tags=["metalogue"], response_model=None)
async def put(said: PutProblem, door: ADoor, guest: AGuest, request: Request) -> Response:
    """Put a problem, idempotent by its id. 202 with the episode's name, or 200 with the answer that is known."""
    return await door.put(said, guest, carried_of(request.headers))


# Episodes have slashes in their names, so that these routes end in a path.
@router.get("/answers/{episode:path}", tags=["metalogue"], response_model=None)
async def answer(
    episode: str,
    door: ADoor,
    guest: AGuest,
    request: Request,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S)] = 0.0,
) -> Response:
    """The answer of an episode, waited for up to so many seconds; 202 while it is open."""
    return await while_there(request, door.answer(episode, wait_s, guest))


@router.get("/events/{episode:path}", tags=["metalogue"], response_model=None)
async def events(
    episode: str,
    door: ADoor,
    guest: AGuest,
    after: Annotated[int, Query(ge=0, lt=1 << 62)] = 0,
    # Browsers send it by themselves when they come back. It is text of theirs, hence
    # the narrow pattern.
    last_event_id: Annotated[str | None, Header(pattern=r"^[0-9]{1,18}$")] = None,
) -> Response:
    """The episode's records as server-sent events, as they are written; the answer comes last.

    Behind the offset ``after``, or the one that a client that was cut off names in ``Last-Event-ID``.
    """
    return await door.events(episode, guest, max(after, int(last_event_id or 0)))


@router.get("/explanations/{episode:path}", tags=["metalogue"])
async def explain(episode: str, door: ADoor, guest: AGuest, response: Response) -> dict[str, Any]:
    """How the episode came to its answer: each step, what it cost, what it was given."""
    explained, headers = await door.explain(episode, guest)
    response.headers.update(headers)
    return explained


@router.post("/feedback/{episode:path}", tags=["metalogue"], response_model=None)
async def judge(episode: str, said: Judged, door: ADoor, guest: AGuest) -> Response:
    """What the answer was worth: a verdict, a score, the right answer, or that nobody can tell."""
    return await door.judge(episode, said, guest)


@router.get("/reviews", tags=["metalogue"])
async def reviews(
    door: ADoor,
    guest: AGuest,
    below: Annotated[float, Query(ge=0, le=1)] = USUAL.confidence,
    votes: Annotated[float, Query(ge=0, le=1)] = USUAL.votes,
    limit: Annotated[int, Query(ge=1, le=MOST_REVIEWS)] = 50,
) -> dict[str, Any]:
    """Answers that a person should look at, the newest first, and why; feedback takes one off."""
    return await door.reviews(guest, below, votes, limit)


@router.post("/cancellations/{episode:path}", tags=["metalogue"], response_model=None)
async def cancel(episode: str, door: ADoor, guest: AGuest) -> Response:
    """Take an episode out that has not ended."""
    return await door.cancel(episode, guest)
