"""Free text is graded by what it says; what words cannot settle is undecided, never wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.alike import alike, kinds, vote
from handlers.answers.dataset_rules import exact_match, scibench
from handlers.answers.equal import equal
from handlers.answers.grade import References, grade_reference, references_of
from handlers.answers.normalise import canonical
from handlers.answers.units import unit
from handlers.policies.base import Task
from handlers.policies.baselines.consistency import SELF_CONSISTENCY
from schemas.outcome import Outcome
from streams.answering.grading.opinions import by_sympy
from streams.research.trials.play import play

PLANETS = "Which planet is the largest?\n(A) Mars\n(B) Jupiter\n(C) Venus"
CAPITALS = "What is the capital of Australia?\nA. Sydney\nB. Perth\nC. Canberra"

SAID: list[tuple[str, References, Outcome]] = [
    # what a strong model said, and what was made of it: findings on replies
    ("Besançon, France", "Besançon", "unknown"),
    ("Besançon, France", ("Besançon", "Besançon, France"), "right"),
    ("Besancon", "Besançon", "right"),
    ("a knave", "knave", "right"),
    ("A knave.", "Knave", "right"),
    ("a knight", "knave", "wrong"),
    ("The final pressure is the same as the initial pressure.", "the same", "unknown"),
    ("The balloon tilts forward, toward the front of the car.", "It tilts forward", "unknown"),
    ("Only Bob tells the truth.", "Bob", "unknown"),
    ("12:50 PM", "12:50 p.m.", "right"),
    ("12:50 PM", "12:50 a.m.", "wrong"),
    ("15:30", "3:30 p.m.", "right"),
    ("3:30", "3:30 p.m.", "unknown"),
    ("unchanged", "the same", "unknown"),
    ("UK", "United Kingdom", "unknown"),
    ("UK", ("United Kingdom", "UK"), "right"),
    ("U.K.", ("United Kingdom", "UK"), "right"),
    ("France", ("United Kingdom", "UK"), "unknown"),
    ("90 minutes", "1.5 hours", "right"),
    ("90 minutes", "1 hour and 30 minutes", "right"),
    ("90 minutes", "2 hours", "wrong"),
    ("5 hours", "5 minutes", "wrong"),
    ("90 minutes", "1.5", "unknown"),
    ("90 minutes", "90", "right"),
    ("90 minutes", "91", "wrong"),
    ("50 \\text{ km/h}", "50 km per hour", "right"),
    ("13.9 m/s", "50 km/h", "unknown"),
    ("3 m", "3 s", "unknown"),
    ("3 cm and 4 cm", "7 cm", "wrong"),
    ("25 °C", "25 ^\\circ C", "right"),
    ("25 °C", "77 °F", "unknown"),
    ("P. B. Shelley", "P.B. Shelley", "right"),
    ("P. B. Shelley", "Percy Bysshe Shelley", "unknown"),
    ("P. B. Shelley", ("Percy Bysshe Shelley", "PB Shelley"), "right"),
    ("[1, 2] [4]", "[1, 2, 3] [4]", "wrong"),
    ("[1, 2, 3][4]", "[1, 2, 3] [4]", "right"),
    ("[2][3]", "6", "unknown"),
    # newcomers
    ("NYC", "New York City", "unknown"),
    ("NYC", ("New York City", "NYC"), "right"),
    ("café", "cafe", "right"),
    ("Yes", "true", "right"),
    ("Yes, it does.", "true", "right"),
    ("No", "True", "wrong"),
    ("No one knows.", "True", "unknown"),
    ("Catch-22", "catch-22", "right"),
    ("World War 2", "the World War 2", "right"),
    ("нет", "Нет", "right"),
    ("none", "0", "unknown"),
    ("Wednesday", "Thursday", "wrong"),
]


@pytest.mark.parametrize(("answer", "reference", "outcome"), SAID)
def test_what_was_said(answer: str, reference: References, outcome: Outcome) -> None:
    assert grade_reference(answer, reference).outcome == outcome


@pytest.mark.parametrize(
    ("answer", "reference", "problem", "outcome"),
    [
        ("Canberra", "C", CAPITALS, "right"),
        ("C", "Canberra", CAPITALS, "right"),
        ("Perth", "C", CAPITALS, "wrong"),
        ("b", "Canberra", CAPITALS, "wrong"),
        ("the capital", "C", CAPITALS, "unknown"),
        ("(B) Jupiter", "Jupiter", PLANETS, "right"),
        ("(B) Jupiter", "Jupiter", "", "right"),
        ("Jupiter", "(B)", PLANETS, "right"),
    ],
)
def test_options_by_letter_or_text(
    answer: str, reference: str, problem: str, outcome: Outcome
) -> None:
    assert grade_reference(answer, reference, problem=problem).outcome == outcome


def test_the_best_alias_counts_and_is_named() -> None:
    grade = grade_reference("UK", ["United Kingdom", "UK"])
    assert (grade.outcome, grade.detail) == ("right", "equal; by alias 'UK'")
    f1 = grade_reference("New York", ["Boston", "New York City"], dataset="hotpotqa").f1
    assert f1 == pytest.approx(0.8)


def test_a_list_of_texts_holds_aliases_and_one_of_numbers_is_a_value() -> None:
    assert references_of(["UK", "United Kingdom"]) == ("UK", "United Kingdom")
    assert references_of([1, 2]) == "[1,2]"
    assert references_of(True) == "true"
    assert references_of([]) == "[]"


def test_the_rules_of_data_sets_fold_too() -> None:
    assert exact_match("Besancon", "Besançon") == "right"
    assert scibench("90 minutes", "1.5 hours") == "right"
    assert scibench("90 minutes", "1.5 m") == "unknown"


def test_short_words_are_no_product_of_symbols() -> None:
    assert by_sympy("NYC", "C") == "unknown"
    assert by_sympy("abc", "a*b*c") == "right", "three letters may be"
    assert by_sympy("abcd", "a*b*c*d") == "unknown", "four are a word"


# ── Votes ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answers", "problem", "winner", "votes"),
    [
        (["B", "B", "B", "(B) Jupiter", "Jupiter"], PLANETS, "B", 5),
        (["1/2", "0.5", "\\frac12", "2"], "", "1/2", 3),
        (["90 minutes", "1.5 hours", "90", "100"], "", "90 minutes", 3),
        (["5 hours", "5 minutes", "5"], "", "5 hours", 1),
        (["Yes", "true", "No"], "", "Yes", 2),
        (["Besançon", "Besancon", "Paris"], "", "Besançon", 2),
        (["50%", "0.5", "5"], "", "50%", 2),
        (["2 1/2", "21/2"], "", "2 1/2", 1),
        (["\\{1, 2\\}", "\\{2, 1\\}"], "", "\\{1, 2\\}", 2),
    ],
)
def test_equal_answers_vote_as_one(
    answers: list[str], problem: str, winner: str, votes: int
) -> None:
    assert vote(answers, problem) == (winner, votes)


def test_a_policy_votes_by_what_answers_say() -> None:
    said = [f"Final_answer: {each}" for each in ("A", "A", "(B) Jupiter", "Jupiter", "B")]
    task = Task("t", PLANETS, "default", seed=0)
    found = play(SELF_CONSISTENCY.solve(task, SELF_CONSISTENCY.settings()), *said)
    assert (found.answer, found.confidence) == ("(B) Jupiter", 0.6)


# ── Laws of the canonical form ───────────────────────────────────────────────────────────────

PIECES = ["1", "2", ".", ",", "/", "%", "-", "(", ")", "[", "]", "{", "}", " ", "x=", "=", "\\frac", "\\sqrt",
          "\\text{", "cm", " minutes", " h", " and ", "a ", "the ", "East", "Besançon", "P. B. ", "é", "^", "$",
          "\\boxed{", "\"", "'", "’", "°", "²", "p.m.", ":", "yes", "ø", "\u0301", "İ", "ß"]  # fmt: skip
ANSWERS = st.text(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


@given(ANSWERS)
def test_the_canonical_spelling_is_its_own(text: str) -> None:
    spelt = canonical(text)
    assert canonical(spelt) == spelt


@given(ANSWERS, ANSWERS)
def test_equality_has_no_direction(a: str, b: str) -> None:
    assert equal(a, b) == equal(b, a)
    assert alike(a, b) == alike(b, a)


@given(st.lists(ANSWERS, max_size=5), st.randoms())
def test_who_is_alike_hangs_on_no_order(answers: list[str], dice: object) -> None:
    turned = answers[::-1]
    assert kinds(answers) == kinds(turned)[::-1]


@given(ANSWERS, ANSWERS)
def test_what_votes_as_one_is_never_graded_wrong(a: str, b: str) -> None:
    if alike(a, b):
        assert equal(a, b) != "wrong"


@pytest.mark.parametrize("text", ["minutes", "m/s^2", "square inches", "kWh", "miles per hour"])
def test_units_are_read(text: str) -> None:
    assert unit(text) is not None


@pytest.mark.parametrize("text", ["", "apples", "km per", "/", "per hour per", "m^x"])
def test_what_is_no_unit_is_none(text: str) -> None:
    assert unit(text) is None
