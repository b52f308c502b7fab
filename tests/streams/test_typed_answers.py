"""Answers of a type from the source to the consumer: refused where nobody could answer so, graded by their form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.producing.typed import BadType, answer_type_of
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
    with pytest.raises(BadType, match=r"answer_type\.units"):
        answer_type_of({"type": "number", "units": "h"})
