"""A judge is asked where words decide; its verdict stands beside the outcomes and never becomes one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.identity import canonical
from streams.engine.policies import SHELF
from tests.endpoint import Answer, Asked, Endpoint, serving, whole
from tests.streams.cli.calling import Called, call

PROBLEMS = {
    "sky": ("Why is the sky blue?", "short waves are scattered more", "SAME"),
    "sea": ("Why is the sea salt?", "rivers wash minerals into it", "DIFFERENT"),
    "sun": ("Why is the sun hot?", "hydrogen is fused into helium", "UNCLEAR"),
    "sum": ("What is 1 + 2?", "3", ""),
}
"""Problem, reference, and what the judge says of the answer to it."""
ANSWERS = {"sum": "3"}
LOG = ("--log", "a.db")


def replies(asked: Asked) -> Answer:
    prompt = str(asked.body["messages"])
    name = next(name for name, (problem, *_) in PROBLEMS.items() if problem in prompt)
    if "Verdict" in prompt:
        return whole(f"Comparison: one says more\nVerdict: {PROBLEMS[name][2]}")
    return whole(f"Final_answer: \\boxed{{{ANSWERS.get(name, 'for reasons of physics')}}}")


@pytest.fixture
def endpoint(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with serving(replies) as endpoint:
        for name, value in endpoint.env().items():
            monkeypatch.setenv(name, value)
        yield endpoint


def worked(*more: str) -> Called:
    """A log of four answers, three of which no grader can decide."""
    lines = [
        canonical({"id": name, "problem": problem, "answer": reference})
        for name, (problem, reference, _) in PROBLEMS.items()
    ]
    Path("in.jsonl").write_bytes(b"\n".join(lines))
    assert call("produce", "in.jsonl", "--policy", "io", *LOG).code == 0
    words = ("--backbone", "openai:check", "--until-idle", "--no-tables", *LOG)
    return call("worker", *words, *more)


def figures(*more: str) -> dict[str, Any]:
    called = call("analyse", "--json", *LOG, *more)
    assert called.code == 0, called.err
    (found,) = called.json["runs"].values()
    return dict(found)


def test_what_no_grader_decides_is_put_to_a_judge(endpoint: Endpoint) -> None:
    assert worked().code == 0
    before = figures()
    asked = len(endpoint.asked)
    assert (before["graded"], before["undecided"], before["coverage"]) == (1, 3, 0.25)
    assert "judge" not in before
    after = figures("--judge", "openai:check")
    assert len(endpoint.asked) == asked + 3, "one question for each that is undecided"
    judged = after.pop("judge")
    assert {name: judged[name] for name in ("right", "wrong", "unclear")} == {
        "right": 1,
        "wrong": 1,
        "unclear": 1,
    }
    assert (judged["accuracy"], judged["coverage"]) == (pytest.approx(2 / 3), 0.75)
    assert judged["by"] == ["answer_judge@1, openai:check"]
    assert after == before, "a verdict is no outcome"


def test_it_is_on_record_and_costs_nothing_again(endpoint: Endpoint) -> None:
    worked()
    first = figures("--judge", "openai:check")["judge"]
    asked = len(endpoint.asked)
    assert figures()["judge"] == first
    called = call("analyse", "--judge", "openai:check", *LOG)
    assert len(endpoint.asked) == asked
    assert "judged 3 undecided answers: right 1, wrong 1, unclear 1; 0 calls" in called.err
    assert "| with a judge | coverage with it |" in called.out
    assert "66.7 % | 75.0 % |" in called.out
    verified = call("verify", *LOG)
    assert verified.code == 0, verified.out + verified.err
    assert "not verifiable" not in verified.out


def test_an_unreadable_verdict_is_unknown(endpoint: Endpoint) -> None:
    worked()

    def mute(asked: Asked) -> Answer:
        return whole("I would say so.")

    endpoint.script = mute
    judged = figures("--judge", "openai:check")["judge"]
    assert (judged["right"], judged["wrong"], judged["unclear"]) == (0, 0, 3)
    assert (judged["accuracy"], judged["coverage"]) == (1.0, 0.25)
    unread = call("log", "unread", *LOG).out
    assert "3  answer_judge asked again" in unread
    assert "3  answer_judge refused" in unread


def test_another_reference_is_another_question(endpoint: Endpoint) -> None:
    worked()
    figures("--judge", "openai:check")
    newer = {"domain": "default", "problem_id": "sky", "reference": "light is scattered", "by": "t"}
    assert call("feedback", "-", *LOG, given=json.dumps(newer).encode()).code == 0
    worked()
    judged = figures()["judge"]
    assert (judged["right"], judged["wrong"], judged["unclear"]) == (0, 1, 1)
    asked = len(endpoint.asked)
    assert figures("--judge", "openai:check")["judge"]["right"] == 1
    assert len(endpoint.asked) == asked + 1
    assert "light is scattered" in str(endpoint.asked[-1].body["messages"])


def test_a_worker_asks_it_when_its_work_is_done(endpoint: Endpoint) -> None:
    called = worked("--judge", "openai:check")
    assert called.code == 0
    assert "judged 3 undecided answers: right 1, wrong 1, unclear 1; 3 calls" in called.err
    assert "expected: judge, 3 answers: 3 to 6 calls" in called.err
    assert figures()["judge"]["coverage"] == 0.75
    words = ("worker", "--backbone", "rehearsal", "--judge", "rehearsal", *LOG)
    refused = call(*words)
    assert refused.code == 2
    assert "a judge is asked when the work is done" in refused.err


def test_bench_prints_its_columns(endpoint: Endpoint) -> None:
    lines = b"\n".join(
        canonical({"id": name, "problem": problem, "answer": reference})
        for name, (problem, reference, _) in PROBLEMS.items()
    )
    Path("own.jsonl").write_bytes(lines)
    recipe = """
recipe: own
about: answers in words
claims: []
paper: none
differs: everything
seeds: [0]
data: {own: {source: own.jsonl}}
runs: {io: {policy: io}}
tables: []
"""
    Path("own.yaml").write_text(recipe)
    words = ("--backbone", "openai:check", "--judge", "openai:check", "--data", "own=own.jsonl")
    called = call("bench", "run", "own.yaml", *words, "--json")
    assert called.code == 0, called.err
    (measured,) = called.json["measured"]
    assert measured["judge"]["coverage"] == 0.75
    assert "--judge openai:check" in called.json["provenance"]["command"]
    page = Path("bench/own.md").read_text()
    assert "| with a judge | coverage with it |" in page
    assert "a judge of undecided answers: right 1, wrong 1, unclear 1" in page


def test_no_outcome_of_a_judge_is_learned_from(endpoint: Endpoint) -> None:
    worked()
    before = call("state", "hash", *LOG).out
    figures("--judge", "openai:check")
    assert call("state", "hash", *LOG).out == before
    with closing(sqlite3.connect("a.db")) as db:
        (graded,) = db.execute(
            "select count(*) from records where kind = 'graded' and json_extract(body, '$.grader') like '%judge%'"
        ).fetchone()
    assert graded == 0


def test_nobody_chooses_it_as_a_policy() -> None:
    assert "answer_judge" not in {policy.name for policy in SHELF.all()}
    assert SHELF.find("answer_judge").reference == "answer_judge@1"


def test_a_person_lets_verdicts_count_by_grading_anew(endpoint: Endpoint) -> None:
    """The grade names judge, model and side run; only what the judge was asked costs calls, and nothing twice."""
    worked()
    asked = len(endpoint.asked)
    done = call("regrade", *LOG, "--judge", "openai:check", "--json")
    assert done.code == 0, done.err
    said = done.json
    assert (said["judge_calls"], said["reasoning_calls"]) == (3, 0)
    assert len(endpoint.asked) == asked + 3
    assert (said["new"], said["outcomes"]) == (2, {"right": 1, "wrong": 1})
    after = figures()
    assert (after["graded"], after["undecided"]) == (3, 1)
    [right] = [each for each in _judged() if each["outcome"] == "right"]
    assert (right["grader"], right["source"]) == ("answer_judge@1", "openai:check")
    assert right["detail"].startswith("said in q/")
    again = call("regrade", *LOG, "--judge", "openai:check", "--json").json
    assert (again["new"], again["judge_calls"], len(endpoint.asked)) == (0, 0, asked + 3)
    verified = call("verify", *LOG)
    assert verified.code == 0, verified.out + verified.err


def _judged() -> list[dict[str, Any]]:
    query = "select body from records where kind = 'graded' and body like '%regrade%'"
    with closing(sqlite3.connect("a.db")) as db:
        return [json.loads(body) for (body,) in db.execute(query)]


@pytest.mark.parametrize("change", ["'$.outcome', 'wrong'", "'$.source', 'm'", "'$.detail', ''"])
def test_a_grade_that_no_verdict_makes_is_found(endpoint: Endpoint, change: str) -> None:
    worked()
    assert call("regrade", *LOG, "--judge", "openai:check").code == 0
    with closing(sqlite3.connect("a.db")) as db:
        where = "kind = 'graded' and body like '%regrade%' and body like '%\"right\"%'"
        db.execute(f"update records set body = json_set(body, {change}) where {where}")
        db.commit()
    assert call("verify", *LOG).code == 3


def test_evidence_holds_the_run_of_a_judge_that_graded(endpoint: Endpoint, folder: Path) -> None:
    worked()
    regraded = call("regrade", "--judge", "openai:check", *LOG, "--json")
    assert regraded.code == 0, regraded.err
    changed = [each["episode"] for each in regraded.json["changed"]]
    assert changed
    out = folder / "evidence.jsonl"
    made = call("export", "evidence", changed[0], "--out", out, *LOG)
    assert made.code == 0, made.err
    assert '"answer_judge"' in out.read_text(encoding="utf-8")
    verified = call("verify", out)
    assert verified.code == 0, verified.out + verified.err
    assert "a judge's side run is in another part" not in verified.out + verified.err
