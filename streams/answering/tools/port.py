"""The port of tools. A tool's failure is an answer like any other, so that a replay meets it again."""

from __future__ import annotations

from typing import Protocol, get_args

from schemas.events.graph import ToolCalled
from schemas.outcome import Found
from schemas.questions import ToolResult, UseTool
from streams.core import normalise

RESULTS = get_args(Found)


class Tools(Protocol):
    """Whatever calls tools."""

    async def call(self, question: UseTool) -> ToolResult:
        """Call the tool and return its result."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...


class NoTools:
    """Refuses every call: nothing is set up."""

    async def call(self, question: UseTool) -> ToolResult:
        """A refusal."""
        return ToolResult(f"no tool {question.tool!r}: none is set up here (--tools)", "refused")

    async def close(self) -> None:
        """Nothing to release."""


NO_TOOLS = NoTools()


async def called(tools: Tools, question: UseTool, asked: str) -> ToolCalled:
    """The call's answer as an event."""
    try:
        found = await tools.call(question)
    # What a tool does wrong is an answer that the policy sees. Anything else is a defect, and gives
    # the question up.
    except (OSError, ValueError, LookupError, TimeoutError) as error:
        found = ToolResult(f"{type(error).__name__}: {error}"[:300], "error")
    # A tool of somebody's own may say anything; the record knows four words.
    result = found.result if found.result in RESULTS else "error"
    return ToolCalled(
        asked=asked,
        tool=normalise.text(question.tool, 200)[0],
        result=result,
        text=normalise.text(found.text)[0],
    )
