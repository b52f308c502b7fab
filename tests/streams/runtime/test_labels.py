"""A worker reads all the feedback that is there, however much came at once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from schemas.problem import Feedback
from streams.runtime.embedded import labels
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call


def graded(path: Path) -> int:
    with closing(SqliteLog(path)) as log:
        return sum(1 for _ in log.records("learning", kinds=("graded",)))


@pytest.mark.parametrize("count", [6, 7, 8, 9])
def test_a_worker_that_ends_when_nothing_is_left_has_read_all_feedback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(labels, "BATCH", 4)
    path = tmp_path / "a.db"
    lines = [f'{{"id": "q{n}", "problem": "What is {n} + 1?"}}' for n in range(count)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    work = ("worker", "--backbone", "rehearsal", "--until-idle", "--no-tables", "--log", path)
    assert call("produce", tmp_path / "p.jsonl", "--policy", "cot", "--log", path).code == 0
    assert call(*work).code == 0
    with closing(SqliteLog(path)) as log:
        for n in range(count):
            said = Feedback(domain="default", problem_id=f"q{n}", verdict=True, by="ann")
            body = said.model_dump_json(exclude_none=True).encode()
            log.publish([("feedback", f"f{n}", {}, body)])
    assert call(*work).code == 0
    assert graded(path) == count
