"""LaTeX that is made to hurt: whoever grades or extracts it is done soon, and what cannot be told is undecided."""

from __future__ import annotations

import pytest

from handlers.answers.extract import extract
from handlers.answers.game24 import check
from handlers.answers.grade import grade_reference
from streams.answering.grading.grader import Grading
from streams.answering.grading.opinions import by_sympy
from tests.pace import within

SOON_S = 2.0
"""Of a desk; the exact rules take milliseconds."""


def nested(opens: str, closes: str, times: int, core: str = "1") -> str:
    return opens * times + core + closes * times


TOWERS = {
    "tower": "10^{10^{10}}",
    "higher tower": "10^{10^{10^{10}}}",
    "powers": nested("2^{", "}", 20, "2"),
    "factorial": "(10^{9})!",
    "factorials": "9!!!!",
    "factorial of a factorial": "((99!)!)!",
    "power of a factorial": "2^{1000000!}",
    "digits": "9" * 400 + "^" + "9" * 5,
    "scientific": "1e999999",
}
DEEP = {
    "fractions": nested(r"\frac{", "}{2}", 5_000),
    "braces": nested("{", "}", 100_000),
    "exponents": nested("x^{", "}", 5_000, "x"),
    "roots": nested(r"\sqrt{", "}", 5_000, "2"),
    "brackets": nested("(", ")", 250),
    "open brackets": "(" * 599,
    "signs": "-" * 399 + "x",
    "left": nested(r"\left(", r"\right)", 3_000),
    "intervals": nested("(", ")", 100, "1,2"),
    "matrices": nested(r"\begin{pmatrix}", r"\end{pmatrix}", 60),
    "many digits": "1" * 1_000_000,
    "many texts": nested(r"\text{", "}", 5_000, "a"),
    "fractions of fractions": r"\frac12" * 100_000,
}
ALL = TOWERS | DEEP


@pytest.mark.parametrize("name", ALL)
def test_exact_rules_are_done_soon_and_undecided(name: str) -> None:
    within(SOON_S, lambda: is_undecided(ALL[name]))


def is_undecided(bomb: str) -> None:
    """None of the exact rules decides, and none takes it apart."""
    for answer, reference in ((bomb, "x+7"), ("x+7", bomb)):
        assert grade_reference(answer, reference).outcome == "unknown"
    for dataset in ("theoremqa", "scibench", "hotpotqa"):
        grade_reference(bomb, "42", dataset=dataset)
    for marked in (bomb, rf"\boxed{{{bomb}}}", f"Final_answer: ### {bomb} ###"):
        found = extract(marked)
        assert found is None or len(found) <= 20_000
    check("4 6 8 8", bomb)


@pytest.mark.parametrize("name", ALL)
def test_sympy_is_not_even_asked(name: str) -> None:
    """Out of range, too long or too deep: refused by the grammar, before anything is computed."""
    bomb = ALL[name]
    said = within(SOON_S, lambda: {by_sympy(bomb, "x+7"), by_sympy("x+7", bomb)})
    assert said == {"unknown"}


def test_what_can_be_computed_still_is() -> None:
    assert by_sympy("2^{100}+x", "x+4^{50}") == "right"
    assert by_sympy("100!+x", r"x+100\cdot 99!") == "right"
    assert by_sympy(nested("(", ")", 40, "x+1"), "1+x") == "right"


def test_deep_brackets_make_no_game_24_wrong() -> None:
    assert check("4 6 8 8", "(" * 399)[0] == "unknown"
    assert check("1 2 3 4", nested("(", ")", 60, "1*2*3*4"))[0] == "unknown"
    assert check("1 2 3 4", nested("(", ")", 20, "1*2*3*4"))[0] == "right"


def test_what_takes_too_long_is_stopped_and_undecided() -> None:
    pytest.importorskip("sympy")
    with Grading(limit_s=1.0) as grading:
        assert grading.grade_now("(x+1)^{99999}", "x+7").outcome == "unknown"
        grading.limit_s = 10.0
        assert grading.grade_now("2x+2", "2(x+1)").outcome == "right"
