"""A worker that is really killed loses no episode that waits for a person."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from streams.runtime.embedded.log import SqliteLog
from streams.views.states import ASKING
from tests.crash.processes import kill, until
from tests.streams.cli.calling import call, process

WORK = ("worker", "--backbone", "rehearsal:seed=7", "--no-tables")
PROBLEMS = {"sum-1": "What is 7 * 8?", "sum-6": "What is 12 * 13?"}
"""The rehearsal's votes on both settle nothing."""


def test_a_killed_worker_loses_no_waiting_review_and_the_next_goes_on_when_it_is_answered(
    tmp_path: Path,
) -> None:
    path, source = tmp_path / "a.db", tmp_path / "q.jsonl"
    rows = [{"id": name, "problem": problem} for name, problem in PROBLEMS.items()]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert call("produce", source, "--policy", "reviewed", "--log", path).code == 0
    with closing(SqliteLog(path)) as log:

        def counted(kind: str) -> int:
            query = "select count(*) from records where kind = ?"
            return int(log.db.execute(query, (kind,)).fetchone()[0])

        for _ in range(2):  # a second life puts nothing a second time
            worker = process(*WORK, "--log", path, cwd=tmp_path)
            assert until(lambda: counted("review.asked") == 2, worker)
            assert kill(worker)
        assert waiting(path) == ["sum-1", "sum-6"]
        assert "2 questions to people" in call("doctor", "--log", path).out
        with process(*WORK, "--log", path, cwd=tmp_path) as worker:
            words = ("review", "answer", "sum-1", "--reference", "56", "--by", "Ada")
            assert call(*words, "--log", path).code == 0
            assert until(lambda: counted("episode.closed") == 1, worker), "while it runs"
            assert waiting(path) == ["sum-6"]
            assert kill(worker)
        assert call("review", "answer", "sum-6", "--right", "--log", path).code == 0
        ended = call(*WORK, "--until-idle", "--log", path)
        assert ended.code == 0, ended.err
        assert counted("episode.closed") == 2
        assert counted("completed") == 10, "nothing was asked of the model again"
    answers = {each["problem_id"]: each for each in call("consume", "--json", "--log", path).rows}
    assert (answers["sum-1"]["answer"], answers["sum-1"]["ended_by"]) == ("56", "reviewed")
    assert "right by" in call("show", "sum-6", "--log", path).out, "who approved it has labelled it"
    assert call("verify", "--log", path).code == 0


def waiting(path: Path) -> list[str]:
    rows = call("review", "list", "--log", path, "--json").rows
    return sorted(each["problem_id"] for each in rows if each["status"] == ASKING)
