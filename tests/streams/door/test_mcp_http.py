"""The MCP server over HTTP: who is let in, and what each holder of a token sees."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Generator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2 as httpx
import metalogue
import pytest
import yaml

from tests.streams.cli.calling import process
from tests.streams.cli.learned import copy_of, made
from tests.streams.door.test_engine import Gate
from tests.streams.door.test_mcp import REHEARSAL, SUM, WORDS, mcp, over_http, run
from tests.surroundings import Serve

pytestmark = [pytest.mark.slow, pytest.mark.live]


@contextmanager
def served(*words: str) -> Generator[str]:
    """The address of a server that is started over HTTP."""
    started = ("mcp", "--log", "a.db", "--listen", "127.0.0.1:0", *words)
    openai = {n: v for n, v in os.environ.items() if n.startswith("OPENAI_")}
    with process(*started, cwd=Path.cwd(), **openai) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline().decode()
            found = re.match(r"ready: (http://127\.0\.0\.1:\d+/mcp) ", said)
            assert found is not None, said
            yield found[1]
        finally:
            server.terminate()
            server.communicate(timeout=30)


@asynccontextmanager
async def over(url: str, token: str | None = None) -> AsyncGenerator[Any]:
    """A client over HTTP, with a token."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as http,
        mcp.Client(over_http.streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def test_over_http_anybody_of_this_machine_solves_with_progress(serve: Serve) -> None:
    serve()
    steps: list[str] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    async def work(url: str) -> Any:
        async with over(url) as client:
            given = {"problem": SUM, "policy": "mc2"}
            return await client.call_tool("solve", given, progress_callback=heard)

    with served(*WORDS) as url:
        said = run(lambda: work(url)).structured_content
    assert said["answer"] == "42"
    assert steps[:2] == ["admitted problem.admitted", "opened episode.opened"]


def test_a_token_has_its_own_episodes_limits_and_places(serve: Serve, tokens: str) -> None:
    endpoint = serve()

    async def work(url: str) -> None:
        given = {"problem": SUM, "policy": "mc2"}
        async with over(url, "a-token") as alice, over(url, "b-token") as bob:
            hers = (await alice.call_tool("solve", given)).structured_content
            paid = len(endpoint.asked)
            asked = {"episode": hers["episode"]}
            assert not (await alice.call_tool("explain", asked)).is_error
            none = await bob.call_tool("explain", asked)
            nobody = await bob.call_tool("explain", {"episode": "p/default/none/x"})
            assert none.is_error
            theirs = [each.content[0].text.partition(": ")[2] for each in (none, nobody)]
            assert theirs[0] == theirs[1], "another's is spoken of as one that there is not"
            his = (await bob.call_tool("solve", given | {"call_limit": 9})).structured_content
            assert his["episode"] != hers["episode"], "each has a memory of its own"
            assert his["usage"]["calls"] == len(endpoint.asked) - paid == 1
            calls: list[Awaitable[Any]] = [
                alice.call_tool("solve", given | {"seed": seed}) for seed in (1, 2)
            ]
            both: list[Any] = await asyncio.gather(*calls)
            refused = [each.content[0].text for each in both if each.is_error]
            assert len(refused) == 1
            assert "come again later [rate_limit_exceeded]" in refused[0]

    with served(*WORDS, "--tokens", tokens) as url:
        run(lambda: work(url))
    with metalogue.open_log("sqlite:a.db") as log:
        assert {each.problem.memory for each in log.episodes()} == {"alice", "bob"}


def test_who_waits_in_all_of_their_places_may_cancel(serve: Serve, tokens: str) -> None:
    """Over HTTP it needs none either: else nobody could end what holds the last one."""
    gate = Gate()
    serve(gate)

    async def work(url: str) -> tuple[Any, Any]:
        async with over(url, "a-token") as alice:
            solving = asyncio.create_task(alice.call_tool("solve", {"problem": SUM}))
            await asyncio.to_thread(gate.asked.wait, 60)
            with metalogue.open_log("sqlite:a.db") as log:
                (open_,) = log.episodes()
            cancelled = await alice.call_tool("cancel", {"episode": open_.id})
            gate.open.set()
            return cancelled, await solving

    with served(*WORDS, "--tokens", tokens) as url:
        cancelled, solved = run(lambda: work(url))
    assert not cancelled.is_error, cancelled.content[0].text
    assert solved.is_error


def test_a_token_finds_no_lessons_of_another_memory(folder: Path) -> None:
    copy_of(made(), folder / "a.db")
    holders = {name: {"sha256": sha256(name.encode()).hexdigest()} for name in ("main", "bob")}
    (folder / "t.yaml").write_text(yaml.safe_dump({"holders": holders}))

    async def found(url: str, token: str) -> int:
        async with over(url, token) as client:
            result = await client.call_tool("search_lessons", {"query": "24"})
            return len(result.structured_content["lessons"])

    with served(*REHEARSAL, "--tokens", "t.yaml") as url:
        assert run(lambda: found(url, "main")) == 5
        assert run(lambda: found(url, "bob")) == 0


def test_strangers_are_kept_out_before_the_protocol_begins(serve: Serve, tokens: str) -> None:
    serve()
    ask: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    usual = {"accept": "application/json, text/event-stream", "authorization": "Bearer a-token"}
    wrong: list[tuple[dict[str, str], int]] = [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer x"}, 401),
        ({"authorization": "Basic a-token"}, 401),
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"content-type": "text/plain"}, 415),
    ]
    with served(*WORDS, "--tokens", tokens) as url, httpx.Client(timeout=60) as http:
        assert http.post(url, json=ask, headers=usual).status_code == 200
        for headers, status in wrong:
            said = http.post(url, json=ask, headers=usual | headers)
            assert said.status_code == status, headers
        # A stream that nobody ends would take a connection of everybody's.
        for method in ("GET", "DELETE"):
            said = http.request(method, url, headers=usual)
            assert (said.status_code, said.headers["allow"]) == (405, "POST")
        big = b'{"jsonrpc": "' + b" " * (4 << 20) + b'"}'
        said = http.post(url, content=big, headers=usual | {"content-type": "application/json"})
        assert said.status_code == 413
