"""Problems put another way: by a flag of produce, with the seed and option map on the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.forms import known
from handlers.answers.forms_choice import listed
from handlers.policies.cot2_meta.perturb import degraded
from schemas.answer_type import AnswerType
from schemas.events.episode import ProblemAdmitted
from schemas.problem import ProblemRecord
from streams.producing.perturbing import perturb, unperturbed
from streams.runtime.embedded.log import SqliteLog
from tests.streams.cli.calling import call

CHOICE = "Which is even?\n(A) one\n(B) two\n(C) three\n(D) five"


def test_the_reference_follows_its_option() -> None:
    moved = set[str]()
    for seed in range(20):
        put, told = perturb(ProblemRecord(id="q", problem=CHOICE, answer="B"), "S5", seed)
        [letter] = [line[1] for line in put.problem.splitlines() if line.endswith(" two")]
        assert put.answer == letter == told.letters["B"]
        assert (put.id, told.by, told.seed) == ("q~S5", "S5", seed)
        moved.add(letter)
    assert len(moved) > 1


def test_aliases_follow_their_option_too() -> None:
    put, told = perturb(ProblemRecord(id="q", problem=CHOICE, answer=["B", "two"]), "S5", 4)
    assert put.answer == [told.letters["B"], "two"]


@given(st.text(max_size=60), st.integers(0, 99))
def test_what_is_not_marked_as_seen_is_left_alone(text: str, seed: int) -> None:
    if "OCR:" not in text and "Caption:" not in text:
        assert degraded(text, seed) == text


def test_recognised_text_degrades_by_about_a_tenth() -> None:
    line = "OCR: " + "0123456789 abcdefgh " * 50
    spoilt = degraded(f"What is shown?\n{line}\nCaption: a red ball on a blue box", 3)
    question, seen, caption = spoilt.splitlines()
    assert (question, caption) == ("What is shown?", "Caption: a red ball on")
    kept = sum(a == b for a, b in zip(sorted(line), sorted(seen), strict=False)) / len(line)
    assert seen != line
    assert 0.85 < len(seen) / len(line) < 1.0
    assert kept < 1.0
    assert degraded(line, 3) == degraded(line, 3) != degraded(line, 4)


def test_options_of_a_type_go_with_those_of_the_problem() -> None:
    """Shuffled ones are read off the problem as it is put; degraded ones are still told apart as they were."""
    options = listed(CHOICE)
    for said in (AnswerType(type="choice"), AnswerType(type="choice", options=options)):
        record = ProblemRecord(id="q", problem=CHOICE, answer=options[1], answer_type=said)
        put, _ = perturb(record, "S5", 4)
        assert put.answer_type is not None
        typed = known(put.answer_type, put.problem)
        assert typed.options is not None
        assert typed.options == listed(put.problem) != options
        assert sorted(typed.options) == sorted(options)
        spoilt, _ = perturb(record, "S6", 4)
        assert spoilt.answer_type is not None
        assert spoilt.answer_type.options == options
    apart = AnswerType(type="choice", options=("north", "south"))
    record = ProblemRecord(id="q", problem="Which way?", answer_type=apart)
    assert perturb(record, "S5", 4)[0].answer_type == apart


def test_produce_says_on_the_record_how_a_problem_was_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text(json.dumps({"id": "q", "problem": CHOICE, "answer": "B"}))
    assert call("produce", "in.jsonl", "--policy", "cot").code == 0
    asked = ("produce", "in.jsonl", "--policy", "cot", "--perturb", "S5", "--seed", "4")
    assert call(*asked, "--json").json["produced"] == 1
    assert call(*asked, "--json").json == call(*asked, "--json").json | {"known": 1}
    assert call("worker", "--backbone", "rehearsal:seed=1", "--until-idle").code == 0
    events = [record.event for record in SqliteLog("metalogue.db").records("events")]
    problems = [event.problem for event in events if isinstance(event, ProblemAdmitted)]
    plain, put = sorted(problems, key=lambda problem: len(problem.id))
    assert (plain.id, plain.perturbed, put.id) == ("q", None, "q~S5")
    assert put.perturbed is not None
    assert put.perturbed.seed == 4
    assert put.problem == perturb(ProblemRecord(id="q", problem=CHOICE), "S5", 4)[0].problem
    assert unperturbed(put.id) == unperturbed("q") == "q"
    refused = call("produce", "in.jsonl", "--perturb", "S9")
    assert (refused.code, "--perturb" in refused.err) == (2, True)
