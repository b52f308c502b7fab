"""What was forgotten says so afterwards, wherever it is looked at."""

from __future__ import annotations

from pathlib import Path

from tests.streams.cli.calling import call, work


def test_show_says_who_had_it_forgotten_and_why(folder: Path) -> None:
    log = folder / "a.db"
    rows = b'{"id": "q1", "problem": "What is 1 + 1?"}\n{"id": "q2", "problem": "What is 1 + 5?"}\n'
    (folder / "q.jsonl").write_bytes(rows)
    call("produce", folder / "q.jsonl", "--policy", "cot", "--log", log)
    work(log)
    assert call("show", "q1", "--json", "--log", log).json["forgotten"] is None
    way = ("--by", "ann", "--reason", "asked to", "--yes", "--backbone", "rehearsal")
    done = call("forget", "--problem", "q1", *way, "--log", log)
    assert done.code == 0
    assert "influenced    no later episode" in done.out
    assert " ; " not in done.out
    assert "forgotten by ann: asked to; no later memory" in call("show", "q1", "--log", log).out
    told = call("show", "q1", "--json", "--log", log).json["forgotten"]
    assert (told["by"], told["reason"], told["problem_id"]) == ("ann", "asked to", "q1")
    assert "forgotten" not in call("show", "q2", "--log", log).out
