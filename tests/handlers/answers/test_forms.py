"""Answers of a type: what has its form, the one way to write it, and what is said of all else."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.forms import (
    by_rules,
    canonical,
    compared,
    form,
    known,
    settled,
    task,
    unfit,
)
from handlers.answers.forms_choice import listed
from handlers.answers.units import unit
from handlers.answers.value import read
from schemas.answer_type import AnswerType, WrongForm

COLOURS = AnswerType(type="choice", options=("red", "dark green", "light green"))
POINT = AnswerType(
    type="json",
    schema={
        "type": "object",
        "properties": {"x": {"type": "integer", "minimum": 0}, "name": {"type": "string"}},
        "required": ["x"],
        "additionalProperties": False,
    },
)


def of(type: str, **more: Any) -> AnswerType:
    return AnswerType.model_validate({"type": type, **more})


@pytest.mark.parametrize(
    ("said", "answer", "written"),
    [
        (of("number"), "42", "42"),
        (of("number"), "1,234.50", "1234.5"),
        (of("number"), r"\frac{1}{2}", "0.5"),
        (of("number"), "1/3", "1/3"),
        (of("number"), "-0.05", "-0.05"),
        (of("number"), "0,125", "0.125"),
        (of("number", unit="km"), "−0,125 km", "-0.125 km"),
        (of("number", unit="EUR"), "€ 0,50", "0.5 EUR"),
        (of("number"), "12 apples", "12"),
        (of("number"), "$1,200", "1200"),
        (of("number"), "50%", "50%"),
        (of("number", unit="h"), "90 minutes", "1.5 h"),
        (of("number", unit="h"), r"1.5 \text{ hours}", "1.5 h"),
        (of("number", unit="h"), "1 h 30 min", "1.5 h"),
        (of("number", unit="h"), "1.5", "1.5 h"),
        (of("number", unit="USD"), "$9.50", "9.5 USD"),
        (of("number"), "2 million", "2000000"),
        (of("number"), r"2\frac{1}{2}", "2.5"),
        (of("number"), "½", "0.5"),
        (of("number"), "50 percent", "50%"),
        (of("number"), r"\approx 3.5", "3.5"),
        (of("number"), "**42**", "42"),
        (of("number"), "minus 5", "-5"),
        (of("number", unit="h"), r"t = 90 \text{ min}", "1.5 h"),
        (of("number", unit="h"), r"5.4\times 10^{3}\text{ s}", "1.5 h"),
        (of("number", unit="h"), "1 1/2 hours", "1.5 h"),
        (of("number", unit="USD"), "$1.5 million", "1500000 USD"),
        (of("number", unit="USD"), "USD 9.50", "9.5 USD"),
        (of("number", unit="EUR"), "9.50 €", "9.5 EUR"),
        (of("expression"), "x", "x"),
        (of("expression"), r"\frac{\pi}{2}", r"\frac{\pi}{2}"),
        (of("expression"), "x^2 + 1", "x^2 + 1"),
        (of("yes_no"), "**Yes.**", "yes"),
        (of("yes_no"), "No, it is not.", "no"),
        (of("yes_no"), "True", "yes"),
        (of("yes_no"), r"\text{Yes}", "yes"),
        (of("yes_no"), "Yes, because no prime divides it", "yes"),
        (of("yes_no"), "The statement is true.", "yes"),
        (of("text"), " Percy Shelley ", "Percy Shelley"),
        (of("code"), "```python\ndef f():\n    return 1\n```", "def f():\n    return 1"),
        (COLOURS, "A", "red"),
        (COLOURS, "(b)", "dark green"),
        (COLOURS, "Option C.", "light green"),
        (COLOURS, r"\text{(B)}", "dark green"),
        (COLOURS, "b) dark green", "dark green"),
        (COLOURS, "Dark Green", "dark green"),
        (COLOURS, "B (dark green)", "dark green"),
        (COLOURS, "dark green (B)", "dark green"),
        (COLOURS, "The correct option is B.", "dark green"),
        (COLOURS, "I think the option is B", "dark green"),
        (COLOURS, "I think it is (B)", "dark green"),
        (COLOURS, "Answer: (B) – dark green", "dark green"),
        (COLOURS, "B) because the others are wrong", "dark green"),
        (of("choice", options=["args", "*args", "**args"]), "C", "**args"),
        (of("choice", options=["5", ".5", "0.05"]), "B", ".5"),
        (of("json", schema={"type": "string"}), "Paris", '"Paris"'),
        (of("json", schema={"enum": ["red", 1]}), "1.0", "1"),
        (POINT, '{"x": 3}', '{"x":3}'),
        (POINT, '```json\n{"x": 3, "name": "p"}\n```', '{"name":"p","x":3}'),
    ],
)
def test_an_answer_is_written_one_way(said: AnswerType, answer: str, written: str) -> None:
    assert canonical(said, answer) == written
    assert canonical(said, written) == written, "writing it again changes nothing"


@pytest.mark.parametrize(
    ("said", "answer", "why"),
    [
        (of("number"), "quite a lot", "no number"),
        (of("number"), r"\sqrt{2}", "no number"),
        (of("number", unit="h"), "3 km", "another kind of unit than h"),
        (of("number", unit="h"), "50%", "percentage"),
        (of("number"), "10-12", "no number"),
        (of("number"), "5M", "may be a scale"),
        (of("number"), "5k", "may be a scale"),
        (of("number"), "5 ‰", "may be a scale"),
        (of("yes_no"), "It is not the case that the claim is true.", "neither yes nor no"),
        (of("yes_no"), "Nobody can say whether it is true", "neither yes nor no"),
        (of("yes_no"), "I don't think that it is true", "neither yes nor no"),
        (of("yes_no"), "I don’t think that it is true", "neither yes nor no"),
        (of("yes_no"), "The opposite is true", "neither yes nor no"),
        (of("yes_no"), "It is unlikely that it is true", "neither yes nor no"),
        (of("number"), "$5K", "may be a scale"),
        (of("number"), "€2m", "may be a scale"),
        (of("number"), "5 Mrd", "may be a scale"),
        (of("number"), "5 Bn", "may be a scale"),
        (COLOURS, "It isn’t (B)", "names none of the options"),
        (COLOURS, "The correct answer is not option (B)", "names none of the options"),
        (COLOURS, "It is not (A)", "names none of the options"),
        (COLOURS, "It can't be red, and it isn't (A)", "names none of the options"),
        (of("number", unit="h"), "90 minutes each", "a unit that nobody knows here"),
        (of("number", unit="km"), "3 light-years", "a unit that nobody knows here"),
        (of("number", unit="EUR"), "$5", "another kind of unit than EUR"),
        (of("expression"), "I do not know the answer", "a sentence"),
        (of("expression"), " ", "empty"),
        (of("yes_no"), "No idea", "neither yes nor no"),
        (of("yes_no"), "Yes, no", "neither yes nor no"),
        (COLOURS, "(A) and (B)", "another beside it"),
        (COLOURS, "A) it is dark green", "another beside it"),
        (COLOURS, "a dark one", "none of the options"),
        (POINT, '{"x": 1e400}', "too large"),
        (of("yes_no"), "perhaps", "neither yes nor no"),
        (of("yes_no"), "yes or no", "neither yes nor no"),
        (of("text"), "  ", "empty"),
        (COLOURS, "blue", "none of the options A, B, C"),
        (COLOURS, "D", "none of the options A, B, C"),
        (COLOURS, "a) dark green", "one option by its letter and another beside it"),
        (POINT, "x is 3", "no JSON value"),
        (POINT, '{"x": -1}', "at ['x']: minimum 0"),
        (POINT, '{"name": "p"}', 'required ["x"]'),
        (POINT, '{"x": 1, "y": 2}', "additionalProperties false"),
        (POINT, '{"x": 184467440737095516160}', "more than 64 bits"),
        (POINT, "[" * 20_000, "longer than 16,384 characters"),
        (of("json", schema={"type": "array"}), "[" * 9_000, "no JSON value"),
        (of("json", schema={"type": "number"}), "NaN", "no JSON value"),
    ],
)
def test_an_answer_of_another_form_is_none_and_what_is_wrong_is_said(
    said: AnswerType, answer: str, why: str
) -> None:
    with pytest.raises(WrongForm) as refused:
        canonical(said, answer)
    assert why in str(refused.value)


@given(st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**6))
def test_a_number_keeps_its_value_to_the_last_digit(exact: Fraction) -> None:
    """Of whatever spelling: as a ratio, and as it was written canonically."""
    written = canonical(of("number"), f"{exact.numerator}/{exact.denominator}")
    assert read(written).number == exact
    assert canonical(of("number"), written) == written


UNITS = [("h", "min"), ("km/h", "m/s"), ("m", "inch"), ("kg", "g"), ("m^2", "cm^2")]


@given(st.sampled_from(UNITS), st.integers(1, 10_000))
def test_a_measure_is_converted_exactly(pair: tuple[str, str], count: int) -> None:
    wanted, other = pair
    told, meant_unit = unit(other), unit(wanted)
    assert told is not None
    assert meant_unit is not None
    number, _, name = canonical(of("number", unit=wanted), f"{count} {other}").partition(" ")
    assert name == wanted
    assert read(number).number == count * told.factor / meant_unit.factor


OPTIONS = st.lists(st.text("abcdefgh", min_size=2, max_size=9), min_size=2, max_size=8, unique=True)


@given(OPTIONS, st.data())
def test_an_option_is_told_by_letter_and_text_alike(listed: list[str], data: st.DataObject) -> None:
    said = AnswerType(type="choice", options=tuple(listed))
    at = data.draw(st.integers(0, len(listed) - 1))
    letter = "ABCDEFGH"[at]
    spelled = data.draw(
        st.sampled_from(
            ("{}", "({})", "{})", "{}.", "**{}**", "Option {}", "{}) {text}", "{}: {text}")
        )
    )
    assert canonical(said, spelled.format(letter, text=listed[at])) == listed[at]
    assert canonical(said, listed[at].upper()) == listed[at]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, st.booleans())
def test_a_json_value_says_the_same_however_it_was_spelled(value: Any, wide: bool) -> None:
    said = AnswerType(type="json", schema={})
    spelled = json.dumps(value, indent=2 if wide else None, ensure_ascii=wide)
    written = canonical(said, f"```json\n{spelled}\n```" if wide else spelled)
    assert json.loads(written) == value
    if not isinstance(value, str):  # which is spelled JSON itself
        assert canonical(said, json.loads(written)) == written


@given(st.text(max_size=60))
def test_nothing_that_a_model_writes_raises_anything_else(text: str) -> None:
    for said in (
        of("number"),
        of("number", unit="h"),
        COLOURS,
        POINT,
        of("yes_no"),
        of("expression"),
    ):
        try:
            written = canonical(said, text)
        except WrongForm:
            continue
        assert canonical(said, written) == written


def test_options_may_stand_in_the_problem() -> None:
    problem = "Which is a prime?\nA) 4\nB) 7\nC) 9"
    said = known(of("choice"), problem)
    assert said.options == ("4", "7", "9")
    assert canonical(said, "B") == "7"
    assert task(said, problem) is None
    assert form(said, problem) == "The answer is the letter of the right option and nothing else."
    with pytest.raises(ValueError, match=r"options: missing"):
        known(of("choice"), "Which is a prime?")


def test_options_that_the_problem_does_not_list_are_shown_to_whoever_answers_and_judges() -> None:
    listed = "A) red\nB) dark green\nC) light green"
    assert form(COLOURS, "Which?").endswith(listed)
    assert task(COLOURS, "Which?") == f"The options:\n{listed}"


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ("Evaluate f(c) at c=2. (A) 1 (B) 2 (C) 3", ("1", "2", "3")),
        ("Which is a prime? A) 21 B) 17 C) 9", ("21", "17", "9")),
        ("A) red, B) green, or C) dark blue", ("red", "green", "dark blue")),
        ("(A) red (dark)\n(B) blue (light)", ("red (dark)", "blue (light)")),
        ("**A)** .5\n**B)** .25", (".5", ".25")),
        ("Which?\na. one\nb. two", ("one", "two")),
        ("(B) x (A) y", ()),
        ("(A) x (C) y", ()),
        ("Which?", ()),
    ],
)
def test_options_are_those_with_letters_from_a_on(problem: str, options: tuple[str, ...]) -> None:
    assert listed(problem) == options


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"items": {"oneOf": [{"const": n} for n in range(600)]}}, "[" + "1," * 7_999 + "1]"),
        ({"items": {"enum": [*range(2, 1_900), 1]}}, "[" + "1," * 7_999 + "1]"),
        ({"uniqueItems": True}, str([[n] for n in range(2_300)])),
        ({"multipleOf": 0.1}, "1" + "0" * 400),
        ({"uniqueItems": True}, f"[{'[' * 900}{']' * 900},{'[' * 900}{']' * 900}]"),
    ],
)
def test_no_schema_and_answer_take_long_together(schema: dict[str, Any], answer: str) -> None:
    began = process_time()
    with suppress(WrongForm):
        canonical(of("json", schema=schema), answer)
    assert process_time() - began < 2


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (of("number", unit="frobs"), "unit: "),
        (of("json", schema={"type": "nothing"}), "schema: type: "),
        (
            of("json", schema={"properties": {"a": {"minimum": "low"}}}),
            "schema: properties.a.minimum: ",
        ),
    ],
)
def test_what_nobody_could_answer_by_is_refused(said: AnswerType, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        known(said, "p")


def test_equal_forms_are_right_and_all_others_wrong() -> None:
    assert _outcome(COLOURS, "dark green", "B") == "right"
    assert _outcome(COLOURS, "red", "B") == "wrong"
    assert _outcome(COLOURS, "red", ("B", "A")) == "right", "aliases: the best counts"
    assert _outcome(of("yes_no"), "yes", "true") == "right"
    assert _outcome(POINT, '{"x":3}', '{ "x": 3 }') == "right"
    assert _outcome(POINT, '{"x":3}', '{"x": 4}') == "wrong"
    assert settled(COLOURS, None, "A") is None
    assert settled(of("number"), "2", "2") is None, "numbers have rules of their own"


def _outcome(said: AnswerType, answer: str, references: str | tuple[str, ...]) -> str:
    grade = settled(said, answer, references)
    assert grade is not None
    return grade.outcome


def test_references_are_meant_as_answers_are() -> None:
    hours = of("number", unit="h")
    assert compared("d", hours, "90 minutes").references == "1.5 h"
    assert compared("d", hours, ["90 minutes", "an age"]).references == ("1.5 h", "an age")
    assert compared("d", of("code"), "assert f()").dataset == "python"
    assert compared("d", None, "B").references == "B"


def test_a_label_that_no_answer_of_the_type_can_equal_makes_none_wrong() -> None:
    grade = by_rules("dark green", "D", "d", "", COLOURS)
    assert (grade.outcome, grade.grader) == ("unknown", "typed@1")
    assert by_rules("1.5 h", "B", "d", "", of("number", unit="h")).outcome == "unknown"
    assert "names none of the options" in (unfit(COLOURS, "D") or "")
    assert unfit(COLOURS, ["A", "red"]) is None
    assert unfit(of("code"), "assert f()") is None
