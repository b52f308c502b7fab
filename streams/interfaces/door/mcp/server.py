"""The Model Context Protocol, by the official SDK: tools listed and called, on standard streams or over HTTP.

Over HTTP each request stands for itself (the SDK's stateless mode): a token is looked at with every one of them, and
there is no session that somebody else could go on with.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias

from anyio import create_memory_object_stream, create_task_group
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool
from pydantic import ValidationError
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse

from schemas.record import Record
from streams.interfaces.dashboard.guard import Guard
from streams.interfaces.door.access import ANYBODY, Guest, Refused
from streams.interfaces.door.errors import Error
from streams.interfaces.door.mcp.tools import Tool, tools_of
from streams.interfaces.door.origins import Origins
from streams.interfaces.door.service import Service
from streams.support.web.bodies import Bodies

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from streams.support.web.hosts import Hosts

PATH = "/mcp"
MOST_BYTES = 4 * 1024 * 1024
"""The longest request."""
GUEST = "metalogue.guest"
"""Where a request's scope holds who came in."""
ABOUT = (
    "Solves problems by reasoning policies that record every step and learn from what came of it. Put a problem with "
    "`solve`, take it out again with `cancel`, read how it was solved with `explain`, and look up what was learned "
    "with `search_lessons`."
)
Context: TypeAlias = ServerRequestContext[Any, Any]


def server_of(service: Service) -> Server[Any]:
    """A server of the tools over a client that is open."""
    tools: dict[str, Tool[Any]] = {
        tool.name: tool for tool in tools_of(service.offer.policies, service.offer.backbones)
    }
    listed = [_listed(tool) for tool in tools.values()]

    async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            there = ", ".join(tools)
            raise MCPError(INVALID_PARAMS, f"name: no tool {params.name[:80]!r}; there are {there}")
        # On standard streams there is no request: whoever started the process owns all
        # that it can reach.
        guest = Guest(ANYBODY) if ctx.request is None else ctx.request.scope[GUEST]
        assert isinstance(guest, Guest)
        # A cancellation needs no place: whoever waits in all of theirs frees them so.
        is_free = params.name == "cancel"
        try:
            with nullcontext() if is_free else service.access.place(guest):
                result = await tool(service, guest, params.arguments or {}, _progress(ctx))
        except (Error, Refused) as error:
            # A result and no error of the protocol: the model reads it and can act on it.
            why = str(error) if isinstance(error, Error) else f"{error} [{error.code}]"
            return CallToolResult(content=[TextContent(type="text", text=why)], is_error=True)
        said = result.model_dump(mode="json")
        # A page is written to be read, the rest is values; clients that know no structured
        # content see this alone.
        text = said["page"] if "page" in said else result.model_dump_json(indent=2)
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content=said
        )

    return Server(
        "metalogue",
        version=version("metalogue"),
        title="Metalogue",
        instructions=ABOUT,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _listed(tool: Tool[Any]) -> ListedTool:
    # Idempotent, all of them: problems are named by their texts. Clients may repeat such a
    # call by themselves.
    hints = ToolAnnotations(
        read_only_hint=tool.reads,
        destructive_hint=False,
        idempotent_hint=True,
        open_world_hint=not tool.reads,
    )
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=hints,
    )


def _progress(ctx: Context) -> Any:
    """Tells the caller of each record: how many there are by now, and what the last one is."""
    count = 0

    async def tell(record: Record) -> None:
        nonlocal count
        count += 1
        await ctx.session.report_progress(count, None, f"{record.address} {record.event.kind}")

    return tell


# ── On standard streams ──────────────────────────────────────────────────────────────────────


async def speak(service: Service) -> None:
    """Serve whoever started this process, until it closes our standard input."""
    server = server_of(service)
    async with stdio_server() as (reading, writing), create_task_group() as tasks:
        told, heard = create_memory_object_stream[SessionMessage | Exception](0)

        async def sort() -> None:
            # The SDK passes over a line that it cannot read, and who sent it would wait for ever.
            async with told:
                async for said in reading:
                    if not isinstance(said, Exception):
                        await told.send(said)
                    elif (error := unread(said)) is not None:
                        await writing.send(SessionMessage(error))

        tasks.start_soon(sort)
        await server.run(heard, writing, server.create_initialization_options())


def unread(error: Exception) -> JSONRPCError | None:
    """What is told of a line that is no message, by the id of its request where that can be made out; nothing of one
    that says nothing.
    """
    what, said = "not a message", None
    if isinstance(error, ValidationError):
        first, *others = error.errors(include_url=False)
        what, said = first["msg"], first["input"]
        # What is said of a field holds that field alone. Where a message of another kind lacks one, the
        # whole line is held.
        for each in others:
            if each["type"] == "missing" and len(each["loc"]) == 2:
                said = each["input"]
    # Half of a character, of which a model's text may well end, is no fault to this reader.
    if isinstance(said, str):
        if not said.strip():
            return None
        with suppress(ValueError, RecursionError):
            said = json.loads(said)
    asked: str | int | None = None
    match said:
        case {"id": int() | str() as id} if not isinstance(id, bool) and str(id).isascii():
            asked = id
        case _:
            pass
    return JSONRPCError(
        jsonrpc="2.0",
        id=asked,
        error=ErrorData(code=PARSE_ERROR, message=f"cannot be read: {what}"),
    )


# ── Over HTTP ────────────────────────────────────────────────────────────────────────────────


def app_of(service: Service, hosts: Hosts, origins: Sequence[str] = ()) -> ASGIApp:
    """The ASGI application over a client that is open: the same guards as the HTTP door's, in the same order."""
    # Without the SDK's sessions: one would be a second credential beside the token. Host and Origin
    # are looked at before the SDK sees a request, by rules that name more than loopback.
    theirs = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server_of(service).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=MOST_BYTES,
        transport_security=theirs,
    )
    inner: ASGIApp = _Admission(Bodies(app, MOST_BYTES), service)
    # Outside of the admission: a browser's `fetch` asks beforehand, without a
    # token, what it may send.
    if origins:
        inner = CORSMiddleware(
            inner,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["retry-after"],
        )
    return Guard(Origins(inner, hosts, origins), hosts)


class _Admission:
    """Lets in whom the service knows, and notes who it is."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Before the SDK reads anything of the request, which is some work.
        said = dict(scope["headers"]).get(b"authorization")
        try:
            guest = self.service.access.guest(None if said is None else said.decode("latin-1"))
        except Refused as refused:
            error = {"error": {"message": refused.why, "code": refused.code}}
            await JSONResponse(error, refused.status, refused.headers)(scope, receive, send)
            return
        # Without sessions there is nothing to follow or to end: a stream that is opened so is ended by nobody, and
        # takes a connection of everybody's.
        if scope["method"] in ("GET", "DELETE"):
            error = {
                "error": {"message": "nothing is streamed here: ask by POST", "code": "method"}
            }
            await JSONResponse(error, 405, {"allow": "POST"})(scope, receive, send)
            return
        await self.app({**scope, GUEST: guest}, receive, send)
