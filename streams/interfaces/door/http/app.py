"""The ASGI application of the HTTP door, and what stands before its routes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from schemas.problem import PROBLEM_CHARS
from streams.interfaces.dashboard.guard import Guard
from streams.interfaces.door.access import Refused
from streams.interfaces.door.errors import Error
from streams.interfaces.door.handle import AWAY
from streams.interfaces.door.http.door import CARRIED, GOES_ON, Door, status_of, told
from streams.interfaces.door.http.routes import router
from streams.interfaces.door.origins import Origins, code_of, refused
from streams.interfaces.door.service import Service
from streams.interfaces.door.thread import AWAY_S
from streams.support.web.bodies import Bodies

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from streams.support.web.hosts import Hosts

MOST_BYTES = 4 * PROBLEM_CHARS
"""The longest body: a problem of that many characters, each of four bytes."""


def app_of(
    service: Service,
    hosts: Hosts,
    origins: Sequence[str] = (),
) -> ASGIApp:
    """The ASGI application over a client that is open."""
    app = FastAPI(
        title="Metalogue",
        summary="Problems in, answers out, each step on the record.",
        version="1",
        docs_url=None,
        redoc_url=None,
    )
    app.state.door = Door(service)
    app.include_router(router)
    for kind in (Error, Refused, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _said)
    # CORS only where origins are listed: without it no page of another origin may read
    # a response at all.
    inner: ASGIApp = app
    if origins:
        inner = CORSMiddleware(
            inner,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],  # clients of all sorts send some of their own
            expose_headers=["metalogue-episode", "retry-after", *CARRIED],
        )
    # From the outside in: whom the request names, which page sent it, and only then how much it
    # brings. What is refused by the first is not even read.
    read = Bodies(inner, MOST_BYTES, refused)
    return Guard(Origins(read, hosts, origins), hosts, refused)


async def _said(request: Request, error: Exception) -> JSONResponse:
    """Every error in the form that OpenAI's clients read, be it ours, FastAPI's or Starlette's."""
    match error:
        case Refused():
            return JSONResponse(told(error), error.status, error.headers)
        case RequestValidationError():
            return JSONResponse(told(_fault(error)), 400)
        case HTTPException(status_code=400, __cause__=ValueError() | RecursionError() as cause):
            # FastAPI says of nothing but wrong syntax why it cannot read a body.
            deep = isinstance(cause, RecursionError)
            what = "nested too deep" if deep else str(cause).partition(";")[0]
            return JSONResponse(told(Error(f"not JSON: {what}", code="input.json")), 400)
        case HTTPException():
            kind, code = "invalid_request_error", code_of(error.status_code)
            said = {"message": error.detail, "type": kind, "param": None, "code": code}
            return JSONResponse({"error": said}, error.status_code, dict(error.headers or {}))
        case _:
            assert isinstance(error, Error)
            # OpenAI's clients ask again by themselves, and without a key that would be another episode
            # while this one goes on.
            again = {"x-should-retry": "false"} if error.code in GOES_ON else {}
            if error.code in AWAY:
                again["retry-after"] = str(math.ceil(AWAY_S))
            return JSONResponse(told(error), status_of(error), again)


def _fault(error: RequestValidationError) -> Error:
    """The first thing that is wrong: of a field of several types what is wrong with it as the type that was sent."""
    faults = error.errors()
    first, *others = faults
    # Where it stands in the text is no field.
    if first["type"] == "json_invalid":
        what = f"not JSON: {first['ctx']['error']} at character {first['loc'][-1]}"
        return Error(what, code="input.json")
    # Of a list that holds an image "should be a string" is true of no client's mistake.
    *where, kind = first["loc"]
    if kind == "str" and not isinstance(first["input"], str):
        deeper = (each for each in others if [*each["loc"][: len(where)]] == where)
        first = max(deeper, key=lambda each: len(each["loc"]), default=first)
    outer = ("body", "query", "header", "str", "list[Part]")
    place = ".".join(str(part) for part in first["loc"] if part not in outer)
    what = first["msg"].removeprefix("Value error, ")
    return Error(what, code="input.field", field=place)
