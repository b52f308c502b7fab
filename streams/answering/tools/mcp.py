"""Tools of any server of the Model Context Protocol, by the official client (extra ``mcp``).

A server need not call its tool as we do: a question goes to the tool of its name, else to the server's
only one, and its arguments to the properties that the tool declares.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from schemas.questions import ToolResult, UseTool
from streams.answering.backbones.openai.options import shown
from streams.core.backbone import SetupBroken
from streams.support.extras import install

CALL_S = 60.0
START_S = 30.0
CLOSED = -32_000
"""The code of an error of the library's own: the connection is gone."""
COUNTS = ("topk", "top_k", "k", "limit", "max_results", "num_results", "n")
"""What tools call the number of results."""


@dataclass(slots=True)
class Connection:
    """A server as it is spoken to, from its start to its end."""

    client: asyncio.Future[Any]
    end: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class McpTools:
    """One server: a command that is started and spoken to on its standard streams, or a URL.

    The connection lives in a task of its own, since it must be closed where it was opened.
    """

    def __init__(self, server: Any, name: str) -> None:
        self.server, self.name = server, name
        self.tools: dict[str, Mapping[str, Any]] = {}
        self._now: Connection | None = None
        self._past: list[Connection] = []

    @classmethod
    def of(cls, what: str) -> McpTools:
        """The server of a URL or a command line. Raises ``ValueError`` without the extra."""
        try:
            stdio: Any = import_module("mcp.client.stdio")
        except ImportError as error:
            raise ValueError(f"mcp needs the extra: {install('mcp')}") from error
        if what.startswith(("http://", "https://")):
            return cls(what, shown(what))
        command, *arguments = shlex.split(what)
        # Not its arguments: one of them may be a key, and the name gets into errors.
        return cls(stdio.StdioServerParameters(command=command, args=arguments), command)

    async def call(self, question: UseTool) -> ToolResult:
        """Call the tool and return its result. Raises ``SetupBroken`` where the server cannot be reached."""
        now = self._now
        if now is None:
            now = self._now = Connection(asyncio.get_running_loop().create_future())
            now.task = asyncio.create_task(self._serve(now))
        try:
            client = await asyncio.wait_for(asyncio.shield(now.client), START_S)
        except (OSError, TimeoutError, ValueError) as error:
            detail = str(error) or f"no answer within {START_S:g} s"
            raise SetupBroken("tools", f"mcp:{self.name}", detail) from error
        # A server with one tool alone can only mean that one, whatever it calls it.
        name = question.tool if len(self.tools) != 1 else next(iter(self.tools))
        if name not in self.tools:
            listed = ", ".join(self.tools) or "none"
            return ToolResult(f"no tool {question.tool!r}; there are: {listed}", "refused")
        arguments = fitted(self.tools[name], dict(question.arguments))
        try:
            result = await asyncio.wait_for(client.call_tool(name, arguments), CALL_S)
        except OSError:  # also a call that took too long: the server may do well with the next
            raise
        # The library's own, of a call that failed or of a server that is gone.
        except Exception as error:
            if getattr(error, "code", CLOSED) == CLOSED:
                self._let_go(now)
            return ToolResult(f"{type(error).__name__}: {error}"[:300], "error")
        text = "\n\n".join(each.text for each in result.content if hasattr(each, "text"))
        # Told apart from finding nothing, for a policy may ask a tool again that failed.
        if result.is_error:
            return ToolResult(text or "the tool failed and did not say why", "error")
        return ToolResult(text, "found" if text.strip() else "empty")

    def _let_go(self, gone: Connection) -> None:
        """End a connection, once: the next call begins another, which starts a server that ended."""
        gone.end.set()
        if self._now is gone:
            self._now = None
            self._past.append(gone)

    async def _serve(self, now: Connection) -> None:
        mcp: Any = import_module("mcp")
        try:
            async with mcp.Client(self.server) as client:
                listed = await client.list_tools()
                self.tools = {each.name: each.input_schema for each in listed.tools}
                now.client.set_result(client)
                # The client belongs to a task group, which must be left by the task that entered
                # it.
                await now.end.wait()
        except Exception as error:  # of a task group, or of the transport: none of the usual kinds
            if now.client.done():
                raise
            now.client.set_exception(OSError(innermost(error)))

    async def close(self) -> None:
        """End the connection, and the process if one was started."""
        if self._now is not None:
            self._let_go(self._now)
        while self._past:
            task = self._past.pop().task
            if task is not None:
                with suppress(Exception):
                    await task


def innermost(error: BaseException) -> str:
    """What went wrong, out of the groups that a task group wraps it in."""
    inner: Any = error
    while isinstance(inner, BaseExceptionGroup):
        inner = cast("Any", inner).exceptions[0]
    return str(inner) or type(inner).__name__


def is_text(schema: Any) -> bool:
    """Whether a property may be a text: its type, one of its types, or one of the ways that it may be."""
    if not isinstance(schema, dict):  # true and false are schemas too
        return False
    told = cast("dict[str, Any]", schema)
    ways = [told, *(told.get("anyOf") or ()), *(told.get("oneOf") or ())]
    types = [cast("dict[str, Any]", each).get("type") for each in ways if isinstance(each, dict)]
    return "string" in types or any(isinstance(each, list) and "string" in each for each in types)


def fitted(schema: Mapping[str, Any], said: Mapping[str, str | int]) -> dict[str, str | int]:
    """Our arguments under the names that a tool's schema has for them; what it has none for is left out."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    needed = schema.get("required") or ()
    # What has to be said comes first: a text that may be left out is seldom what is looked for.
    texts = sorted(
        filter(lambda name: is_text(properties[name]), properties),
        key=lambda name: name not in needed,
    )
    counts = [name for name in COUNTS if name in properties]
    found: dict[str, str | int] = {}
    for name, value in said.items():
        if name in properties:
            found[name] = value
        elif name == "query" and texts:
            found[texts[0]] = value
        elif name == "topk" and counts:
            found[counts[0]] = value
    return found
