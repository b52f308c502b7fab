from __future__ import annotations

from pathlib import Path

import pytest

from tests.streams.cli.calling import call, work


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
