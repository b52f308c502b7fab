from __future__ import annotations

from pathlib import Path

import pytest

from tests.streams.cli.calling import call, copied, work


@pytest.fixture(scope="session")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log on which twenty problems were worked: two batches learned, one dead letter. Only read it."""
    folder = tmp_path_factory.mktemp("worked")
    path, bad = folder / "a.db", folder / "bad.jsonl"
    bad.write_text('{"id": "x"\n', encoding="utf-8")
    assert call("produce", "game24:901-920", "--policy", "mc2", "--log", path).code == 0
    assert call("produce", bad, "--log", path).code == 1
    work(path)
    return path


@pytest.fixture(scope="session")
def forked(worked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same log with a fork that asked nobody: all behind its place still held. Only read it."""
    path = copied(worked, tmp_path_factory.mktemp("forked") / "a.db")
    fork = ("fork", "n905", "--at", "2", "--set", "max_rounds=9", "--backbone", "rehearsal:seed=7")
    made = call(*fork, "--log", path, "--json")
    assert made.code == 0, made.err
    assert made.json["made_calls"] == 0 < made.json["reused_calls"]
    return path
