"""Answers of a type in every spelling that is read: options, numbers and JSON values, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.answers.forms_choice import choice_form, listed
from handlers.answers.forms_json import JSON_CHARS, fenced, json_form
from handlers.answers.forms_number import LINE, number_form
from schemas.answer_type import AnswerType, WrongForm


def of(type: str, **more: Any) -> AnswerType:
    return AnswerType.model_validate({"type": type, **more})


COLOURS = of("choice", options=["red", "dark green", "light green", "1/2"])


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ('red', 'red'),
        ('RED ', 'red'),
        (' dark   green', 'dark green'),
        ('dark green.', 'dark green'),
        ("'light green'", 'light green'),
        ('**light green**', 'light green'),
        ('A', 'red'),
        ('d', '1/2'),
        ('(C)', 'light green'),
        ('[b]', 'dark green'),
        ('Option B', 'dark green'),
        ('answer c', 'light green'),
        ('the final answer: D', '1/2'),
        ('Final answer = a', 'red'),
        ('Answer is B', 'dark green'),
        ('the answer is (b)', 'dark green'),
        ('The best is dark green (B)', 'dark green'),
        ('B – dark green', 'dark green'),
        ('B dark', 'dark green'),
        ('B green', 'dark green'),
        ('A. red or so', 'red'),
        ('a', 'red'),
        ('0.5', '1/2'),
        ('C) light', 'light green'),
        ('A: it is', 'red'),
    ],
)  # fmt: skip
def test_an_option_is_named_by_its_text_its_letter_or_its_value(answer: str, option: str) -> None:
    assert choice_form(COLOURS, answer) == option


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ('choice: b', 'names none of the options'),
        ('dark green (A)', 'names one option by its letter and another beside it'),
        ('A) not light green', 'names one option by its letter and another beside it'),
        ('A) not (B)', 'names one option by its letter and another beside it'),
        ('A and B', 'names one option by its letter and another beside it'),
        ('A or C', 'names one option by its letter and another beside it'),
        ('A/B', 'names none of the options'),
        ('a dark one', 'names none of the options'),
        ('A: D', 'names one option by its letter and another beside it'),
        ('half', 'names none of the options'),
        ('E', 'names none of the options'),
        ('E) x', 'names none of the options'),
        ('red and dark green', 'names none of the options'),
        ('B (light green)', 'names one option by its letter and another beside it'),
        ('B) because A) is wrong', 'names one option by its letter and another beside it'),
        ('', 'names none of the options'),
        ('green', 'names none of the options'),
        ('B: Red is wrong', 'names one option by its letter and another beside it'),
    ],
)  # fmt: skip
def test_what_names_no_option_or_two_is_told_why(answer: str, why: str) -> None:
    with pytest.raises(WrongForm) as refused:
        choice_form(COLOURS, answer)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ('A) x\nB) y', ('x', 'y')),
        ('- a. x\n- b. y', ('x', 'y')),
        ('A: one\nB: two', ('one', 'two')),
        ('> **A.** one\n> **B)** two', ('one', 'two')),
        ('(A) x; (B) y or (C) z.', ('x', 'y', 'z.')),
        ('A) x\nC) y', ()),
        ('x (a) y', ()),
        ('A) one\nB) two\n\nNow:\nA) three\nB) four', ('three', 'four')),
        ('A) one\nB) two\nA) three', ()),
        ('(1) x (2) y', ()),
        ('A. x (a) y (b) z', ('y', 'z')),
        ('a) x b) y', ('x', 'y')),
        ('A) x b) y', ()),
        ('A. only', ()),
    ],
)  # fmt: skip
def test_options_stand_on_lines_or_in_a_row_from_a_on(
    problem: str, options: tuple[str, ...]
) -> None:
    assert listed(problem) == options


def number(unit: str | None) -> AnswerType:
    return of("number", **({} if unit is None else {"unit": unit}))


@pytest.mark.parametrize(
    ("unit", "answer", "written"),
    [
        (None, '5', '5'),
        (None, '-5', '-5'),
        (None, 'x = about 5', '5'),
        (None, 'approximately 3.5', '3.5'),
        (None, '~ 7', '7'),
        (None, '(5)', '5'),
        (None, 'five', '5'),
        (None, '5 dozen', '60'),
        (None, '2 hundred thousand', '200000'),
        (None, '3 thousands', '3000'),
        (None, '5 apples', '5'),
        (None, '50 percent', '50%'),
        (None, '50 per cent', '50%'),
        (None, '50\\%', '50%'),
        (None, '1 234 567', '1234567'),
        (None, '1,234', '1234'),
        (None, '5e3', '5000'),
        (None, '1 1/2', '1.5'),
        (None, '¾', '0.75'),
        (None, '2½', '2.5'),
        (None, '1/3', '1/3'),
        (None, '1/8', '0.125'),
        (None, '1/4096', '0.000244140625'),
        (None, '1/8192', '1/8192'),
        (None, '-1/8', '-0.125'),
        (None, '1e-12', '0.000000000001'),
        (None, '1e-13', '1/10000000000000'),
        (None, '3/7', '3/7'),
        (None, '$5', '5'),
        (None, '5$', '5'),
        (None, 'US$5', '5'),
        (None, '€5', '5'),
        (None, '£5 million', '5000000'),
        (None, 'minus .5', '-0.5'),
        (None, '5 =', '5'),
        ('h', '90 min', '1.5 h'),
        ('h', '90', '90 h'),
        ('h', '90 s', '0.025 h'),
        ('h', '90 h', '90 h'),
        ('m', '5 ft', '1.524 m'),
        ('USD', '$5', '5 USD'),
        ('USD', '50 cents', '0.5 USD'),
        ('frob', '5 frob', '5 frob'),
        ('frob', '5 Frob', '5 frob'),
        ('frob', '5 m', '5 frob'),
        ('km/h', '10 m/s', '36 km/h'),
        (None, '`5`', '5'),
        (None, '*5*', '5'),
        (None, '5..', '5'), (None, '5E3 apples', '5000'), (None, '5 apples\nor so', '5'),
        (None, '5 m', '5'),
    ],
)  # fmt: skip
def test_a_number_is_written_one_way(unit: str | None, answer: str, written: str) -> None:
    assert number_form(number(unit), answer) == written


@pytest.mark.parametrize(
    ("unit", "answer", "why"),
    [
        (None, '(5) (6)', 'is no number'),
        (None, 'the first 3 are 5', 'is no number'),
        (None, '5 of 6', 'is no number'),
        (None, '12,34', 'is no number'),
        (None, '5 x 10^3', 'is no number'),
        (None, '5×10^{-2}', 'is no number'),
        ('h', '90 light-years', 'is in a unit that nobody knows here; give it in h'),
        ('h', '90%', 'is a percentage, and a number in h is asked for'),
        ('USD', '5 EUR', 'is in another kind of unit than USD'),
        ('m', '5 and 6 m', 'is no number'),
        ('h', 'USD 5', 'is in another kind of unit than h'),
        ('USD', 'CHF 5', 'is in a unit that nobody knows here; give it in USD'),
    ],
)  # fmt: skip
def test_what_is_no_number_of_the_unit_is_told_why(unit: str | None, answer: str, why: str) -> None:
    with pytest.raises(WrongForm) as refused:
        number_form(number(unit), answer)
    assert str(refused.value) == why


def test_a_number_has_as_many_digits_as_can_be_written_and_no_line_is_searched_beyond_its_bound() -> (
    None
):
    assert number_form(number(None), "9" * 400) == "9" * 400
    assert number_form(number(None), "1e900") == "1" + "0" * 900
    with pytest.raises(WrongForm, match="no number"):
        number_form(number(None), f"5 {'x' * LINE}")
    assert number_form(number(None), f"5 {'x' * (LINE - 3)}") == "5"


@pytest.mark.parametrize(
    ("schema", "answer", "written"),
    [
        ({}, '5', '5'),
        ({}, '5.0', '5'),
        ({}, '1.5', '1.5'),
        ({}, '[1.0,true,null]', '[1,true,null]'),
        ({}, '9007199254740993.0', '9007199254740992'),
        ({}, '9007199254740992.0', '9007199254740992'),
        ({}, '18446744073709551615', '18446744073709551615'),
        ({}, '-9223372036854775808', '-9223372036854775808'),
        ({'type': 'string'}, 'x', '"x"'),
        ({'type': 'string'}, '"x"', '"x"'),
        ({'type': 'string'}, '5', '"5"'),
        ({'enum': ['a']}, 'a', '"a"'),
        ({'const': 'a'}, ' a ', '"a"'),
        ({'type': 'array', 'uniqueItems': True}, '[1,2]', '[1,2]'),
        ({'type': 'array', 'uniqueItems': False}, '[1,1]', '[1,1]'),
        ({}, '```\n5\n```', '5'),
        ({}, 'x\n```json\n5\n```\ny', '5'),
        ({}, '{"b":1,"a":2}', '{"a":2,"b":1}'),
    ],
)  # fmt: skip
def test_a_json_value_is_written_one_way(schema: dict[str, Any], answer: str, written: str) -> None:
    assert json_form(of("json", schema=schema), answer) == written


@pytest.mark.parametrize(
    ("schema", "answer", "why"),
    [
        ({}, '18446744073709551616', 'holds a number of more than 64 bits'),
        ({}, '-9223372036854775809', 'holds a number of more than 64 bits'),
        ({}, '1e400', 'holds a number that is too large'),
        ({}, '9007199254740994.0', 'holds a number that is too large'),
        ({}, 'Infinity', 'is no JSON value'),
        ({'type': 'number'}, 'a', 'is no JSON value'),
        ({'type': 'array', 'uniqueItems': True}, '[1,1]', 'holds not to the schema: uniqueItems true'),
        ({'type': 'object', 'required': ['a']}, '{}', 'holds not to the schema: required ["a"]'),
        ({'items': {'items': {'minimum': 3}}}, '[[3],[3,1]]', 'holds not to the schema at [1][1]: minimum 3'),
        ({}, '```\n5\n```\n```\n6\n```', 'is no JSON value'),
    ],
)  # fmt: skip
def test_what_is_no_json_or_breaks_its_schema_is_told_why(
    schema: dict[str, Any], answer: str, why: str
) -> None:
    with pytest.raises(WrongForm) as refused:
        json_form(of("json", schema=schema), answer)
    assert str(refused.value) == why


def test_a_value_may_nest_so_deep_be_so_long_and_take_so_much_work() -> None:
    anything = of("json", schema={})
    assert json_form(anything, "[" * 65 + "]" * 65) == "[" * 65 + "]" * 65
    with pytest.raises(WrongForm, match="nests too deep"):
        json_form(anything, "[" * 66 + "]" * 66)
    longest = f'"{"x" * (JSON_CHARS - 2)}"'
    assert json_form(anything, longest) == longest
    with pytest.raises(WrongForm, match="longer than 16,384 characters"):
        json_form(anything, f'{longest[:-1]}x"')
    assert json_form(anything, {"b": 1.0, "a": None}) == '{"a":null,"b":1}'
    # A schema of four hundred parts, itself among them, beside five hundred values.
    parts = of("json", schema={"enum": list(range(398))})
    with pytest.raises(WrongForm, match="holds not to the schema: enum"):
        json_form(parts, [0] * 499)
    with pytest.raises(WrongForm, match="too long to be held against its schema"):
        json_form(parts, [0] * 500)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('```\na\n```', ['a']),
        ('~~~x\na\nb\n~~~~', ['a\nb']),
        ('```\na\n~~~\n```', ['a\n~~~']),
        ('```python  \n a\r\nb\n```\n```\nc', [' a\nb']),
        ('  ```\na\n  ```', ['a']),
        ('``` x y\na\n```', []),
        ('```\n`````````\nb', ['']),
        ('text ```\na\n```', []),
        ('```\na\n``` b\n```', ['a\n``` b']),
        ('```\n```\n```\nb\n```', ['', 'b']),
    ],
)  # fmt: skip
def test_what_stands_in_fences(text: str, inside: list[str]) -> None:
    assert fenced(text) == inside
