"""What an answer is read as: its kind, its exact number, its unit, its members and their brackets."""

from __future__ import annotations

from fractions import Fraction

import pytest

from handlers.answers.value import ITEMS, Value, number, read, split


def told(value: Value) -> str:
    """A value in one line: ``3/2 *60`` is a measure of minutes, ``(1 2]`` an interval."""
    if value.number is not None:
        unit = "" if value.unit is None else f" *{value.unit.factor}"
        return f"{value.number}{'%' if value.kind == 'percent' else ''}{unit}"
    if not value.items:
        return f"{value.kind} {value.text}"
    opens, closes = tuple(value.brackets or "<>")
    kind = "" if value.kind == "group" else value.kind
    return f"{kind}{opens}{' '.join(map(told, value.items))}{closes}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("42", "42"), ("-3.50", "-7/2"), (".5", "1/2"), ("5.", "5"), ("+5", "5"), ("007", "7"),
        ("1e3", "1000"), (r"2\times10^{3}", "2000"), (r"2\cdot10^{-3}", "1/500"), ("2*10^3", "2000"),
        ("10^6", "1000000"), ("-10^{2}", "-100"), ("3/4", "3/4"), ("(3)/(-4)", "-3/4"),
        (r"\frac{3}{4}", "3/4"), (r"-\frac{1}{2}", "-1/2"), (r"2\frac{1}{2}", "5/2"),
        (r"-2\frac{1}{2}", "-5/2"), ("2 1/2", "5/2"), ("-2 1/2", "-5/2"), ("$2 1/2$", "5/2"),
        ("50%", "50%"), (r"12.5\%", "25/2%"), ("1,234", "1234"), ("1,234,567.5", "2469135/2"),
        ("seven", "7"), ("zero", "0"), ("twenty", "20"), ("twenty one", "21"),
        ("1/0", "formula 1/0"), ("1e1000", "formula 1e1000"), ("٣", "formula ٣"), ("(5)", "5"),
        ("[5]", "5"), ("x=5", "5"), ("ab = 5", "5"), ("abc=5", "formula abc=5"),
    ],
)  # fmt: skip
def test_numbers(text: str, found: str) -> None:
    assert told(read(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90 minutes", "90 *60"), ("5 m", "5 *1"), ("5m", "formula 5m"), ("5cm", "5 *1/100"),
        ("-5 m", "-5 *1"), ("1/2 m", "1/2 *1"), (r"\frac{1}{2} m", "1/2 *1"),
        ("1,000.5 m", "2001/2 *1"), ("three hours", "3 *3600"), ("25 °C", "25 *1"),
        (r"25^\circ C", "25 *1"), (r"50 \text{ km/h}", "50 *5/18"), ("5 apples", "5"),
        ("1 h 30 min", "3/2 *3600"), ("1 h, 30 min", "3/2 *3600"),
        ("1 hour and 30 minutes", "3/2 *3600"), ("5 ft 3 in", "21/4 *381/1250"),
        ("1 day 1 h 1 min", "1501/1440 *86400"), ("1 h 0 min", "1 *3600"),
        ("30 min 1 h", "formula 30min1h"), ("1 h 60 min", "formula 1h60min"),
        ("1 h 2 m", "formula 1h2m"), ("3 cm and 4 cm", "list<3 *1/100 4 *1/100>"),
        ("3:30 pm", "time 15:30"), ("12:00 am", "time 00:00"), ("12 p.m.", "time 12:00"),
        ("1 a. m.", "time 01:00"), ("11.05 AM", "time 11:05"), ("0:30 pm", "formula 0:30pm"),
        ("3:60 am", "formula 3:60am"), ("13:00 pm", "formula 13:00pm"), ("3:59 am", "time 03:59"),
    ],
)  # fmt: skip
def test_measures_and_times(text: str, found: str) -> None:
    assert told(read(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(1,2)", "(1 2)"), ("[1,2)", "[1 2)"), ("{2,1}", "{2 1}"), (r"\{1,2\}", "{1 2}"),
        ("{5}", "{5}"), ("1,2", "list<1 2>"), ("1;2", "list<1 2>"), ("1, 2; 3", "list<1 2 3>"),
        ("1,,2", "list<1 2>"), (r"(1,2)\cup[3,4)", "union<(1 2) [3 4)>"),
        ("[[1,2],[3]]", "[[1 2] 3]"), ("[1,2][3,4]", "<[1 2] [3 4]>"), ("[1,2][3]", "<[1 2] 3>"),
        ("[1,2][x]", "formula [1,2][x]"), ("[1][2]", "formula [1][2]"),
        ("(((1,2),3),4)", "(((1 2) 3) 4)"),
        ("((((1,2),3),4),5)", "((((1 2) 3) 4) 5)"),
        ("(((((1,2),3),4),5),6)", "((((formula (1,2) 3) 4) 5) 6)"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "matrix<[1 2] [3 4]>"),
        (r"x \begin{matrix}1\end{matrix} y", "matrix<[1]>"),
        (r"\begin{bmatrix}1 \\ \\ 2\end{bmatrix}", "matrix<[1] [2]>"),
        (r"\begin{vmatrix}1", r"formula \begin{vmatrix}1"),
        ("paris, rome", "list<words paris words rome>"), ("(1,2", "formula (1,2"),
        ("1,2)", "list<1 formula 2)>"), (")(", "formula )("), ("x=(1,2)", "(1 2)"),
        ("x^2,y", "list<formula x^2 words y>"),
    ],
)  # fmt: skip
def test_several_values(text: str, found: str) -> None:
    assert told(read(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("yes", "words true"), ("No.", "words false"), ("True", "words true"),
        ("The New York", "words new york"), ("a fast car goes.", "words fast car goes"),
        ("There are 5 - or so - I say!", "words there are 5 - or so - i say"), ("e", "words e"),
        ("x+1", "formula x+1"), ("π", r"formula \pi"), ("log 5 apples!?", "formula log5apples!?"),
        ("max of them: 5 apples", "formula maxofthem:5apples"), ("", "formula "), ("()", "formula "),
        ("abc? 5", "formula abc?5"), ("abcd? 5", "words abcd 5"), ("a_long name: 5", "formula a_longname:5"),
    ],
)  # fmt: skip
def test_words_and_formulas(text: str, found: str) -> None:
    assert told(read(text)) == found


def test_order_counts_in_groups_but_for_sets() -> None:
    ordered = {text: read(text).is_ordered for text in ("(1,2)", "[1,2]", "{1,2}", "1,2", "5")}
    assert ordered == {"(1,2)": True, "[1,2]": True, "{1,2}": False, "1,2": False, "5": False}
    assert [read(text).bare for text in ("5", "5%", "5 m", "x")] == [Fraction(5), None, None, None]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b", ["a", "b"]), ("a,(b,c),d", ["a", "(b,c)", "d"]), ("a;b", ["a", "b"]),
        ("(a,b)", ["(a,b)"]), (",a,", ["a"]), ("", [""]), ("[a,{b;c}],d", ["[a,{b;c}]", "d"]),
        ("a)b,c", ["a)b,c"]),
    ],
)  # fmt: skip
def test_commas_within_brackets_part_nothing(text: str, parts: list[str]) -> None:
    assert split(text) == parts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 5 ", Fraction(5)), ("1e999", Fraction(10) ** 999), ("1e-999", Fraction(1, 10**999)),
        ("1e1000", None), ("1e1000000", None), ("-.5e1", Fraction(-5)), ("1.5/0.5", Fraction(3)),
        ("1/0.0", None), ("1/2/3", None), (r"\frac{1}{0}", None), (r"3\frac{1}{2}", Fraction(7, 2)),
        ("5 m", None), ("", None), ("-", None), ("1e", None), ("five", Fraction(5)),
    ],
)  # fmt: skip
def test_the_exact_value_of_a_number(text: str, value: Fraction | None) -> None:
    assert number(text) == value


def test_so_many_members_are_read_and_no_more() -> None:
    fits = ",".join("1" for _ in range(ITEMS))
    assert len(read(fits).items) == ITEMS == 200
    assert read(f"{fits},2").kind == "formula"
    rows = r"\\".join("1" for _ in range(ITEMS + 5))
    assert len(read(rf"\begin{{matrix}}{rows}\end{{matrix}}").items) == ITEMS
    cells = "&".join("1" for _ in range(ITEMS + 5))
    (row,) = read(rf"\begin{{matrix}}{cells}\end{{matrix}}").items
    assert len(row.items) == ITEMS
    assert read("9" * 4_001).kind == read("9" * 1_001).kind == "formula"
