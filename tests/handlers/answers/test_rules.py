"""Grades by each rule: what is right by it, how near is near enough, and what its grade says."""

from __future__ import annotations

import pytest

from handlers.answers.choice import choice, letter_of, options
from handlers.answers.dataset_rules import exact_match, scibench, theoremqa, token_f1
from handlers.answers.grade import (
    Grade,
    References,
    agree,
    aliases_of,
    best,
    check_game24,
    grade_reference,
    withheld,
)
from schemas.outcome import Outcome


@pytest.mark.parametrize(
    ("answer", "reference", "problem", "outcome"),
    [
        ('2.4', '2', '', 'right'),
        ('2.5', '2', '', 'right'),
        ('2.6', '2', '', 'wrong'),
        ('2.07', '2.0', '', 'right'),
        ('2.08', '2.0', '', 'right'),
        ('2.09', '2.0', '', 'wrong'),
        ('1.92', '2.0', '', 'right'),
        ('-2.08', '-2.0', '', 'right'),
        ('2.4', '4/2', '', 'wrong'),
        ('[1,2]', '[2,1]', '', 'right'),
        ('[1.04,2]', '[1.0,2]', '', 'right'),
        ('[1.3,2]', '[1,2]', '', 'right'),
        ('[1.3,2]', '[1.0,2]', '', 'wrong'),
        ('3', '[3]', '', 'right'),
        ('[x]', '[3]', '', 'unknown'),
        ('[1,2,3]', '[1,2]', '', 'wrong'),
        ('True', 'true', '', 'right'),
        ('no', 'False', '', 'right'),
        ('yes.', 'True', '', 'right'),
        ('$true$', 'TRUE', '', 'right'),
        ('x^2', 'x^2', '', 'right'),
        ('x^2', '5', '', 'unknown'),
        ('cat', '5', '', 'unknown'),
        ('(b)', '(a)', '', 'wrong'),
        ('b', 'eleven', '(a) ten (b) eleven', 'right'),
        ('1e3', '1000.0', '', 'right'),
    ],
)  # fmt: skip
def test_theoremqa_by_the_type_of_the_answer(
    answer: str, reference: str, problem: str, outcome: Outcome
) -> None:
    assert theoremqa(answer, reference, problem) == outcome


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ('5.25', '5', 'right'),
        ('5.27', '5', 'wrong'),
        ('4.75', '5', 'right'),
        ('4.74', '5', 'wrong'),
        ('0', '0', 'right'),
        ('5 m', '5 km', 'wrong'),
        ('5000 m', '5 km', 'right'),
        ('5 kdyn', '5000 dyn', 'right'),
        ('5 kdyn', '5 dyn', 'wrong'),
        ('5 mdyn', '5 kdyn', 'wrong'),
        ('5 dyn', '5 erg', 'unknown'),
        ('5 k', '5 m', 'unknown'),
        ('5 xyz', '5', 'right'),
        ('1,000', '1000', 'right'),
        ('-5', '5', 'wrong'),
        ('+5', '5', 'right'),
        ('−5', '-5', 'right'),
        ('.5', '0.5', 'right'),
        ('5.', '5', 'right'),
        ('2e3', '2000', 'right'),
        ('2E-3', '0.002', 'right'),
        ('2 x 10^3', '2000', 'right'),
        ('2*10^{-3} m', '0.002 m', 'right'),
        ('2 × 10^3 J', '2000 J', 'right'),
        ('2 $10^{3}$ J', '2000 J', 'right'),
        ('2\\times 10^3 J', '2 kJ', 'right'),
        ('x', 'x', 'right'),
        ('x+1', '1+x', 'unknown'),
        ('x', '5', 'unknown'),
        ('5', 'x', 'unknown'),
        ('\\frac{1}{2}', '0.5', 'right'),
        ('half', '0.5', 'unknown'),
        ('5 J.', '5 J', 'right'),
        ('5 \\mathrm{~J}', '5 J', 'right'),
        ('5 {J}', '5 J', 'right'),
        ('5 °C', '5', 'right'),
        ('12 min', '0.2 h', 'right'),
    ],
)  # fmt: skip
def test_scibench_within_a_twentieth_of_the_larger_one(
    answer: str, reference: str, outcome: Outcome
) -> None:
    assert scibench(answer, reference) == outcome


@pytest.mark.parametrize(
    ("answer", "reference", "f1", "outcome"),
    [
        ('yes', 'yes', 1.0, 'right'),
        ('yes', 'no', 0.0, 'wrong'),
        ('no', 'no it is', 0.0, 'wrong'),
        ('yes it is', 'yes', 0.0, 'wrong'),
        ('noanswer', 'noanswer', 1.0, 'right'),
        ('the cat', 'cat', 1.0, 'right'),
        ('a b c', 'b c d', 0.8, 'wrong'),
        ('', 'x', 0.0, 'wrong'),
        ('', '', 0.0, 'right'),
        ('x x y', 'x y y', 0.6666666666666666, 'wrong'),
        ('Yes it', 'yes it is so', 0.6666666666666666, 'wrong'),
        ('Café!', 'cafe', 1.0, 'right'),
    ],
)  # fmt: skip
def test_questions_are_answered_by_tokens(
    answer: str, reference: str, f1: float, outcome: Outcome
) -> None:
    assert token_f1(answer, reference) == pytest.approx(f1)
    assert exact_match(answer, reference) == outcome


@pytest.mark.parametrize(
    ("answer", "reference", "dataset", "outcome", "grader", "detail", "f1"),
    [
        ('5', '5', '', 'right', 'exact@5', 'equal', None),
        ('5', '6', '', 'wrong', 'exact@5', 'differs', None),
        ('x+1', '1+x', '', 'unknown', 'exact@5', 'exact rules cannot decide', None),
        ('(B)', 'B', '', 'right', 'exact@5', 'equal', None),
        ('yes, it is', 'true', '', 'right', 'exact@5', 'by yes or no', None),
        ('No.', 'True', '', 'wrong', 'exact@5', 'by yes or no', None),
        ('Yes - of course', 'no', '', 'unknown', 'exact@5', 'exact rules cannot decide', None),
        ('yesterday', 'yes', '', 'unknown', 'exact@5', 'exact rules cannot decide', None),
        ('5.1', '5', 'scibench', 'right', 'scibench@4', 'within 5 %', None),
        ('2.4', '2', 'theoremqa', 'right', 'theoremqa@5', 'by the type of the answer', None),
        ('code', 'tests', 'python', 'unknown', 'python@1', 'not measured: its tests were not run', None),
        ('Paris', 'paris', 'hotpotqa', 'right', 'qa@2', 'f1 1.000', 1.0),
        (None, 'x', 'hotpotqa', 'withheld', 'qa@2', 'no answer was given', 0.0),
        (None, 'x', 'python', 'withheld', 'python@1', 'no answer was given', None),
        (None, 'x', 'scibench', 'withheld', 'scibench@4', 'no answer was given', None),
        ('5', ('6', 'x', '5'), '', 'right', 'exact@5', "equal; by alias '5'", None),
        ('5', ('6', '7'), '', 'wrong', 'exact@5', 'differs', None),
        ('The Paris', 'paris', '', 'right', 'exact@5', 'equal', None),
        ('cat', ('dog', '6'), '', 'unknown', 'exact@5', 'exact rules cannot decide', None),
        ('a b', ('a', 'a b c'), 'hotpotqa', 'wrong', 'qa@2', 'f1 0.000', 0.6666666666666666),
    ],
)  # fmt: skip
def test_a_grade_says_who_gave_it_and_why(
    answer: str | None,
    reference: References,
    dataset: str,
    outcome: Outcome,
    grader: str,
    detail: str,
    f1: float | None,
) -> None:
    grade = grade_reference(answer, reference, dataset=dataset)
    assert (grade.outcome, grade.grader, grade.detail) == (outcome, grader, detail)
    assert grade.f1 == (None if f1 is None else pytest.approx(f1))
    if f1 is not None:
        assert grade.credit == grade.f1
    else:
        assert grade.credit == (None if outcome == "unknown" else float(outcome == "right"))


def test_two_opinions_that_agree_are_named_together() -> None:
    exact, other = (
        Grade(outcome="right", grader="exact@4"),
        Grade(outcome="right", grader="sympy@1"),
    )
    assert agree(exact, other) == Grade(
        outcome="right", grader="exact+sympy@4", detail="two opinions agree"
    )
    wrong = Grade(outcome="wrong", grader="sympy@1")
    assert agree(exact, wrong) == Grade(
        outcome="unknown", grader="exact+sympy@4", detail="exact says right, sympy says wrong"
    )
    unknown = Grade(outcome="unknown", grader="sympy@1")
    assert agree(exact, unknown) is exact
    assert agree(unknown, exact) is exact
    assert agree(unknown, Grade(outcome="unknown", grader="other@1")) is unknown


def test_the_alias_that_says_most_counts_and_its_name_is_cut() -> None:
    def given(outcome: Outcome, f1: float | None = None) -> Grade:
        return Grade(outcome=outcome, grader="g@1", detail="d", f1=f1)

    some = best(
        [given("wrong", 0.5), given("unknown", 0.75), given("unknown", 0.25)], ("a", "b", "c")
    )
    assert (some.outcome, some.f1, some.detail) == ("unknown", 0.75, "d; by alias 'b'")
    long = best([given("unknown"), given("right")], ("a", "x" * 100))
    assert long.detail == f"d; by alias {'x' * 80!r}"
    assert best([given("withheld"), given("wrong")], ("a", "b")).outcome == "wrong"
    assert best([given("right"), given("right")], ("a", "b")).detail == "d"
    assert (aliases_of("a"), aliases_of(["a", "b"])) == (("a",), ("a", "b"))
    assert withheld("g@1") == Grade(outcome="withheld", grader="g@1", detail="no answer was given")
    assert (long.name, long.version) == ("g", "1")


@pytest.mark.parametrize(
    ("answer", "outcome", "detail"),
    [
        (None, "withheld", "no answer was given"),
        ("(10 - 4) * 5 - 6", "right", "makes 24"),
        ("(10 - 4) * 5 + 6", "wrong", "makes 36"),
        ("10 / 4 + 5 / 6", "wrong", "makes 10/3"),
        ("4 * 6", "wrong", "uses 4 6 instead of 4 5 6 10"),
        ("(10 - 4) * 5 - 6 = 25", "right", "makes 24"),
        ("24 = (10 - 4) * 5 - 6", "right", "makes 24"),
        ("the answer: (10 - 4) * 5 - 6", "right", "makes 24"),
        ("none", "wrong", "not an expression: cannot read 'none'"),
        ("10 - 4 * 5 -", "wrong", "not an expression: ends too early"),
        ("4 / (5 - 5) + 6 + 10", "wrong", "not an expression: divides by zero"),
        ("(" * 60 + "4" + ")" * 60, "unknown", "nested deeper than 50"),
    ],
)  # fmt: skip
def test_the_game_of_24_is_checked_by_value_and_numbers(
    answer: str | None, outcome: Outcome, detail: str
) -> None:
    grade = check_game24("4 5 6 10", answer)
    assert (grade.outcome, grade.detail, grade.grader) == (outcome, detail, "game24@2")


ROW = "Which? (A) ten (B) eleven (C) 12"
LINES = "Which?\nA. red car\nB. blue car\nC. 0.5\nD. 1/2"


@pytest.mark.parametrize(
    ("answer", "row", "lines", "bare"),
    [
        ('B', 'B', 'B', 'B'),
        ('b', 'B', 'B', 'B'),
        ('(B)', 'B', 'B', 'B'),
        ('B.', 'B', 'B', 'B'),
        ('b)', 'B', 'B', 'B'),
        ('B) eleven', 'B', 'B', 'B'),
        ('(b): x', None, None, None),
        ('B: eleven', 'B', 'B', 'B'),
        ('option (B)', 'B', 'B', 'B'),
        ('choice (c)', 'C', 'C', 'C'),
        ('\\text{(C)}', 'C', 'C', 'C'),
        ('$B$', 'B', 'B', 'B'),
        ('**B**', 'B', 'B', 'B'),
        ('eleven', 'B', None, None),
        ('12.0', 'C', None, None),
        ('twelve', 'C', None, None),
        ('Because', None, None, None),
        ('K', None, None, None),
        ('k)', None, None, None),
        ('', None, None, None),
        ('B eleven', None, None, None),
        ('( B )', 'B', 'B', 'B'),
        ('0.5', None, None, None),
        ('RED CAR', None, 'A', None),
    ],
)  # fmt: skip
def test_an_answer_names_an_option_by_letter_or_by_a_text_that_only_one_has(
    answer: str, row: str | None, lines: str | None, bare: str | None
) -> None:
    assert letter_of(answer, ROW) == row
    assert letter_of(answer, LINES) == lines
    assert letter_of(answer, "") == bare


@pytest.mark.parametrize(
    ("answer", "reference", "problem", "outcome"),
    [
        ('A', '(a)', ROW, 'right'),
        ('(A)', 'B', ROW, 'wrong'),
        ('x', 'B', ROW, 'unknown'),
        ('ten', 'A', ROW, 'right'),
        ('b', 'eleven', ROW, 'right'),
        ('a', 'eleven', ROW, 'wrong'),
        ('K', 'eleven', ROW, None),
        ('(B) eleven', 'eleven', '', 'right'),
        ('B. eleven', 'eleven', '', 'right'),
        ('(B) ten', 'eleven', '', None),
        ('eleven', 'eleven', '', None),
        ('A', 'ten', '', None),
        ('b', 'Bob', ROW, None),
        ('(K) eleven', 'eleven', ROW, None),
        ('b', 'b', '', None),
        ('C', 'C', '', 'right'),
        ('c', 'option (C)', '', 'right'),
    ],
)  # fmt: skip
def test_options_are_compared_where_both_name_one(
    answer: str, reference: str, problem: str, outcome: Outcome | None
) -> None:
    assert choice(answer, reference, problem) == outcome


@pytest.mark.parametrize(
    ("problem", "listed"),
    [
        ("(b) one (a) two", {"B": "one", "A": "two"}),
        ("A) one\nB) two", {"A": "one", "B": "two"}),
        ("A. one\nB: two", {"A": "one", "B": "two"}),
        ("A. one", {}),
        ("B. one\nC. two", {}),
        ("(j) x (k) y (a) z", {"J": "x", "A": "z"}),
        ("(A) one; (B) two,", {"A": "one", "B": "two"}),
        ("x" * 20_000 + "(A) one (B) two", {"A": "one", "B": "two"}),
        ("(A) one (B) two" + "x" * 20_000, {}),
    ],
)
def test_options_that_a_problem_lists(problem: str, listed: dict[str, str]) -> None:
    assert options(problem) == listed
