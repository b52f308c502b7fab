"""The review queue on the command line: what waits for a person, and what becomes of his word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.events.episode import EpisodeClosed
from schemas.problem import Feedback
from schemas.usage import Usage
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call, copied, work

PROBLEMS = {"sum-1": "What is 7 * 8?", "sum-2": "What is 8 * 9?", "sum-6": "What is 12 * 13?"}
"""The rehearsal's votes on the first and the last settle nothing."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of three answers, of which two are disputed."""
    folder = tmp_path_factory.mktemp("made")
    rows = [{"id": name, "problem": problem} for name, problem in PROBLEMS.items()]
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "made.db"
    call("produce", folder / "q.jsonl", "--policy", "self_consistency", "--log", path)
    work(path)
    return path


@pytest.fixture
def log(made: Path, folder: Path) -> Path:
    """A copy of it."""
    return copied(made, folder / "a.db")


def queued(log: Path, *more: object) -> list[str]:
    rows = call("review", "list", "--log", log, "--json", *more).rows
    return [each["problem_id"] for each in rows]


def said(log: Path) -> list[Feedback]:
    opened = SqliteLog(log)
    found = [Feedback.model_validate_json(value) for *_, value in opened.messages("feedback")]
    opened.close()
    return found


def test_each_answer_comes_with_its_reasons_and_the_newest_first(log: Path) -> None:
    rows = call("review", "list", "--log", log, "--json").rows
    assert [(each["problem_id"], each["reasons"]) for each in rows] == [
        ("sum-6", ["disputed", "unsure"]),
        ("sum-1", ["disputed", "unsure"]),
    ]
    assert (rows[0]["answer"], rows[0]["votes"], rows[0]["of"]) == ("319", 1, 5)
    told = call("review", "list", "--log", log)
    assert "disputed: 1 of 5 votes for this answer" in told.out
    assert f"metalogue review show sum-6 --log {log}" in told.err


def test_thresholds_say_what_is_worth_a_look(log: Path) -> None:
    assert queued(log, "--below", 0.1, "--votes", 0.1) == []
    assert queued(log, "--below", 1) == ["sum-6", "sum-1"]
    assert queued(log, "--votes", 1) == ["sum-6", "sum-2", "sum-1"]
    assert queued(log, "--limit", 1) == ["sum-6"]
    assert call("review", "list", "--log", log, "--below", 2).code == 2


def test_a_verdict_takes_an_answer_off_at_once_and_becomes_a_label(log: Path) -> None:
    done = call("review", "answer", "sum-6", "--wrong", "--by", "Ada", "--log", log)
    assert done.out == "sum-6: recorded, by Ada; 1 answer left\n"
    assert queued(log) == ["sum-1"], "whether a worker has read it or not"
    again = call("review", "answer", "sum-6", "--wrong", "--by", "Ada", "--log", log, "--json")
    assert (again.json["new"], len(said(log))) == (False, 1)
    work(log)
    assert "wrong by Ada" in call("show", "sum-6", "--log", log).out
    assert call("verify", "--log", log).code == 0


def test_the_right_answer_grades_the_one_that_was_given(log: Path) -> None:
    call("review", "answer", "sum-1", "--reference", "56", "--by", "Ada", "--log", log)
    work(log)
    graded = [
        each["event"]
        for each in call("log", "cat", "--topic", "learning", "--log", log).rows
        if each["kind"] == "graded"
    ]
    assert [(each["outcome"], each["by"], each["source"]) for each in graded] == [
        ("wrong", "feedback", "Ada")
    ]
    assert queued(log) == ["sum-6"]


def test_who_cannot_judge_passes_and_nothing_is_graded(log: Path) -> None:
    before = call("log", "digest", "--log", log).out
    assert call("review", "answer", "sum-1", "--pass", "--by", "Ada", "--log", log).code == 0
    work(log)
    assert queued(log) == ["sum-6"]
    assert [each.passed for each in said(log)] == [True]
    assert call("log", "digest", "--log", log).out == before, "it is no grade"
    assert "not graded" in call("show", "sum-1", "--log", log).out
    assert call("verify", "--log", log).code == 0


def test_a_label_that_settles_it_needs_no_person(log: Path) -> None:
    line = json.dumps({"domain": "default", "problem_id": "sum-1", "reference": "56"})
    assert call("feedback", "--log", log, given=line.encode()).code == 0
    assert queued(log) == ["sum-6", "sum-1"], "nobody has compared them yet"
    work(log)
    assert queued(log) == ["sum-6"]


def test_an_episode_without_an_answer_waits_for_the_right_one(log: Path) -> None:
    abstained(log, "sum-2")
    assert queued(log) == ["sum-6", "sum-2", "sum-1"]
    assert "no answer: it abstained" in call("review", "show", "sum-2", "--log", log).out
    wrong = call("review", "answer", "sum-2", "--wrong", "--log", log)
    assert (wrong.code, "no answer that could be right or wrong" in wrong.err) == (2, True)
    assert call("review", "answer", "sum-2", "--reference", "72", "--log", log).code == 0
    assert queued(log) == ["sum-6", "sum-1"]


def abstained(log: Path, problem: str) -> None:
    """Let an episode have abstained."""
    closed = EpisodeClosed(status="abstained", ended_by="abstained", usage=Usage())
    opened = SqliteLog(log)
    with opened.transaction():
        opened.db.execute(
            "update records set body = ? where address = 'closed' and episode like ?",
            (closed.to_json().decode(), f"p/default/{problem}/%"),
        )
    opened.close()


def test_a_forgotten_problem_waits_for_nobody(log: Path) -> None:
    words = ("--problem", "sum-1", "--yes", "--backbone", "rehearsal:seed=7")
    assert call("forget", *words, "--log", log).code == 0
    assert queued(log) == ["sum-6"]


def test_wrong_words_are_named(log: Path) -> None:
    for words, what in (
        ((), "say one of --right, --wrong, --score, --reference, --pass"),
        (("--right", "--wrong"), "say one of --right, --wrong"),
        (("--right", "--pass"), "say one of"),
    ):
        refused = call("review", "answer", "sum-1", *words, "--log", log)
        assert (refused.code, what in refused.err) == (2, True), words
    assert call("review", "answer", "nobody", "--right", "--log", log).code == 2
    assert said(log) == []


@pytest.mark.parametrize("reference", ["", " "])
def test_a_blank_is_no_right_answer(log: Path, reference: str) -> None:
    """It was recorded as the right answer."""
    before = queued(log)
    done = call("review", "answer", before[0], "--reference", reference, "--log", log)
    assert (done.code, done.err.startswith("--reference: is blank")) == (2, True)
    assert queued(log) == before


def test_one_in_full_says_how_to_judge_it(log: Path) -> None:
    page = call("review", "show", "--log", log).out
    assert "What is 12 * 13?" in page
    assert f"--right --log {log}" in page
    for row in call("review", "list", "--log", log, "--json").rows:
        call("review", "answer", row["episode"], "--pass", "--log", log)
    assert call("review", "show", "--log", log).code == 2
    assert call("review", "list", "--log", log).out == "nobody is waited for\n"


def test_who_waits_stands_among_those_that_have_ended_by_when_they_came(log: Path) -> None:
    rows = [{"id": name, "problem": problem} for name, problem in PROBLEMS.items()]
    given = "".join(json.dumps(row) + "\n" for row in rows).encode()
    call("produce", "-", "--policy", "reviewed", "--log", log, given=given)
    assert call("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--log", log).code == 1
    rows = call("review", "list", "--log", log, "--json").rows
    assert [(each["problem_id"], each["status"]) for each in rows] == [
        ("sum-6", "asks a person"),
        ("sum-1", "asks a person"),
        ("sum-6", "answered"),
        ("sum-1", "answered"),
    ]
    assert rows[0]["question"].endswith("If it is not, which one is?")
    assert "asks a person" in call("show", rows[0]["episode"], "--log", log).out
    assert call("review", "answer", rows[0]["episode"], "--score", 0.5, "--log", log).code == 2
    assert queued(log) == ["sum-6", "sum-1", "sum-6", "sum-1"]


def test_a_word_may_be_another_until_a_worker_has_taken_it_up(folder: Path) -> None:
    path = folder / "waiting.db"
    rows = [{"id": name, "problem": problem} for name, problem in PROBLEMS.items()]
    given = "".join(json.dumps(row) + "\n" for row in rows).encode()
    call("produce", "-", "--policy", "reviewed", "--log", path, given=given)
    works = ("worker", "--backbone", "rehearsal:seed=7", "--until-idle", "--log", path)
    assert call(*works).code == 1, "some wait for a person"
    first, *_ = queued(path)
    where = ("--by", "Ada", "--log", path)
    for word in (("--wrong",), ("--reference", "56"), ("--reference", "57")):
        done = call("review", "answer", first, *word, *where)
        assert done.code == 0, done.err
        assert first not in queued(path)
    call(*works)
    answers = {
        row["problem_id"]: row["answer"] for row in call("consume", "--json", "--log", path).rows
    }
    assert answers[first] == "57", "the newest word"
    late = call("review", "answer", first, "--reference", "58", *where)
    assert late.code == 0, "it is a judgement of an answer now"
