"""Numbers as people say them: not quite sure, in dozens and millions, in the small signs of a keyboard."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.alike import vote
from handlers.answers.dataset_rules import scibench, theoremqa
from handlers.answers.equal import equal
from handlers.answers.forms_number import number_form
from handlers.answers.units import SCALES
from handlers.answers.value import read
from schemas.answer_type import AnswerType, WrongForm
from schemas.outcome import Outcome
from tests.pace import within

HEDGES = (
    *("about", "Approximately", "approx.", "approx", "roughly", "around", "circa", "exactly"),
    *("precisely", "only", "just", "a total of", "≈", "\\approx", "~", "only about"),
)
BEHIND = ("or so", "approximately", "(approx.)", "(roughly)")


@given(st.sampled_from(HEDGES), st.integers(-9_999, 9_999), st.integers(-9_999, 9_999))
def test_a_number_that_is_hedged_is_that_number(hedge: str, said: int, wanted: int) -> None:
    expected: Outcome = "right" if said == wanted else "wrong"
    assert equal(f"{hedge} {said}", str(wanted)) == expected


@given(st.sampled_from(BEHIND), st.integers(0, 9_999), st.integers(0, 9_999))
def test_a_hedge_may_stand_behind_its_number(hedge: str, said: int, wanted: int) -> None:
    expected: Outcome = "right" if said == wanted else "wrong"
    assert equal(f"{said} {hedge}", str(wanted)) == expected


@given(
    st.sampled_from(sorted(SCALES)),
    st.integers(1, 999),
    st.sampled_from(("", " people", " dollars", " of eggs")),
)
def test_a_scaled_number_is_that_many_or_so_many_of_them(
    scale: str, count: int, things: str
) -> None:
    """A problem that asks "how many millions" has the bare number for its reference."""
    answer = f"{count} {scale}{things}"
    assert equal(answer, str(count * SCALES[scale])) == "right"
    assert equal(answer, str(count)) == ("right" if SCALES[scale] >= 1_000 else "unknown")
    assert equal(answer, str(count * SCALES[scale] * 2 + 1)) == "wrong"
    assert equal(answer, f"{count * SCALES[scale]} dollars") in ("right", "unknown")


@pytest.mark.parametrize(
    ("answer", "reference", "outcome"),
    [
        ("roughly 3.5 hours", "210 minutes", "right"),
        ("about $42", "42", "right"),
        ("around (-3)", "-3", "right"),
        ("about 42", "41.9", "wrong"),
        ("at least 42", "42", "unknown"),
        ("fewer than 42", "43", "wrong"),
        ("the answer is 42", "42", "unknown"),
        ("about time", "42", "wrong"),
        ("5 is about 3", "3", "unknown"),
        ("about −3.5", "-3.5", "right"),
        (r"$\approx 42$", "42", "right"),
        ("x ≈ 5", "5", "right"),
        ("x = about 5", "5", "right"),
        ("approximately **42**", "42", "right"),
        (r"\approx \frac{22}{7}", "22/7", "right"),
        ("about 42 or more", "42", "unknown"),
        ("42 or more", "42", "unknown"),
        ("42 is wrong", "42", "unknown"),
        ("exactly 5 more than x", "5", "unknown"),
        ("at least 2.5", "2.5", "unknown"),
        ("at least 2.5", "25", "wrong"),
        ("at least 2.5", "at least 25", "unknown"),
        ("The result is -5", "-5", "unknown"),
        ("The probability is 25%", "1/4", "unknown"),
        ("42 or so they say", "42", "unknown"),
        ("⅓", "1/3", "right"),
        ("2½", "2.5", "right"),
        ("-2 ½", "-5/2", "right"),
        ("1⁄3", "1/3", "right"),
        ("2½ hours", "150 minutes", "right"),
        ("2 1/2 hours", "2.4 hours", "wrong"),
        ("3×10⁻³", "0.003", "right"),
        ("10²³", "10^{23}", "right"),
        ("x⁻¹", "x^{-1}", "right"),
        ("5 m²", "5 m^2", "right"),
        ("forty-two", "42", "right"),
        ("ninety nine", "98", "wrong"),
        ("two hundred", "200", "right"),
        ("two hundred and five", "205", "unknown"),
        ("2 hundred thousand", "200000", "right"),
        ("1.5 million dollars", "1500000 dollars", "right"),
        ("1.5 million dollars", "150000000 cents", "right"),
        ("1.5 million", "1.6 million", "wrong"),
        ("5 thousand metres", "5 km", "right"),
        ("5 hundredths", "500", "wrong"),
        ("One hundred years of solitude", "one hundred years of Solitude", "right"),
        ("Three million dollars", "3000000", "right"),
        ("$1.5 million", "1.5 million dollars", "right"),
        ("5 million km", "5 million", "right"),
        ("5 crore", "50 million", "right"),
        ("2 million", "2000 thousand", "right"),
        ("2 million", "2000000 thousand", "wrong"),
        ("2 thousand", "2", "right"),
        ("two thousand", "2", "unknown"),
        ("two hundred", "2", "unknown"),
        ("2 dozen boiled eggs", "24", "unknown"),
        ("2 dozen boiled eggs", "2", "unknown"),
        ("one hundred x", "100", "unknown"),
        ("2 million or more", "2000000", "unknown"),
        ("two million less", "2000000", "unknown"),
        ("3 thousand BC", "3000", "unknown"),
        ("2 hundred billionths", "200", "unknown"),
        ("two thousand per month", "2000 per year", "unknown"),
        ("x = 2½", "5/2", "right"),
        ("(2½, 3)", "(2.5,3)", "right"),
        ("2½x", "x", "unknown"),
        ("x^½", "x^1/2", "unknown"),
        ("3 million + 2", "3000002", "unknown"),
    ],
)
def test_cases(answer: str, reference: str, outcome: Outcome) -> None:
    assert equal(answer, reference) == equal(reference, answer) == outcome


def test_such_spellings_vote_for_one_answer() -> None:
    assert vote(["1.5 million", "7", "about 1,500,000", "1500000 or so"]) == ("1.5 million", 3)
    assert vote(["2½", "7", "5/2"]) == ("2½", 2)
    assert vote(["2 dozen eggs", "24", "25"]) == ("2 dozen eggs", 2)


def test_a_count_is_a_number_of_ones() -> None:
    value = read("3 thousand people")
    assert value.number is not None
    assert value.unit is not None
    assert value.number * value.unit.scale == Fraction(3_000)


@pytest.mark.parametrize("text", ["about " * 600, "million " * 500, "½" * 4_000, "⁹" * 4_000])
def test_hostile_ones_take_bounded_time(text: str) -> None:
    within(0.2, lambda: equal(text, "7"))


@pytest.mark.parametrize(
    ("said", "unit", "found"),
    [
        ("two million dollars", "USD", "2000000 USD"),
        ("about two thousand", "km", "2000 km"),
        ("one million", None, "1000000"),
        ("2½", None, "2.5"),
        ("about 2½ hours", "min", "150 min"),
        ("two thousand yen", "USD", None),
        ("one hundred percent", "USD", None),
        ("two hundred light years", "km", None),
        ("one hundred x", None, None),
        ("two million or more", None, None),
    ],
)
def test_a_typed_number_is_of_what_was_asked_for(
    said: str, unit: str | None, found: str | None
) -> None:
    wanted = AnswerType(type="number", unit=unit)
    if found is None:
        with pytest.raises(WrongForm):
            number_form(wanted, said)
    else:
        assert number_form(wanted, said) == found


def test_tolerances_are_held_to_the_whole_number() -> None:
    for rule in (theoremqa, scibench):
        assert rule("two dozen", "24") == "right"
        assert rule("1.5 million", "1500000") == "right"
        assert rule("1.5 million", "1.5") == "wrong"
        assert rule("2½", "2.5") == "right"
    assert scibench("2.5×10⁻³ m", "0.0025") == "right"
    assert scibench("1.6 × 10⁻¹⁹", "1.6") == "wrong"
