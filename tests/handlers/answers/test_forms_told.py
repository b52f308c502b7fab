"""How the form of a typed answer is told, how it is held against its label, and why a label may be none."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.answers.forms import (
    Compared,
    by_rules,
    canonical,
    compared,
    form,
    known,
    settled,
    task,
    unfit,
)
from handlers.answers.grade import Grade, References
from schemas.answer_type import AnswerType, WrongForm


def of(type: str, **more: Any) -> AnswerType:
    return AnswerType.model_validate({"type": type, **more})


TWO = of("choice", options=["x1", "y1"])
ONE_NUMBER = of("json", schema={"type": "number"})
LISTED = "The options:\nA) x1\nB) y1"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (of("number"), "The answer is one number, without its unit."),
        (of("number", unit="h"), "The answer is one number in h."),
        (of("expression"), "The answer is one exact value or expression in its simplest form."),
        (of("yes_no"), "The answer is yes or no."),
        (of("text"), "The answer is the bare answer, in as few words as it takes, no sentence."),
        (
            of("json", schema={"type": "object"}),
            "The answer is one JSON value that holds to this JSON Schema, and nothing else:\n"
            '{"type":"object"}',
        ),
        (TWO, f"The answer is the letter of the right option and nothing else. {LISTED}"),
    ],
)
def test_whoever_answers_is_told_the_form(said: AnswerType, told: str) -> None:
    assert form(said, "Which?") == told
    assert task(said, "Which?") == (LISTED if said is TWO else None)
    assert task(said, "Which?\nA) x1\nB) y1") is None


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ("yes", "yes"), ("TRUE", "yes"), ("No!", "no"), ("*Yes*", "yes"), ("Yes, it is", "yes"),
        ("no: never", "no"), ("The claim is false", "no"), (True, "yes"), (False, "no"),
        (r"\text{Yes}, it does", "yes"), ("true. It is.", "yes"), ("no!", "no"),
        ("yes".rjust(399), "yes"),
    ],
)  # fmt: skip
def test_yes_or_no_opens_or_ends_what_is_said(answer: object, written: str) -> None:
    assert canonical(of("yes_no"), answer) == written


@pytest.mark.parametrize(
    "answer",
    ["Yes it is", "It is true. No", "it is not true", "true – no", "Yes; no", "y", "", "Yes.\nNo",
     "I say yes", f"{'x' * 400} is true"],
)  # fmt: skip
def test_what_is_neither_yes_nor_no(answer: str) -> None:
    with pytest.raises(WrongForm, match="is neither yes nor no"):
        canonical(of("yes_no"), answer)


@pytest.mark.parametrize(
    ("kind", "answer", "written"),
    [
        ("expression", "x = 5", "x = 5"), ("expression", "one two three", "one two three"),
        ("expression", " x ", "x"), ("expression", 5, "5"), ("text", 5, "5"), ("number", 5, "5"),
        ("code", "```\na\n```\n```py\n  b\n\n```", "  b"), ("code", "\n\n  a\r\nb\n\n", "  a\nb"),
        ("text", " two\nlines ", "two\nlines"),
    ],
)  # fmt: skip
def test_other_answers_are_written_as_they_stand(kind: str, answer: object, written: str) -> None:
    assert canonical(of(kind), answer) == written


@pytest.mark.parametrize(
    ("kind", "answer", "why"),
    [
        ("expression", "one two three four", "is a sentence, and one value or expression is asked for"),
        ("expression", "one, two; three four", "is a sentence, and one value or expression is asked for"),
        ("expression", "  ", "is empty"), ("code", "```\n\n```", "is empty"), ("text", "", "is empty"),
    ],
)  # fmt: skip
def test_what_is_no_answer_of_its_type_is_told_why(kind: str, answer: str, why: str) -> None:
    with pytest.raises(WrongForm) as refused:
        canonical(of(kind), answer)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("said", "problem", "wrong"),
    [
        (of("choice"), "A) x", "options: missing, and the problem lists none as A) ... B) ..."),
        (
            of("choice"), "A) x\nB) X",
            "options: must be told apart by more than case and blanks, as the problem lists them",
        ),
        (
            of("choice"), "A) one\nB) A",
            "options: B is the letter of another option, as the problem lists them",
        ),
        (of("number", unit="q"), "p", "unit: is none that is known; write it as km/h, m^2, USD or minutes"),
        (of("json", schema={"type": 3}), "p", "schema: type: 3 is not valid"),
        (of("json", schema={"minimum": "x"}), "p", "schema: minimum: 'x' is not of type 'number'"),
    ],
)  # fmt: skip
def test_a_type_that_nobody_could_answer_by_is_refused(
    said: AnswerType, problem: str, wrong: str
) -> None:
    with pytest.raises(ValueError, match=r"^\w+: ") as refused:
        known(said, problem)
    assert str(refused.value).startswith(wrong)


def test_a_type_is_completed_by_what_its_problem_lists() -> None:
    assert known(of("choice"), "Which?\nA) x1\nB) y1") == TWO
    for said in (TWO, of("number", unit="km"), ONE_NUMBER, of("text")):
        assert known(said, "A) one\nB) two") is said


@pytest.mark.parametrize(
    ("typed", "label", "references", "dataset"),
    [
        (TWO, ["A", "q"], ("x1", "q"), "d"),
        (TWO, None, None, "d"),
        (of("code"), "assert f()", "assert f()", "python"),
        (of("code"), None, None, "python"),
        (None, None, None, "d"),
        (None, [1, 2], "[1,2]", "d"),
        (None, ["a", "b"], ("a", "b"), "d"),
        (ONE_NUMBER, [1, 2], "[1,2]", "d"),
        (ONE_NUMBER, ["1", "2.0"], ("1", "2"), "d"),
        (ONE_NUMBER, ["1", "x"], '["1","x"]', "d"),
        (ONE_NUMBER, "1.0", "1", "d"),
        (of("yes_no"), True, "yes", "d"),
    ],
)
def test_what_an_answer_is_held_against(
    typed: AnswerType | None, label: Any, references: References | None, dataset: str
) -> None:
    assert compared("d", typed, label) == Compared(references, dataset, typed)


@pytest.mark.parametrize(
    ("said", "answer", "reference", "found"),
    [
        (TWO, "x1", "A", ("right", "equal")),
        (TWO, "x1", "B", ("wrong", "differs")),
        (TWO, "q", "A", None),
        (TWO, "x1", "q", ("unknown", "no label of it is of the type choice")),
        (TWO, None, "A", None),
        (None, "x", "x", None),
        (of("number"), "5", "x", ("unknown", "no label of it is of the type number")),
        (of("number"), "5", "5", None),
        (of("yes_no"), "yes", ("false", "true"), ("right", "equal")),
        (of("yes_no"), "yes", ("perhaps", "no"), ("wrong", "differs")),
        (ONE_NUMBER, "1", "1.0", ("right", "equal")),
        (of("text"), "a", "a", None),
        (of("text"), "a", "", None),
    ],
)
def test_what_canonical_forms_settle(
    said: AnswerType | None, answer: str | None, reference: References, found: Any
) -> None:
    grade = settled(said, answer, reference)
    assert grade == (
        None if found is None else Grade(outcome=found[0], grader="typed@1", detail=found[1])
    )


def test_what_they_do_not_settle_goes_to_the_rules_of_the_data_set() -> None:
    assert by_rules("5", "5.0", "d", "", of("number")).grader == "exact@5"
    assert by_rules("2.4", "2", "theoremqa", "", of("number")).outcome == "right"
    assert by_rules("x1", "A", "d", "", TWO).grader == "typed@1"
    assert by_rules("b", "y", "d", "(a) x (b) y").outcome == "right", "the problem is handed on"
    assert by_rules(None, "y", "d", "", TWO).outcome == "withheld"


@pytest.mark.parametrize(
    ("typed", "label", "why"),
    [
        (TWO, "A", None), (TWO, None, None), (of("code"), "x", None), (of("number"), 5, None),
        (of("yes_no"), True, None), (ONE_NUMBER, ["1", "2"], None),
        (TWO, ["A", "q"], "names none of the options A, B, or more than one, and the answer type is choice"),
        (of("number"), "x", "is no number, and the answer type is number"),
        (ONE_NUMBER, [1], 'holds not to the schema: type "number", and the answer type is json'),
        (ONE_NUMBER, "x", "is no JSON value, and the answer type is json"),
    ],
)  # fmt: skip
def test_why_a_label_is_none_of_its_type(typed: AnswerType, label: Any, why: str | None) -> None:
    assert unfit(typed, label) == why
