"""Writes the golden log of the version that is about to be released: ``python -m tests.golden.write NAME``.

A golden log is written once and never again: later versions must fold it to the same state.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.streams.cli.calling import call

HERE = Path(__file__).parent


def write(name: str) -> str:
    """The log, and beside it the hash of its state, which is returned."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "golden.db"
        batches = ("--set", "batch_size=4", "--set", "lesson_window=1")
        made = call("produce", "game24:901-908", "--policy", "mc2", *batches, "--log", path)
        assert made.code == 0, made.err
        words = ("--backbone", "rehearsal:seed=7", "--until-idle", "--settle", "--no-tables")
        done = call("worker", *words, "--log", path)
        assert done.code == 0, done.err
        (HERE / f"{name}.jsonl").write_bytes(call("log", "cat", "--log", path).raw)
        found = call("state", "hash", "--log", path).out
    (HERE / f"{name}.hash").write_text(found, encoding="ascii")
    return found


if __name__ == "__main__":
    print(write(sys.argv[1]))
