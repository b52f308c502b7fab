"""Answers of a type from the source to the consumer: refused where nobody could answer so, graded by their form."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from streams.producing.typed import BadType, answer_type_of
from streams.runtime.embedded.log import SqliteLog
from tests.endpoint import Answer, Asked, whole
from tests.streams.cli.calling import call
from tests.surroundings import Serve, folder, led_to

__all__ = ["folder"]

OPTIONS = {"type": "choice", "options": ["red", "dark green"]}
LONG = {"type": "number", "unit": "h"}
POINT = {"type": "json", "schema": {"type": "object", "required": ["x"]}}


def model(asked: Asked) -> Answer:
    """Says which colour at once, how long in minutes, and where only when it was told what was wrong."""
    turns = [str(each["content"]) for each in asked.body["messages"]]
    said = "\n".join(turns)
    if "Which colour" in said:
        return whole("It has to be this one.\nFinal_answer: \\boxed{(B)}")
    if "How long" in said:
        return whole("Final_answer: \\boxed{90 minutes}")
    if "required" in turns[-1] and len(turns) > 2:
        return whole('Final_answer: {"x": 3}')
    return whole('Final_answer: {"y": 3}')


@pytest.fixture
def serve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with led_to(monkeypatch, model) as start:
        yield start


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return path


def test_a_source_is_worked_on_delivered_and_graded_in_the_form_of_its_types(
    serve: Serve, folder: Path
) -> None:
    serve()
    source = written(
        folder / "in.jsonl",
        {"id": "a", "problem": "Which colour?", "answer": "B", "answer_type": OPTIONS},
        {"id": "b", "problem": "Which colour?", "answer": "red", "answer_type": OPTIONS},
        {"id": "c", "problem": "How long?", "answer": "1 h 30 min", "answer_type": LONG},
        {"id": "d", "problem": "Where?", "answer": {"x": 3}, "answer_type": POINT},
    )
    assert call("produce", source, "--policy", "cot", "--log", "sqlite:a.db").code == 0
    assert (
        call(
            "worker", "--backbone", "openai:m", "--until-idle", "--settle", "--log", "sqlite:a.db"
        ).code
        == 0
    )
    told = call("consume", "--json", "--log", "sqlite:a.db").out.splitlines()
    answers = {each["problem_id"]: each for each in map(json.loads, told)}
    assert {name: each["answer"] for name, each in answers.items()} == {
        "a": "dark green",
        "b": "dark green",
        "c": "1.5 h",
        "d": '{"x":3}',
    }
    assert answers["d"]["usage"]["calls"] == 2, "the wrong form was asked for once more"
    shown = call("analyse", "--json", "--log", "sqlite:a.db").out
    report = json.loads(shown)
    assert '"right":3' in json.dumps(report, separators=(",", ":"))
    done = call("verify", "--log", "sqlite:a.db")
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"answer_type": "numbr"}, "answer_type"),
        ({"answer_type": {"type": "number", "unit": "frobs"}}, "answer_type.unit"),
        ({"answer_type": "choice"}, "answer_type.options"),
        ({"answer_type": OPTIONS, "answer": "blue"}, "answer"),
        ({"answer_type": LONG, "answer": ["90 minutes", "3 km"]}, "answer"),
        ({"answer_type": {"type": "json", "schema": {"pattern": "a"}}}, "answer_type"),
    ],
)
def test_what_nobody_could_answer_becomes_a_dead_letter_that_names_the_field(
    folder: Path, record: dict[str, Any], field: str
) -> None:
    good = {"id": "good", "problem": "How long?", "answer_type": LONG}
    source = written(folder / "in.jsonl", {"id": "bad", "problem": "Which?", **record}, good)
    done = call("produce", source, "--policy", "cot", "--log", "sqlite:a.db")
    assert "produced 1 known 0 refused 1" in done.out
    letters = call("dlq", "list", "--log", "sqlite:a.db").out
    assert f"{field}:" in letters or f"{field}." in letters, letters


def test_grading_anew_changes_nothing_and_verifies(serve: Serve, folder: Path) -> None:
    """By our graders and by one of somebody's own, which hears of a label in its type's form each time."""
    serve()
    source = written(
        folder / "in.jsonl",
        {"id": "a", "problem": "Which colour?", "answer": "B", "answer_type": OPTIONS},
        {"id": "b", "problem": "How long?", "answer": "90 minutes", "answer_type": LONG},
        {"id": "c", "problem": "Where?", "answer": {"x": 3.0}, "answer_type": POINT},
        {"id": "d", "problem": "Which colour?", "answer": "red", "answer_type": OPTIONS},
    )
    (folder / "same.py").write_text(OWN)
    for policy, own in (("cot", ()), ("cascade", ()), ("cot", ("--grader", "same.py:same"))):
        log = ("--log", f"sqlite:{policy}{len(own)}.db")
        assert call("produce", source, "--policy", policy, *log).code == 0
        worked = call("worker", "--backbone", "openai:m", "--until-idle", "--settle", *own, *log)
        assert worked.code == 0, worked.err
        again = call("regrade", *own, *log)
        assert "-> " not in again.out, again.out
        assert "0 outcomes changed" in again.out, again.out
        done = call("verify", *own, *log)
        assert done.code == 0, done.out + done.err


OWN = """
from handlers.answers.own import Grader

def equal(given):
    return given.answer in given.references, f"{given.answer!r} in {given.references!r}"

same = Grader(name="same", version="1", grade=equal)
"""


def test_roll_outs_are_graded_by_the_type_too(serve: Serve, folder: Path) -> None:
    """What is learned from: a roll-out that names the option is right, whatever letter the label is."""
    serve()
    problem = {"id": "a", "problem": "Which colour?", "answer": "B", "answer_type": OPTIONS}
    source = written(folder / "in.jsonl", problem)
    way = ("--policy", "graph_memory", "--set", "base=cot", "--set", "rollouts=2")
    more = ("--set", "phase=build", "--set", "grounding=model", "--log", "sqlite:a.db")
    assert call("produce", source, *way, *more).code == 0
    call("worker", "--backbone", "openai:m", "--until-idle", "--settle", "--log", "sqlite:a.db")
    lines = map(json.loads, call("log", "cat", "--log", "sqlite:a.db").out.splitlines())
    checked = [each["event"] for each in lines if each.get("kind") == "checked"]
    assert checked
    assert {(each["outcome"], each["checker"]) for each in checked} == {("right", "typed@1")}


def test_a_label_that_cannot_be_an_answer_makes_none_wrong(serve: Serve, folder: Path) -> None:
    """What comes by the topic, from another program, is kept."""
    serve()
    source = written(
        folder / "in.jsonl", {"id": "a", "problem": "Which colour?", "answer_type": OPTIONS}
    )
    call("produce", source, "--policy", "cot", "--log", "sqlite:a.db")
    said = json.dumps({"domain": "default", "problem_id": "a", "reference": "D"}).encode()
    with closing(SqliteLog(folder / "a.db")) as log:
        log.publish([("feedback", "theirs", {}, said)])
    call("worker", "--backbone", "openai:m", "--until-idle", "--settle", "--log", "sqlite:a.db")
    lines = map(json.loads, call("log", "cat", "--log", "sqlite:a.db").out.splitlines())
    (graded,) = (each["event"] for each in lines if each.get("kind") == "graded")
    assert graded["outcome"] == "unknown"
    assert graded["detail"] == "no label of it is of the type choice"


@pytest.mark.parametrize("worked", [False, True])
def test_a_person_is_told_at_once_of_a_reference_that_cannot_be_an_answer(
    serve: Serve, folder: Path, worked: bool
) -> None:
    """By a file of judgements, where one is replayed, and in the review queue: whether its problem waits or not."""
    serve()
    source = written(folder / "in.jsonl", {"id": "a", "problem": "How long?", "answer_type": LONG})
    log = ("--log", "sqlite:a.db")
    call("produce", source, "--policy", "cot", *log)
    call("produce", source, "--policy", "self_consistency", *log)
    if worked:
        call("worker", "--backbone", "openai:m", "--until-idle", *log)
    named = {"domain": "default", "problem_id": "a"}
    bad, good = named | {"reference": "a while"}, named | {"reference": ["90 minutes", "1.5 h"]}
    verdict = named | {"verdict": True}
    lines = written(folder / "said.jsonl", bad, good, verdict, bad | {"problem_id": "b"})
    done = call("feedback", lines, *log)
    assert (done.code, done.out) == (1, "published 3 known 0 refused 1\n")
    why = "reference: is no number, and the answer type is number [input.answer_type"
    assert f"said.jsonl:1:1: {why}]" in done.err
    again = call("dlq", "replay", "1", "--file", written(folder / "again.json", bad), *log)
    assert again.code == 1
    assert why in again.err
    mended = written(folder / "mended.json", named | {"reference": "2 h"})
    assert call("dlq", "replay", "1", "--file", mended, *log).code == 0
    if worked:
        episode = call("show", "a", "--json", *log).json["episode"]
        refused = call("review", "answer", episode, "--reference", "a while", *log)
        assert refused.code == 2
        assert why in refused.err
        assert call("review", "answer", episode, "--reference", "1 h", *log).code == 0


def test_a_reference_may_fit_one_run_of_a_problem_alone(folder: Path) -> None:
    """With another policy the same problem may have been put with another type, or with none."""
    log = ("--log", "sqlite:a.db")
    for policy, typed in (("cot", LONG), ("cascade", "yes_no")):
        problem = {"id": "a", "problem": "How long?", "answer_type": typed}
        call("produce", written(folder / "in.jsonl", problem), "--policy", policy, *log)
    said = ({"domain": "default", "problem_id": "a", "reference": each} for each in ("no", "ages"))
    lines = written(folder / "said.jsonl", *said)
    assert call("feedback", lines, *log).out == "published 1 known 0 refused 1\n"
    problem = {"id": "a", "problem": "How long?"}
    call("produce", written(folder / "in.jsonl", problem), "--policy", "mc2", *log)
    assert call("feedback", lines, *log).out == "published 1 known 1 refused 0\n"


def test_a_problem_that_is_there_with_another_type_is_no_known_one(folder: Path) -> None:
    problem = {"id": "a", "problem": "Which colour?", "answer_type": OPTIONS}
    source = written(folder / "in.jsonl", problem)
    put = ("produce", source, "--log", "sqlite:a.db")
    assert "produced 1 known 0 refused 0" in call(*put).out
    assert "produced 0 known 1 refused 0" in call(*put).out
    written(source, problem | {"answer_type": "text"})
    other = call(*put)
    assert "produced 0 known 0 refused 1" in other.out
    assert "already there with another type of answer" in other.err


def test_a_type_on_the_command_line_is_every_lines_that_has_none(
    serve: Serve, folder: Path
) -> None:
    serve()
    source = written(
        folder / "in.jsonl",
        {"id": "a", "problem": "How long?"},
        {"id": "b", "problem": "Which colour?", "answer_type": OPTIONS},
    )
    given = json.dumps(LONG)
    done = call(
        "produce", source, "--policy", "cot", "--answer-type", given, "--log", "sqlite:a.db"
    )
    assert done.code == 0, done.err
    call("worker", "--backbone", "openai:m", "--until-idle", "--log", "sqlite:a.db")
    told = call("consume", "--json", "--log", "sqlite:a.db").out.splitlines()
    assert sorted(json.loads(each)["answer"] for each in told) == ["1.5 h", "dark green"]


def test_solve_takes_a_type_and_says_what_is_wrong_with_one(serve: Serve) -> None:
    serve()
    asked = ("solve", "How long?", "--backbone", "openai:m", "--log", "sqlite:a.db")
    assert call(*asked, "--answer-type", json.dumps(LONG)).out.startswith("1.5 h\n")
    assert call(*asked, "--answer-type", "text").out.startswith("90 minutes\n"), "another problem"
    for given, what in (
        ("numbr", "type: Input should be"),
        ("choice", "options: missing"),
        ("{", "is no JSON"),
        ('{"type": "number", "unit": "frobs"}', "unit: is none that is known"),
    ):
        done = call(*asked, "--answer-type", given)
        assert done.code == 2
        assert f"--answer-type: {what}" in done.err


def test_a_word_or_an_object_says_a_type() -> None:
    assert answer_type_of("number").type == "number"
    assert answer_type_of(LONG).unit == "h"
    with pytest.raises(BadType, match=r"answer_type\.schema: pattern is not taken"):
        answer_type_of({"type": "json", "schema": {"pattern": "a"}})
    with pytest.raises(BadType, match=r"answer_type\.units"):
        answer_type_of({"type": "number", "units": "h"})
