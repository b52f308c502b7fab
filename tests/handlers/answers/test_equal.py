"""Exact comparison: what is decided is certain, the rest is unknown; symmetric; bounded."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.choice import choice, options
from handlers.answers.equal import equal
from handlers.answers.normalise import canonical
from handlers.answers.value import number, read
from schemas.outcome import Outcome
from tests.data import shared
from tests.pace import within

COLUMN = "\\begin{bmatrix}0.2\\\\-3.6\\end{bmatrix}"
CASES: list[tuple[str, str, Outcome]] = [
    ("1/2", "\\frac12", "right"),
    ("0.5", "1/2", "right"),
    ("\\dfrac{5}{9}", "\\frac 59", "right"),
    ("\\frac{270}7", "270/7", "right"),
    ("2", "3", "wrong"),
    ("0.333", "1/3", "wrong"),
    ("50%", "0.5", "right"),
    ("50", "50\\%", "right"),
    ("50%", "5", "wrong"),
    ("\\$32,\\!348", "32348 dollars", "right"),
    ("11,\\! 111,\\! 111,\\! 100", "11111111100", "right"),
    ("58,500", "58500", "right"),
    (".0000672", "6.72e-5", "right"),
    ("6.72 \\times 10^{-5}", "6.72e-5", "right"),
    ("x=5", "5", "right"),
    ("y = -2x", "-2x", "right"),
    ("x \\in [-2,7]", "[-2, 7]", "right"),
    ("1, -2", "-2,1", "right"),
    ("1 and -2", "-2,1", "right"),
    ("1,2", "1,3", "wrong"),
    ("1 2", "12", "wrong"),
    ("3 4.5 2", "4.5, 2, 3", "right"),
    ("3 -4.5", "-1.5", "unknown"),
    ("1 000 000", "1000000", "right"),
    ("x \\geqslant 2", "x \\leqslant 2", "unknown"),
    ("x \\geqslant 2", "x ≥ 2", "right"),
    ("x <= 2", "x\\le 2", "right"),
    ("2 \\pi r", "2πr", "right"),
    ("1", "1,3", "wrong"),
    ("(6,31,-1)", "\\left( 6, 31, -1 \\right)", "right"),
    ("(31,6,-1)", "(6,31,-1)", "wrong"),
    ("(3,4]", "[3,4]", "wrong"),
    ("(1,2)", "[1,2]", "unknown"),
    ("\\{1,2,2\\}", "\\{2,1\\}", "right"),
    ("(2,3) \\cup (0,1)", "(0,1)\\cup(2,3)", "right"),
    ("137.5", "137 \\frac{1}{2}", "right"),
    ("2 1/2", "2.5", "right"),
    ("864 square inches", "864 \\mbox{ inches}^2", "right"),
    ("5.4", "5.4 \\text{ cents}", "right"),
    ("90", "90^\\circ", "right"),
    ("north", "\\text{east}", "wrong"),
    ("East", "\\text{east}", "right"),
    ("an ellipse", "ellipse", "right"),
    ("None", "12", "wrong"),
    ("twelve", "12", "right"),
    ("two dozen", "24", "right"),
    ("\\begin{pmatrix} 1/5 \\\\ -18/5 \\end{pmatrix}", COLUMN, "right"),
    ("\\begin{pmatrix} 1 & 0 \\end{pmatrix}", "\\begin{pmatrix} 0 & 1 \\end{pmatrix}", "wrong"),
    ("\\sqrt 2", "\\sqrt{2}", "right"),
    ("x^2+1", "1+x^2", "unknown"),
    ("2516", "2516_8", "unknown"),
    ("-0", "0.00", "right"),
    ("0/0", "0", "unknown"),
    ("", "0", "unknown"),
    ("", "", "unknown"),
    ("033", "33", "right"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "reference", "outcome"), CASES)
def test_cases(answer: str, reference: str, outcome: Outcome) -> None:
    assert equal(answer, reference) == outcome
    assert equal(reference, answer) == outcome


PIECES = ["1", "2", ".", ",", "/", "%", "-", "(", ")", "[", "]", "\\{", "\\}", "{", "}", " ", "x=",
          "\\frac", "\\sqrt", "\\cup", "\\text{", "cm", " and ", "a", "east", "\\\\", "&", "e9",
          "^", "\\begin{pmatrix}", "\\end{pmatrix}", "\\infty", "$", "one",
          "٣", "\ud800"]  # fmt: skip
ANSWERS = st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(ANSWERS, ANSWERS)
def test_equality_is_symmetric_and_total(a: str, b: str) -> None:
    assert equal(a, b) == equal(b, a)


@given(ANSWERS)
def test_an_answer_equals_itself(a: str) -> None:
    assert equal(a, a) == ("right" if read(a).text or read(a).brackets else "unknown")


@given(st.fractions(max_denominator=10**6), st.fractions(max_denominator=10**6))
def test_fractions_are_compared_exactly(a: Fraction, b: Fraction) -> None:
    latex = f"\\frac{{{b.numerator}}}{{{b.denominator}}}"
    assert equal(str(a), latex) == ("right" if a == b else "wrong")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_decimals_keep_their_value(value: object) -> None:
    assert number(f"{value:f}") == Fraction(str(value))


@given(ANSWERS)
def test_canonical_never_raises(text: str) -> None:
    assert isinstance(canonical(text), str)


HOSTILE = ["9" * 1_000_000, "1e999999999", "10^{999999}", "(" * 4000, "[1," * 1300, "1," * 2000,
           "\\frac" * 800, "\\{" * 2000, " " * 4000, "a " * 2000, "{1,1}," * 600, "\\text{" * 600,
           "1 and " * 600, "(1,2)\\cup" * 400, "9" * 3999, "1/" * 2000, "-" * 4000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: str(text)[:12])
def test_hostile_answers_take_bounded_time(text: str) -> None:
    within(2, lambda: [equal(text, other) for other in ("1", text[:-1], text + "1")])


def test_every_math500_label_equals_itself_and_hardly_another() -> None:
    lines = (shared() / "math500/test_dev.jsonl").read_text().splitlines()
    labels = [json.loads(line)["answer"] for line in lines]
    assert all(equal(label, label) == "right" for label in labels)
    kinds = [read(label).kind for label in labels]
    assert kinds.count("formula") / len(kinds) < 0.15


OPTIONS = "Which? (a) ten (b) eleven (c) 12"


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ("b", "(b)", "right"),
        ("(B) eleven", "B", "right"),
        ("C", "\\text{(C)}", "right"),
        ("D.", "(d)", "right"),
        ("\\textbf{(A)}", "(b)", "wrong"),
        ("A cat", "(a)", "unknown"),
        ("eleven", "(b)", "right"),
        ("12", "(b)", "wrong"),
        ("4", "12", None),
    ],
)
def test_choices(answer: str, reference: str, outcome: Outcome | None) -> None:
    assert choice(answer, reference, OPTIONS) == outcome


def test_options_are_read_from_the_problem() -> None:
    assert options(OPTIONS) == {"A": "ten", "B": "eleven", "C": "12"}


def test_a_number_has_so_many_digits_at_most() -> None:
    """What is longer is no number that is compared digit by digit."""
    longest = "7" * 1_000
    assert (read(longest).kind, read(f"{longest}7").kind) == ("number", "formula")
    halves = "7" * 500
    assert read(f"{halves[:-1]}.{halves}").kind == "number", "its point counts"
    assert read(f"{halves}.{halves}").kind == "formula"
