"""What a door tells its supervisor and Prometheus."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
import time
from pathlib import Path

import httpx2 as httpx
import metalogue
import pytest

from streams.interfaces.door import client
from streams.interfaces.door.mailbox import Mailbox
from streams.interfaces.door.pages import ELSE, route_of
from streams.telemetry.metrics import OF_DOOR, OF_WORKER
from tests.memory_kafka.fixture import in_memory
from tests.ports import free_port
from tests.streams.cli.calling import call, command, environment, log_of, process
from tests.streams.dashboard.serving import PATIENCE_S
from tests.streams.door.conftest import keyless
from tests.streams.telemetry.test_metrics import fetched, parsed, status
from tests.surroundings import Serve


def until_ready(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while fetched(port, "/readyz") != "ok\n":
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    "words", [("serve", "--backbone", "rehearsal"), ("dashboard",)], ids=["serve", "dashboard"]
)
def test_a_closed_terminal_drains_what_serves_as_sigterm_does(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    log_of(tmp_path / "a.db")
    with process(*words, "--log", "a.db", "--listen", "127.0.0.1:0", cwd=tmp_path) as server:
        assert server.stderr is not None
        assert any(line.startswith(b"ready: ") for line in server.stderr)
        server.send_signal(signal.SIGHUP)
        assert server.wait(PATIENCE_S) == 0


def test_what_nohup_started_serves_on_when_its_terminal_is_closed(tmp_path: Path) -> None:
    log_of(tmp_path / "a.db")
    port = free_port()
    words = command("dashboard", "--log", "a.db", "--listen", f"127.0.0.1:{port}")
    with subprocess.Popen(
        ["nohup", *words],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stderr is not None
        assert any(line.startswith(b"ready: ") for line in server.stderr)
        server.send_signal(signal.SIGHUP)
        assert fetched(port, "/livez") == "ok\n"
        server.terminate()
        assert server.wait(PATIENCE_S) == 0


def test_a_door_is_ready_until_its_log_is_gone_and_takes_nothing_then(tmp_path: Path) -> None:
    """What was put on a file that nobody finds again would be lost."""
    door, pages, path = free_port(), free_port(), tmp_path / "a.db"
    log = ("--log", path, "--backbone", "rehearsal:seed=7")
    listens = ("--listen", f"127.0.0.1:{door}", "--metrics", f"127.0.0.1:{pages}")
    problem = {"id": "q1", "problem": "What is 17 + 25?", "policy": "cot"}
    with process("serve", *log, *listens, cwd=tmp_path) as server:
        until_ready(pages)
        assert fetched(pages, "/livez") == "ok\n"
        with httpx.Client(base_url=f"http://127.0.0.1:{door}/v1", timeout=PATIENCE_S) as asked:
            put = asked.post("/problems", json=problem).json()
            answer = asked.get(f"/answers/{put['episode']}", params={"wait_s": 60})
            assert answer.json()["status"] == "answered"
            assert asked.get("/wp-login.php").status_code == 404
            path.rename(tmp_path / "elsewhere.db")
            refused = asked.post("/problems", json=problem | {"id": "q2"})
            judged = asked.post(f"/feedback/{put['episode']}", json={"verdict": True})
            gone = status(pages, "/readyz")
            (tmp_path / "elsewhere.db").rename(path)
            until_ready(pages)
            assert asked.post("/problems", json=problem | {"id": "q2"}).status_code in (200, 202)
        found = parsed(status(pages, "/metrics")[1])
        server.terminate()
        assert server.wait(PATIENCE_S) == 0
    assert gone == (503, f"{path}: the log was moved away or replaced\n")
    for each in (refused, judged):
        assert (each.status_code, each.json()["error"]["code"]) == (503, "log.gone")
    counted = {
        tuple(said for _, said in labels): value
        for (name, labels), value in found.items()
        if name == "metalogue_door_requests_total"
    }
    assert counted.pop(("problems", "202"), 0) + counted.pop(("problems", "200"), 0) == 2
    assert counted == {
        ("answers", "200"): 1,
        ("else", "404"): 1,
        ("problems", "503"): 1,
        ("feedback", "503"): 1,
    }
    assert found["metalogue_door_request_seconds_count", (("route", "answers"),)] == 1
    assert found["metalogue_door_requests_open", ()] == 0
    assert {name for name, _ in found} >= {*OF_WORKER}, "it works on its log itself"
    assert call("log", "stats", "--log", path, "--json").json["problems"] == 2


def test_a_client_on_kafka_says_why_it_cannot_work(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    with in_memory() as (place, _):
        asyncio.run(_on_kafka(f"kafka://{place.servers}/t", monkeypatch))


async def _on_kafka(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SILENT_S", 0.2)
    hold, held = threading.Event(), threading.Event()

    def waits(self: Mailbox) -> None:
        held.set()
        hold.wait(PATIENCE_S)

    def fails(self: Mailbox) -> None:
        raise metalogue.Error("nobody is there", code="log.unreachable", where="kafka://one:1")

    async with metalogue.Client(url) as asked:
        assert await asked.trouble() is None
        assert await asked.metrics() == "", "its workers have their own"
        monkeypatch.setattr(Mailbox, "trouble", waits)
        assert await asked.trouble() == f"{url}: no answer for 0 s"
        assert held.is_set()
        hold.set()
        monkeypatch.setattr(Mailbox, "trouble", fails)
        assert await asked.trouble() == "kafka://one:1: nobody is there [log.unreachable]"
    closed = await asked.trouble()
    assert closed is not None
    assert closed.endswith("[client.closed]")


def test_an_engine_whose_worker_ended_says_so(serve: Serve) -> None:
    serve(keyless)
    asyncio.run(_ended())


async def _ended() -> None:
    async with metalogue.Engine("sqlite:a.db", backbone="openai") as engine:
        assert await engine.trouble() is None
        assert "metalogue_tasks_running 0" in await engine.metrics()
        with pytest.raises(metalogue.Error, match="wrong key"):
            await (await engine.submit("What is 17 + 25?")).answer()
        assert "wrong key" in str(await engine.trouble())
    with pytest.raises(metalogue.Error, match="not open"):
        await engine.metrics()


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/chat/completions", "chat"),
        ("/v1/answers/p/d/x/r", "answers"),
        ("/v1/models", "models"),
        ("/mcp", "mcp"),
        ("/v1/", ELSE),
        ("/", ELSE),
        ("/v2/models/x", ELSE),
        ("/v1/no-such-thing", ELSE),
    ],
)
def test_requests_are_counted_under_few_names(path: str, route: str) -> None:
    """Nobody who knocks makes a series that Prometheus keeps for good."""
    assert route_of(path) == route


def test_each_metric_of_a_door_is_defined_and_said(tmp_path: Path) -> None:
    assert all(name.startswith("metalogue_door_") for name in OF_DOOR)
    done = call("serve", "--log", "a.db", "--backbone", "rehearsal", "--metrics", "nonsense")
    assert done.code == 2
    assert "--metrics" in done.err
    done = call("mcp", "--log", "a.db", "--backbone", "rehearsal", "--metrics", "127.0.0.1:1")
    assert done.code == 2
    assert "standard input" in done.err
