from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import (
    BATCH,
    BRIEF,
    CHEAP,
    PROBLEMS,
    Counted,
    End,
    end_of,
    produced,
    quick,
    worked,
)


@dataclass(frozen=True)
class Calm:
    """A series that nothing disturbed: its log before and after, what it came to, what it asked."""

    before: Path
    after: Path
    end: End
    asked: Counted


def undisturbed(folder: Path, problems: int, batch: int) -> Calm:
    """Such a series, worked on to its end at once."""
    before, after = folder / "before.db", folder / "after.db"
    values = {**CHEAP, "batch_size": batch}
    for path in (before, after):
        made = produced(path, f"game24:901-{900 + problems}", values=values)
        assert made.produced == problems
    log = quick(SqliteLog(after))
    outcome, world = worked(log)
    assert not outcome.held
    assert not outcome.parked
    end = end_of(log)
    log.close()
    return Calm(before, after, end, world)


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    """Long enough to be killed often."""
    return undisturbed(tmp_path_factory.mktemp("calm"), PROBLEMS, BATCH)


@pytest.fixture(scope="session")
def brief(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    """Short enough to be stopped after every one of its records; it learns as often."""
    return undisturbed(tmp_path_factory.mktemp("brief"), *BRIEF)
