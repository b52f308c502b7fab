"""Tools of an MCP server, by the official client: in this process, and as a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.questions import ToolResult, UseTool
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.tools.mcp import McpTools, fitted
from streams.answering.tools.spelling import build
from streams.core.backbone import SetupBroken

servers = pytest.importorskip("mcp.server.mcpserver", reason="needs the extra mcp")

SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("library")


@server.tool()
def look_up(text: str, limit: int = 5) -> str:
    """Find passages."""
    if text == "fault":
        raise ValueError("out of order")
    return "" if text == "nothing" else f"{text}, {limit} passages"


if __name__ == "__main__":
    server.run("stdio")
'''
DIES = """\
    import os

    if not os.path.exists(__file__ + ".died"):
        open(__file__ + ".died", "w").close()
        os._exit(3)
"""
"""What ends the process of a server at its first call."""
SEARCH = (("query", "rivers"), ("topk", 2))


def _answering(name: str) -> Callable[[str], str]:
    def answer(query: str) -> str:
        return f"{name}: {query}"

    return answer


def here(*extra: str) -> Any:
    """The same server in this process, with more tools."""
    made: dict[str, Any] = {"__name__": "library"}
    exec(SERVER, made)
    for name in extra:
        made["server"].tool(name=name)(_answering(name))
    return made["server"]


def asked(tools: McpTools, questions: Sequence[UseTool]) -> list[ToolResult]:
    async def run() -> list[ToolResult]:
        try:
            return [await tools.call(question) for question in questions]
        finally:
            await tools.close()

    return asyncio.run(run())


def test_the_only_tool_is_meant_and_arguments_go_to_its_own_names() -> None:
    tools = McpTools(here(), "here")
    found, empty, fault = asked(
        tools,
        [
            UseTool("search", SEARCH),
            UseTool("search", (("query", "nothing"),)),
            UseTool("look_up", (("text", "fault"),)),
        ],
    )
    assert found == ToolResult("rivers, 2 passages", "found")
    assert empty.result == "empty"
    assert fault.result == "error"


def test_of_several_the_one_of_that_name() -> None:
    tools = McpTools(here("search", "browse"), "here")
    found, refused = asked(tools, [UseTool("browse", (("query", "x"),)), UseTool("delete", ())])
    assert found.text == "browse: x"
    assert refused.result == "refused"
    assert "look_up, search, browse" in refused.text


def test_a_server_that_is_a_process(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    tools = build(f"mcp:{sys.executable} {script}", HashedEmbedder())
    assert isinstance(tools, McpTools)
    [found] = asked(tools, [UseTool("search", SEARCH)])
    assert found == ToolResult("rivers, 2 passages", "found")


def test_a_server_that_dies_fails_one_call_and_is_started_again_for_the_next(
    tmp_path: Path,
) -> None:
    """It had made every later episode wait for a person."""
    script = tmp_path / "server.py"
    script.write_text(SERVER.replace('    if text == "fault":', DIES + '    if text == "fault":'))
    tools = McpTools.of(f"{sys.executable} {script}")
    question = UseTool("search", SEARCH)
    first, second, third = asked(tools, [question] * 3)
    assert first.result == "error"
    assert second == third == ToolResult("rivers, 2 passages", "found")


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ("/no/such/program --key S3CRET", "no/such/program"),
        ("http://127.0.0.1:1/mcp", "connect"),
        ("http://ada:S3CRET@127.0.0.1:1/mcp?sig=S3CRET", r"http://127\.0\.0\.1:1/mcp: "),
    ],
)
def test_a_server_that_is_not_there_is_a_broken_set_up(server: str, named: str) -> None:
    tools = McpTools.of(server)
    with pytest.raises(SetupBroken, match=named) as caught:
        asked(tools, [UseTool("search", SEARCH)])
    assert "TaskGroup" not in str(caught.value), "what it was, and not what it came wrapped in"
    assert "S3CRET" not in str(caught.value)


def test_arguments_fit_the_schema() -> None:
    schema = {"properties": {"q": {"type": "string"}, "top_k": {"type": "integer"}}}
    assert fitted(schema, {"query": "a", "topk": 2}) == {"q": "a", "top_k": 2}
    assert fitted({"properties": {}}, {"query": "a"}) == {}
    # As JSON Schema allows: any value at all, a text or nothing in both its spellings, and who must be told.
    anything = {"any": True, "q": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    assert fitted({"properties": anything}, {"query": "a"}) == {"q": "a"}
    assert fitted({"properties": {"q": {"type": ["string", "null"]}}}, {"query": "a"}) == {"q": "a"}
    two = {"site": {"type": "string"}, "words": {"type": "string"}}
    assert fitted({"properties": two, "required": ["words"]}, {"query": "a"}) == {"words": "a"}
    assert fitted({}, {"query": "a"}) == {}
