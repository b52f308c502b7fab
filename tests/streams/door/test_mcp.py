"""The MCP server as a process of its own, asked by the official client on its standard streams."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, TypeVar

import metalogue
import pytest
import yaml

from schemas.events.episode import EpisodeAdopted
from streams.interfaces.cli.errors import SETUP
from streams.interfaces.cli.show.library import Library
from streams.runtime.embedded.log import SqliteLog
from streams.support.extras import install
from tests.endpoint import Answer, Asked, whole
from tests.pace import soon
from tests.streams.cli.calling import call, command, environment
from tests.streams.cli.learned import copy_of, made
from tests.streams.door.conftest import knows
from tests.surroundings import Serve

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")
stdio: Any = pytest.importorskip("mcp.client.stdio")
over_http: Any = pytest.importorskip("mcp.client.streamable_http")

T = TypeVar("T")
SUM = "What is 17 + 25?"
WORDS = ("--backbone", "openai", "--policy", "mc2", "--policy", "cot")
REHEARSAL = ("--backbone", "rehearsal:seed=7", "--policy", "mc2")
pytestmark = [pytest.mark.slow, pytest.mark.live]


def run(work: Callable[[], Awaitable[T]]) -> T:
    """What some work comes to, in time."""

    async def timed() -> T:
        async with asyncio.timeout(soon(60.0)):
            return await work()

    return asyncio.run(timed())


def around() -> dict[str, str]:
    """What a server's process sees: this checkout, and the endpoint of the test."""
    return environment(**{n: v for n, v in os.environ.items() if n.startswith("OPENAI_")})


@asynccontextmanager
async def on_streams(*words: str, log: str = "a.db") -> AsyncGenerator[Any]:
    """A client of a server that it starts itself."""
    first, *rest = command("mcp", "--log", log, *words)
    started = stdio.StdioServerParameters(command=first, args=rest, env=around())
    async with mcp.Client(started) as client:
        yield client


def test_a_problem_is_solved_told_of_and_explained(serve: Serve) -> None:
    endpoint = serve()
    steps: list[tuple[float, str]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, message or ""))

    async def work() -> tuple[Any, Any, Any]:
        async with on_streams(*WORDS) as client:
            given = {"problem": SUM, "policy": "mc2", "call_limit": 9}
            solved = await client.call_tool("solve", given, progress_callback=heard)
            paid = len(endpoint.asked)
            again = await client.call_tool("solve", given)
            assert len(endpoint.asked) == paid, "the same problem is never paid twice"
            episode = {"episode": solved.structured_content["episode"]}
            return solved, again, await client.call_tool("explain", episode)

    solved, again, explained = run(work)
    said = solved.structured_content
    assert (said["answer"], said["simulated"]) == ("42", False)
    assert again.structured_content == said
    with metalogue.open_log("sqlite:a.db") as log:
        (answer,) = log.answers()
        records = [each for each in log.records(answer.episode) if each.address != "reflected"]
    assert (said["episode"], said["status"]) == (answer.episode, answer.status)
    assert said["confidence"] == answer.confidence
    used = {name: getattr(answer.usage, name) for name in said["usage"]}
    assert said["usage"] == used, "unknown figures stay unknown"
    assert used["calls"] == len(endpoint.asked) > 1
    told = [message for _, message in steps]
    assert told[: len(records)] == [f"{each.address} {each.event.kind}" for each in records]
    assert [count for count, _ in steps] == list(range(1, len(steps) + 1))
    page = explained.structured_content
    assert (page["problem"], page["answer"], page["status"]) == (SUM, "42", answer.status)
    assert re.search(r"^ *0 +reasoner +42", page["page"], flags=re.MULTILINE)
    assert explained.content[0].text == page["page"]


def test_tools_say_what_they_take_and_give(serve: Serve) -> None:
    serve()

    async def work() -> list[Any]:
        async with on_streams(*WORDS) as client:
            return list((await client.list_tools()).tools)

    tools = {tool.name: tool for tool in run(work)}
    assert set(tools) == {"solve", "explain", "cancel", "search_lessons"}
    assert "`mc2`, `cot`" in tools["solve"].description
    assert "`tot`" not in tools["solve"].description, "only what the operator listed"
    for tool in tools.values():
        assert all("description" in each for each in tool.input_schema["properties"].values())
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema["type"] == "object"
    reads = {name for name, tool in tools.items() if tool.annotations.read_only_hint}
    assert reads == {"explain", "search_lessons"}


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("solve", {}, "problem: Field required [input.field]"),
        ("solve", {"problem": " "}, "problem: "),
        ("solve", {"problem": SUM, "polcy": "cot"}, "polcy: Extra inputs"),
        ("solve", {"problem": SUM, "call_limit": 0}, "call_limit: "),
        ("solve", {"problem": SUM, "call_limit": "many"}, "call_limit: "),
        ("solve", {"problem": SUM, "policy": "tot"}, "policy: no policy 'tot'"),
        ("solve", {"problem": SUM, "policy": "own.py:Mine"}, "policy: no policy"),
        ("solve", {"problem": SUM, "backbone": "mini"}, "backbone: not offered here"),
        ("solve", {"problem": SUM, "backbone": "openai:x"}, "backbone: String should match"),
        ("solve", {"problem": SUM, "seed": -1}, "seed: "),
        ("solve", {"problem": SUM, "answer_type": "colour"}, "answer_type"),
        ("solve", {"problem": SUM, "answer_type": "choice"}, "answer_type.options: missing"),
        ("cancel", {"episode": "p/default/none/x"}, "no such episode [episode.unknown]"),
        ("explain", {"episode": "p/default/none/x"}, "no such episode [episode.unknown]"),
        ("explain", {"episode": "x\x00y"}, "no such episode [episode.unknown]"),
        ("search_lessons", {"query": SUM, "top": 99}, "top: "),
    ],
)
def test_what_is_wrong_is_named_by_its_field(
    serve: Serve, tool: str, given: dict[str, Any], said: str
) -> None:
    endpoint = serve()

    async def work() -> Any:
        async with on_streams(*WORDS) as client:
            return await client.call_tool(tool, given)

    result = run(work)
    assert result.is_error
    assert said in result.content[0].text
    assert endpoint.asked == []


def test_a_backbone_that_is_offered_answers_where_it_is_named(serve: Serve) -> None:
    endpoint = serve()

    async def work() -> tuple[str, Any]:
        async with on_streams(*WORDS, "--offer", "mini=openai:small") as client:
            (tool,) = [each for each in (await client.list_tools()).tools if each.name == "solve"]
            given = {"problem": SUM, "policy": "cot", "backbone": "mini"}
            return tool.description, await client.call_tool("solve", given)

    described, solved = run(work)
    assert "Backbones: `mini`" in described
    assert solved.structured_content["answer"] == "42"
    assert [each.body["model"] for each in endpoint.asked] == ["small"]


def test_a_tool_that_there_is_none_of_is_an_error_of_the_protocol(serve: Serve) -> None:
    serve()

    async def work() -> None:
        async with on_streams(*WORDS) as client:
            with pytest.raises(
                mcp.MCPError, match="name: no tool 'sove'; there are solve, explain"
            ):
                await client.call_tool("sove", {})

    run(work)


def test_a_line_that_cannot_be_read_is_answered(folder: Path) -> None:
    """The SDK passes over it: an assistant whose text ended in half an emoji waited for ever."""
    lines: list[tuple[bytes, Any]] = [
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a": "\\ud83d"}}', 7),
        (b'{"jsonrpc": "2.0", "id": "b", "method": "ping", "params": {"\\ud83d": 1}}', "b"),
        (b'{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "\\ud83d"}', None),
        (b'{"jsonrpc": "2.0", "id": 7, "a": ' + b"[" * 5000, None),
        (b'{"jsonrpc": "2.0", "id": 7, "a": ' + b"9" * 5000 + b"}", None),
        (b"[]", None),
        (b"\xff", None),
        (b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": [1]}', 8),
        (b'{"jsonrpc": "2.0", "id": 9, "method": 3, "params": {"id": 4}}', 9),
        (b'{"jsonrpc": "1.0", "id": 10, "method": "ping"}', 10),
        (b'{"jsonrpc": "2.0", "id": "c"}', "c"),
    ]
    words = command("mcp", "--log", "a.db", *REHEARSAL)
    with Popen(words, stdin=PIPE, stdout=PIPE, env=around()) as server:
        # An empty line says nothing, and is not answered.
        asked = b"\n".join([b"", *(line for line, _ in lines), b""])
        told = [json.loads(each) for each in server.communicate(asked, 60)[0].splitlines()]
    assert [each["id"] for each in told] == [id for _, id in lines]
    assert {each["error"]["code"] for each in told} == {-32700}
    assert all(each["error"]["message"].startswith("cannot be read: ") for each in told)


def test_a_call_limit_holds(serve: Serve) -> None:
    endpoint = serve()

    async def work() -> Any:
        async with on_streams(*WORDS) as client:
            given = {"problem": SUM, "policy": "mc2", "call_limit": 1}
            return await client.call_tool("solve", given)

    said = run(work).structured_content
    assert said["usage"]["calls"] == len(endpoint.asked) == 1
    assert said["status"] == "exhausted"


def test_an_answer_has_the_form_that_was_asked_for(serve: Serve) -> None:
    """A number without its unit is none: it is asked for once more, and comes with the unit in its own spelling."""

    def script(asked: Asked) -> Answer:
        first = len(endpoint.asked) == 1
        return whole(r"\boxed{a lot}" if first else r"\boxed{90 minutes}")

    endpoint = serve(script)
    typed = {"type": "number", "unit": "hours"}
    given = {"problem": "How long?", "policy": "cot", "answer_type": typed}

    async def work() -> Any:
        async with on_streams(*WORDS) as client:
            return await client.call_tool("solve", given)

    said = run(work).structured_content
    assert (said["answer"], said["usage"]["calls"]) == ("1.5 hours", 2)
    with metalogue.open_log("sqlite:a.db") as log:
        (episode,) = log.episodes()
    asked = episode.problem.answer_type
    assert asked is not None
    assert asked.unit == "hours"


def test_an_episode_is_taken_out_by_whoever_put_it(serve: Serve) -> None:
    """Its open call is let go of, and whoever waits for it is told."""
    asked_once, let = threading.Event(), threading.Event()

    def script(asked: Asked) -> Answer:
        asked_once.set()
        let.wait(60)
        return knows(asked)

    endpoint = serve(script)

    async def work() -> list[Any]:
        async with on_streams(*WORDS) as client:
            waiting = asyncio.create_task(client.call_tool("solve", {"problem": SUM}))
            assert await asyncio.to_thread(asked_once.wait, soon(30.0))
            with metalogue.open_log("sqlite:a.db") as log:
                (episode,) = log.episodes()
            out = {"episode": episode.id, "reason": "a slip"}
            twice = [await client.call_tool("cancel", out) for _ in range(2)]
            return [*twice, await waiting]

    try:
        first, again, solved = run(work)
    finally:
        let.set()
    assert first.structured_content["status"] == "cancelled"
    assert again.structured_content == first.structured_content, "twice is once"
    assert solved.is_error
    assert "cancelled" in solved.content[0].text
    assert len(endpoint.asked) == 1
    with metalogue.open_log("sqlite:a.db") as log:
        said = [r.event.reason for r in log.records() if isinstance(r.event, EpisodeAdopted)]
    assert said == ["a slip"]


def test_a_simulated_answer_says_so(folder: Path) -> None:
    async def work() -> Any:
        async with on_streams(*REHEARSAL) as client:
            return await client.call_tool("solve", {"problem": SUM})

    assert run(work).structured_content["simulated"] is True


def test_a_problem_whose_server_was_killed_goes_on_without_paying_twice(serve: Serve) -> None:
    """The first reply is on the log when the process dies; the next one asks for what is missing alone."""
    killed, let = threading.Event(), threading.Event()

    def script(asked: Asked) -> Answer:
        if len(endpoint.asked) > 1 and not killed.is_set():
            killed.set()
            let.wait(60)
        return knows(asked)

    endpoint = serve(script)
    given = {"name": "solve", "arguments": {"problem": SUM, "policy": "mc2"}}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asks: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": given},
    ]
    words = command("mcp", "--log", "a.db", *WORDS)
    with Popen(words, env=around(), stdin=PIPE, stdout=PIPE, stderr=PIPE) as server:
        assert server.stdin is not None
        server.stdin.writelines(
            json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in asks
        )
        server.stdin.flush()
        assert killed.wait(soon(30.0))
        server.kill()
    let.set()

    async def work() -> Any:
        async with on_streams(*WORDS) as client:
            return await client.call_tool("solve", given["arguments"])

    said = run(work).structured_content
    assert said["answer"] == "42"
    first = [each for each in endpoint.asked if each.body == endpoint.asked[0].body]
    assert len(first) == 1, "what was recorded is not asked for again"


# ── lessons ──────────────────────────────────────────────────────────────────────────────────


def test_lessons_are_found_by_likeness_with_what_became_of_them(folder: Path) -> None:
    copy_of(made(), folder / "a.db")
    used = [row for row in call("lessons", "list", "--json", "--log", "a.db").rows if row["used"]]
    words = ("effect", "lesson", used[0]["id"], "--limit", "2", *REHEARSAL[:2])
    probe = call(*words, "--json", "--log", "a.db").rows[0]
    with closing(SqliteLog(folder / "a.db")) as log:
        library = Library.read(log)
    (shelf,) = library.shelves.values()
    lessons = {item.id: item for item in shelf.memory.latest.items if item.kind == "lesson"}
    wanted = used[0]["id"]

    async def work() -> tuple[Any, Any]:
        async with on_streams(*REHEARSAL) as client:
            query = {"query": lessons[wanted].text, "top": 50}
            every = await client.call_tool("search_lessons", query)
            few = await client.call_tool("search_lessons", query | {"top": 2})
            return every.structured_content["lessons"], few.structured_content["lessons"]

    every, few = run(work)
    assert len({each["id"] for each in every} & set(lessons)) == min(50, len(lessons))
    assert few == every[:2]
    assert lessons[every[0]["id"]].text == lessons[wanted].text, "a text is most like itself"
    likeness = [each["similarity"] for each in every]
    assert likeness == sorted(likeness, reverse=True)
    assert {each["by"] for each in every} == {shelf.memory.latest.embedder}
    listed = {row["id"]: row for row in call("lessons", "list", "--json", "--log", "a.db").rows}
    for each in every:
        row = listed[each["id"]]
        assert each["used"] == row["used"]
        assert each["right"] == row["outcomes"].get("right", 0)
        assert each["wrong"] == row["outcomes"].get("wrong", 0)
        measured = each["effect"]["points"]
        assert (measured is None) == (each["effect"]["opportunities"] == 0)
        if each["id"] == used[0]["id"]:
            (found,) = each["probed"]
            assert (found["points"], found["judged"]) == (probe["effect"], probe["judged"])
        else:
            assert each["probed"] == []
    assert any(each["effect"]["points"] is not None for each in every), "some were measured"
    assert used[0]["id"] in {each["id"] for each in every}


# ── what cannot begin ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--listen", "0.0.0.0:0"], 2, "anybody who reaches it"),
        (["--tokens", "t.yaml"], 2, "--tokens"),
        (["--allow-host", "here.example"], 2, "--allow-host"),
        (["--policy", "mc3"], 2, "no policy 'mc3'"),
        (["--listen", "nowhere"], 2, "is not HOST:PORT"),
    ],
)
def test_a_server_that_cannot_begin_says_why(
    serve: Serve, folder: Path, words: list[str], code: int, said: str
) -> None:
    serve()
    holders = {"a": {"sha256": "a" * 64}}
    (folder / "t.yaml").write_text(yaml.safe_dump({"holders": holders}))
    done = call("mcp", "--log", "a.db", "--backbone", "openai", *words)
    assert (done.code, said in done.err) == (code, True), done.err
    assert "Traceback" not in done.err


def test_without_its_extra_it_says_what_to_install(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()

    def missing(name: str) -> None:
        """No module is found."""

    monkeypatch.setattr("streams.interfaces.cli.observing.find_spec", missing)
    done = call("mcp", "--log", "a.db", "--backbone", "openai")
    assert (done.code, install("mcp") in done.err) == (SETUP, True), done.err
