"""What a produce holds of a large source: each text once, as the message that it becomes."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

from tests.streams.cli.calling import call

LINES, CHARS = 1_000, 10_000
SOURCE = LINES * CHARS


def test_a_source_is_held_once(folder: Path) -> None:
    """It was held three times: as lines, as texts that ids are compared by, and as messages."""
    with Path("in.jsonl").open("w") as file:
        for number in range(LINES):
            text = f"{number} ".ljust(CHARS, "x")
            file.write(json.dumps({"id": f"q{number}", "problem": text}) + "\n")
    assert call("produce", "in.jsonl", "--limit", "1", "--log", "b.db").code == 0  # imports
    tracemalloc.start()
    try:
        done = call("produce", "in.jsonl", "--policy", "cot", "--log", "a.db")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert done.out == f"produced {LINES} known 0 refused 0\n"
    assert peak < 1.6 * SOURCE
