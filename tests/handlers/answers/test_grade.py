"""Grades by data set, withheld answers, and two opinions that differ."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.dataset_rules import exact_match, scibench, theoremqa, token_f1
from handlers.answers.grade import CHECKERS, EXACT, QA, Grade, agree, check_game24, grade_reference
from schemas.outcome import Outcome
from tests.data import shared

OUTCOMES: list[Outcome] = ["right", "wrong", "unknown"]


def test_no_answer_is_withheld() -> None:
    assert check_game24("4 5 6 10", None).outcome == "withheld"
    assert grade_reference(None, "5").outcome == "withheld"


def test_a_grade_names_its_grader_and_version() -> None:
    grade = CHECKERS["game24"]("4 5 6 10", "(10 - 4) * 5 - 6 = 24")
    assert (grade.outcome, grade.name, grade.version) == ("right", "game24", "2")
    assert grade_reference("4", "4").grader == EXACT


def test_a_letter_is_compared_where_exact_equality_fails() -> None:
    grade = grade_reference("(C) 12", "\\text{(C)}", dataset="math500")
    assert grade.outcome == "right"


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ("0.34", "0.33", "right"),
        ("0.36", "0.33", "wrong"),
        ("24.6", "25", "right"),
        ("[1, 0.25]", "[0.25, 1.0]", "right"),
        ("(1, 0.3)", "[0.25, 1.0]", "wrong"),
        ("1", "[1, 2]", "wrong"),
        ("yes", "True", "right"),
        ("False.", "True", "wrong"),
        ("perhaps", "True", "unknown"),
        ("(a)", "(b)", "wrong"),
        ("north", "0.25", "wrong"),
        ("\\frac{1}{3}", "0.333", "right"),
    ],
)
def test_theoremqa(answer: str, reference: str, outcome: Outcome) -> None:
    assert theoremqa(answer, reference) == outcome


def test_every_theoremqa_label_is_right_by_its_own_type() -> None:
    items: list[dict[str, Any]] = json.loads((shared() / "theoremqa/test_dev.json").read_text())
    for item in items:
        label = str(item["Answer"])
        assert grade_reference(label, label, dataset="theoremqa").outcome == "right"


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ("5.2", "5 m", "right"),
        ("6", "5", "wrong"),
        ("1.23 kJ/mol", "1230 J/mol", "right"),
        ("1.23 J/mol", "1230 J/mol", "wrong"),
        ("3 m", "3 s", "unknown"),
        ("1.5 \\times 10^{3} \\text{ J}", "1.5 $10^{3} \\mathrm{~J}$", "right"),
        ("2e-3", "0.002", "right"),
        ("$-11.5$", "-11 K", "right"),
        ("several", "5 m", "unknown"),
    ],
)
def test_scibench(answer: str, reference: str, outcome: Outcome) -> None:
    assert scibench(answer, reference) == outcome
    if outcome != "unknown":
        assert scibench(reference, answer) == outcome


def test_question_answering() -> None:
    assert exact_match("The Eiffel-Tower!", "eiffeltower") == "right"
    assert exact_match("Paris", "Lyon") == "wrong"
    assert token_f1("the Eiffel Tower", "Eiffel Tower in Paris") == pytest.approx(2 / 3)
    assert token_f1("yes", "yes it is") == 0
    grade = grade_reference("Eiffel Tower", "Eiffel Tower in Paris", dataset="hotpotqa")
    assert (grade.outcome, grade.grader, grade.detail) == ("wrong", QA, "f1 0.667")


@given(st.sampled_from(OUTCOMES), st.sampled_from(OUTCOMES))
def test_two_opinions_that_differ_are_unknown(one: Outcome, two: Outcome) -> None:
    found = agree(Grade(outcome=one, grader="a@1"), Grade(outcome=two, grader="b@1")).outcome
    decided = {one, two} - {"unknown"}
    assert found == (decided.pop() if len(decided) == 1 else "unknown")


@given(st.text(), st.text(), st.sampled_from(["", "theoremqa", "scibench", "hotpotqa"]), st.text())
def test_grading_never_raises(answer: str, reference: str, dataset: str, problem: str) -> None:
    grade = grade_reference(answer, reference, dataset=dataset, problem=problem)
    assert grade.outcome in OUTCOMES


NUMBERISH = st.lists(
    st.sampled_from(
        ["1", "-", ".", "e", "9", "10^", "{", "}", "\\times", "J", "m", " ", "[", ",", "]"]
    )
).map("".join)


@given(NUMBERISH, NUMBERISH)
def test_typed_rules_never_raise(answer: str, reference: str) -> None:
    assert scibench(answer, reference) in OUTCOMES
    assert theoremqa(answer, reference) in OUTCOMES


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ("x = 2, y = 1", "x = 1, y = 2", "wrong"),
        ("$y = 2$ and $x = 1$", "x = 1, y = 2", "right"),
        ("x = 2, y = z", "x = z, y = 2", "unknown"),
        ("x = 2, x = 1", "x = 1, x = 2", "right"),
        ("a = 2, b = 1", "x = 1, y = 2", "right"),
        ("x_1 = 3, x_2 = 2", "x_1 = 2, x_2 = 3", "unknown"),
        ("x_1 = 1, y_1 = 2", "x_{1} = 2, y_{1} = 1", "wrong"),
        ("(A) and (C)", "(A)", "unknown"),
        ("(B) or (C)", "B", "unknown"),
        ("(A)", "(A) and (C)", "unknown"),
        ("(A) and (D)", "(A) and (C)", "unknown"),
        ("(A) I and II", "A", "right"),
        ("(A) and (A)", "A", "right"),
        ("(A) and a reason", "A", "right"),
        ("25 percent", "0.25", "right"),
        ("0.5", "50 per cent.", "right"),
        ("25 percent", "0.0025", "wrong"),
        ("25\\text{ percent}", "0.25", "right"),
        ("25 percent", "30 dollars", "wrong"),
        ("0,75", "0.75", "unknown"),
        ("0.75", "0,75", "unknown"),
        ("0,75", "75", "wrong"),
    ],
)
def test_parts_by_name_several_options_percent_in_words_and_decimal_commas(
    answer: str, reference: str, outcome: Outcome
) -> None:
    assert grade_reference(answer, reference).outcome == outcome


def test_a_first_option_of_two_is_none_of_a_data_sets_either() -> None:
    assert grade_reference("(a) and (b)", "(a)", dataset="theoremqa").outcome == "unknown"


def test_nor_is_it_where_the_problem_lists_them() -> None:
    listed = "Which fit? (A) one dog (B) two cats (C) three cows"
    assert grade_reference("A", "(A) and (C)", problem=listed).outcome == "unknown"
    assert grade_reference("(B)", "(A) and (C)", problem=listed).outcome == "unknown"
