"""A copy of a log on Kafka is read and verified; nobody works on it, for its own workers would never hear of that."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import metalogue
import pytest

from schemas.events.episode import PartitionClaimed
from streams.runtime.embedded.log import INSERT, SqliteLog, now_ms
from tests.streams.cli.calling import call


@pytest.fixture
def copy(folder: Path) -> Path:
    """A log that a worker on Kafka has claimed."""
    path = folder / "copy.db"
    assert call("produce", "game24:901-902", "--policy", "cot", "--log", path).code == 0
    with closing(SqliteLog(path)) as log:
        event = PartitionClaimed(worker="worker:7")
        row = ("events", 3, 0, "w/3", "claimed.worker:7.1795740659584", event.kind)
        log.db.execute(INSERT, (*row, now_ms(), event.to_json().decode()))
    return path


@pytest.mark.parametrize("command", [("worker", "--until-idle"), ("solve", "1 + 1?")])
def test_nobody_works_on_it(copy: Path, command: tuple[str, ...]) -> None:
    before = copy.stat().st_mtime_ns
    done = call(*command, "--backbone", "rehearsal", "--log", copy)
    assert done.code == 2
    assert "is a copy of a log on Kafka, and is not worked on [log.copy, exit 2]" in done.err
    with pytest.raises(metalogue.Error, match="a copy of a log on Kafka"):
        metalogue.solve("1 + 1?", backbone="rehearsal", log=f"sqlite:{copy}")
    assert copy.stat().st_mtime_ns == before


def test_it_is_read(copy: Path) -> None:
    for command in ("log stats", "log cat"):
        assert call(*command.split(), "--log", copy).code == 0
