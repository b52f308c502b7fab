"""Programs before a log on Kafka: clients and an HTTP door hand on, workers elsewhere answer."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import metalogue
import pytest
from metalogue import Client

from tests.live.kafka_here import Cluster, eventually, missing
from tests.pace import soon
from tests.ports import free_port

WHY = missing()
pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(WHY is not None, reason=str(WHY)),
]
SIMULATED = ("--backbone", "rehearsal:seed=7,malformed=0,truncated=0,empty=0")
"""Its dice hang on the problem's id, which is another each time where none is given."""


def test_two_clients_and_a_door_are_answered_by_a_worker_elsewhere(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in cluster.environ().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    async def ask(who: str) -> list[str]:
        async with Client(cluster.url, memory=who) as client, asyncio.timeout(soon(120.0)):
            asked = [metalogue.Asked(f"What is {n} + 1?", f"{who}-{n}") for n in range(5)]
            return [answer.episode async for answer in client.map(asked)]

    async def both() -> tuple[list[str], list[str]]:
        return await asyncio.gather(ask("one"), ask("two"))

    worker = cluster.worker(*SIMULATED)
    first, second = asyncio.run(both())
    assert len({*first, *second}) == 10
    with ExitStack() as stack:
        door = stack.enter_context(Door(cluster))
        said = door.post("/v1/chat/completions", {"model": "cot", "messages": [SAYS]})
        episode = said["metalogue"]["episode"]
        assert said["metalogue"]["status"] == "answered"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(soon(60.0)) == 0
    assert cluster.stats()["repeated_completions"] == 0
    with metalogue.open_log(cluster.url) as log:
        assert {each.episode for each in log.answers()} == {*first, *second, episode}


def test_workers_answer_by_the_backbone_that_a_door_was_asked_for(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in cluster.environ().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    cluster.worker(*SIMULATED, "--offer", f"mini={SIMULATED[1].replace('seed=7', 'seed=3')}")
    with Door(cluster, "--policy", "cot", "--offer", "mini", "--offer", "gone") as door:
        episodes = {
            model: door.post("/v1/chat/completions", {"model": model, "messages": [SAYS]}, model)
            for model in ("cot", "cot@mini")
        }
        # What the door lists and no worker offers is refused, and told to who waits.
        with pytest.raises(HTTPError) as refused:
            door.post("/v1/chat/completions", {"model": "cot@gone", "messages": [SAYS]}, "gone")
        assert "settings.backbone: not offered here" in refused.value.read().decode()
    with metalogue.open_log(cluster.url) as log:
        for model, said in episodes.items():
            assert said["metalogue"]["status"] == "answered"
            (opened,) = log.records(said["metalogue"]["episode"], kinds=["episode.opened"])
            seed = "seed=3" if model == "cot@mini" else "seed=7"
            assert seed in getattr(opened.event, "backbones", "")
    wrong = cluster.call("serve", "--offer", "mini=openai:x", "--listen", "127.0.0.1:0")
    assert wrong.returncode == 2
    assert b"--offer mini" in wrong.stderr


SAYS = {"role": "user", "content": "What is 17 + 25?"}


class Door:
    """`metalogue serve` before the cluster, as a process of its own."""

    def __init__(self, cluster: Cluster, *more: str) -> None:
        self.cluster, self.more = cluster, more
        self.url = f"http://127.0.0.1:{free_port()}"

    def __enter__(self) -> Door:
        where = self.url.removeprefix("http://")
        words = self.cluster.command("serve", "--listen", where, *self.more)
        self.process = subprocess.Popen(words, env=self.cluster.environ())
        eventually(self._is_up)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(soon(60.0)) == 0

    def _is_up(self) -> bool:
        try:
            with urlopen(f"{self.url}/v1/models", timeout=5) as reply:
                return bool(reply.status == 200)
        except OSError:
            assert self.process.poll() is None
            return False

    def post(self, path: str, body: object, key: str = "k") -> dict[str, dict[str, str]]:
        """What it answers."""
        head = {"content-type": "application/json", "idempotency-key": key}
        asked = Request(self.url + path, json.dumps(body).encode(), head)
        with urlopen(asked, timeout=soon(60.0)) as reply:
            found: dict[str, dict[str, str]] = json.load(reply)
        return found
