"""Answers in plain text, for whoever typesets nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.plain import PLAIN_CHARS, plain_text, shown


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (r"\$9.50", "$9.50"),
        (r"50 \text{ km/h}", "50 km/h"),
        (r"\frac{1}{2}", "1/2"),
        (r"\dfrac12", "1/2"),
        (r"2\frac{1}{2}", "2 1/2"),
        (r"\frac{x+1}{2y}", "(x+1)/2y"),
        (r"\frac{\sqrt{3}}{2}", "√3/2"),
        (r"\sqrt[3]{x+1}", "3-√(x+1)"),
        (r"50\%", "50%"),
        (r"32,\!348", "32,348"),
        (r"32{,}348", "32,348"),
        (r"90^\circ", "90°"),
        (r"x^{2} \cdot 10^{-3}", "x^2 · 10^-3"),
        (r"\left(3, \frac{\pi}{2}\right)", "(3, π/2)"),
        (r"\{1, 2\}", "{1, 2}"),
        (r"(-\infty, 2] \cup [3, 4)", "(-∞, 2] ∪ [3, 4)"),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "[[1, 2], [3, 4]]"),
        ("$x = 5$", "x = 5"),
        (r"\text{(C)}", "(C)"),
        # no LaTeX: as it is
        ("$9.50", "$9.50"),
        ("from $5 to $6", "from $5 to $6"),
        ("C#", "C#"),
        ("y'", "y'"),
        ("{'a': 1}", "{'a': 1}"),
        ("def f(x_1):\n    return '\\n'.join(x_1)", "def f(x_1):\n    return '\\n'.join(x_1)"),
        (r"\oint", r"\oint"),
        ("  Besançon ", "  Besançon "),
    ],
)
def test_what_people_read(answer: str, plain: str) -> None:
    assert plain_text(answer) == plain


@given(st.text(alphabet=st.characters(exclude_characters="\\$~{")))
def test_a_text_without_latex_stays_as_it_is(text: str) -> None:
    assert plain_text(text) == text


@given(
    st.lists(
        st.sampled_from(["\\frac", "{", "}", "\\sqrt", "[", "]", "\\text", "1", "x", "\\$", "$", " ", "^", "\\\\", "&",
                         "\\begin{pmatrix}", "\\end{pmatrix}", "\\pi", "\ue000"])
    ).map("".join)
)  # fmt: skip
def test_it_never_raises(text: str) -> None:
    assert isinstance(plain_text(text), str)


def test_what_is_too_long_is_handed_on() -> None:
    text = r"\pi" * PLAIN_CHARS
    assert plain_text(text) == text


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (r"3\frac12", "3 1/2"), (r"\frac{-1}{2}", "-1/2"), (r"\frac{a b}{2}", "(a b)/2"),
        (r"\frac{12}{2x}", "12/2x"), (r"\sqrt2", "√2"), (r"\sqrt{x+1}", "√(x+1)"),
        (r"\pi^{2}", "π^2"), (r"\pi^{-1}", "π^-1"), (r"\pi^{a+b}", "π^(a+b)"), (r"\pi_{12}", "π_12"),
        (r"\text{\textbf{a}}", "a"), (r"90^{\circ}", "90°"), (r"\pi~x\,y\;z", "π x y z"),
        (r"\[x\]", "x"), (r"\left[x\right]", "[x]"), (r"5\% \& a\_b \#", "5% & a_b #"),
        (r"\begin{bmatrix}1 & 2\\\end{bmatrix}", "[[1, 2]]"),
        (r"\unknown{x} \frac{1}{2}", r"\unknown{x} 1/2"), (r"a\\b \pi", r"a\\b π"),
        (r"\frac{\frac{\frac{1}{2}}{3}}{4}", "((1/2)/3)/4"), ("$$x$$", "x"), ("$ x $", "x"),
        ("$x$ $y$", "$x$ $y$"), (r"$5$ and \pi", "5 and π"), (r"\displaystyle x", "x"),
        (r"\lbrace x \rbrace", "{ x }"), (r"\euro 5", "€ 5"), (r"\frac{}{2}", "/2"), (r"\sqrt{}", "√"),
        ("  \\pi   x  ", "π x"), (r"\$5 \text{ or } \{6\}", "$5 or {6}"), (r"{\pi}", "π"),
    ],
)  # fmt: skip
def test_what_is_typeset_is_told_in_plain_signs(answer: str, plain: str) -> None:
    assert plain_text(answer) == plain


def test_nested_braces_are_taken_away_so_deep() -> None:
    def nested(depth: int) -> str:
        return r"\frac{" * depth + "1" + "}{2}" * depth

    assert plain_text(nested(6)).count("/") == 6
    assert r"\frac" in plain_text(nested(7))


def test_the_longest_answer_that_is_told_in_plain_signs() -> None:
    longest = r"\pi".rjust(20_000, "x")
    assert plain_text(longest).endswith("π")
    assert plain_text(f"x{longest}") == f"x{longest}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{"a":"\\\\pi"}', '{"a":"\\\\pi"}'), ('["\\\\frac"]', '["\\\\frac"]'),
        (r"[1, \pi]", "[1, π]"), (r"\pi", "π"), (r"{\pi}", "π"),
    ],
)  # fmt: skip
def test_of_json_each_letter_is_shown(answer: str, told: str) -> None:
    assert shown(answer) == told
