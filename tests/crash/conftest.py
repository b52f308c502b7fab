from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import Counted, End, end_of, produced, quick, worked


@dataclass(frozen=True)
class Calm:
    """A series that nothing disturbed: its log before and after, what it came to, what it asked."""

    before: Path
    after: Path
    end: End
    asked: Counted


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    folder = tmp_path_factory.mktemp("calm")
    before, after = folder / "before.db", folder / "after.db"
    for path in (before, after):
        assert produced(path).produced == 30
    log = quick(SqliteLog(after))
    outcome, world = worked(log)
    assert not outcome.held
    assert not outcome.parked
    end = end_of(log)
    log.close()
    return Calm(before, after, end, world)
