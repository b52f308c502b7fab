"""A log in which MC² has learned from two batches, made once for all tests that only look at it."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

from tests.streams.cli.calling import call

PROBLEMS = 20


@lru_cache(maxsize=1)
def made() -> Path:
    folder = mkdtemp(prefix="metalogue-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "learned.db"
    where = ("--log", f"sqlite:{path}")
    produced = call("produce", f"game24:901-{900 + PROBLEMS}", "--policy", "mc2", *where)
    assert produced.code == 0, produced.err
    worked = call("worker", *where, "--backbone", "rehearsal:seed=7", "--until-idle", "--settle")
    assert worked.code == 0, worked.err
    return path


def copy_of(path: Path, to: Path) -> Path:
    """A log that a test may spoil."""
    shutil.copy(path, to)
    return to


def change(path: Path, statement: str, *values: object) -> None:
    """Rewrite what a log holds, as no command could."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def rows(path: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query, values).fetchall()
