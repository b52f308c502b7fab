"""Formulas as models write them: what each means, what is refused, and what two of them are to each other."""

from __future__ import annotations

import io
import json
import resource
import sys
from typing import Any

import pytest

from streams.answering.grading import opinions
from streams.answering.grading.algebra import NotAlgebra, algebra
from streams.answering.grading.opinions import by_math_verify, by_sympy, opinion
from tests.late import Late
from tests.stand_ins import noting

sympy = Late("sympy")

MEANT = [
    ("1+2*3", "7"),
    ("2-3-4", "-5"),
    ("12/2/3", "2"),
    ("2/3x", "2*x/3"),
    ("6\\div 3\\cdot 2\\times 5", "20"),
    ("2^3^2", "512"),
    ("-2^2", "-4"),
    ("(-2)^2", "4"),
    ("x**2", "x**2"),
    ("2^{-1}", "1/2"),
    ("--3", "3"),
    ("+-3", "-3"),
    ("2--3", "5"),
    (".5", "1/2"),
    ("0.1+0.2", "3/10"),
    ("1.5x", "3*x/2"),
    ("x y", "x*y"),
    ("3!", "6"),
    ("3!!", "720"),
    ("2^3!", "64"),
    ("x!+1", "factorial(x)+1"),
    ("|x-3|y", "Abs(x-3)*y"),
    ("[1+2](3)", "9"),
    ("2\\{3\\}", "6"),
    ("\\lbrace 1+2\\rbrace 3", "9"),
    ("\\frac{1}{2}x", "x/2"),
    ("\\frac{x+1}{y}", "(x+1)/y"),
    ("\\sqrt 3", "sqrt(3)"),
    ("\\sqrt{x+1}y", "y*sqrt(x+1)"),
    ("\\sqrt[3]{8}", "2"),
    ("\\sqrt x^2", "sqrt(x**2)"),
    ("\\pi{r}^2", "pi*r**2"),
    ("e^{i\\pi}", "-1"),
    ("i^2", "-1"),
    ("sin^2 x", "sin(x)**2"),
    ("\\sin(x)^2", "sin(x)**2"),
    ("\\sin{x^2}", "sin(x**2)"),
    ("\\sin{2x}y", "sin(2*x)*y"),
    ("sin x y", "y*sin(x)"),
    ("cos(0)+tan(0)+sec(0)", "2"),
    ("cot(x)+csc(x)", "cot(x)+csc(x)"),
    ("arcsin 1+arccos 1+arctan 1", "3*pi/4"),
    ("ln(e^2)", "2"),
    ("\\log{x}+\\exp{0}", "log(x)+1"),
    ("2^{1/2}", "sqrt(2)"),
    ("1^{999999999}+(-1)^{999999999}+0^{999999999}", "0"),
    ("x^{999999999}", "x**999999999"),
]


@pytest.mark.parametrize(("text", "meant"), MEANT)
def test_what_a_formula_means(text: str, meant: str) -> None:
    expected = sympy.sympify(meant, locals={name: sympy.Symbol(name) for name in "xyr"})
    assert algebra(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "more expected, not 'the end'"),
        ("2^", "more expected, not 'the end'"),
        ("x^{2", "} expected, not 'the end'"),
        ("(1]", "\\) expected, not '\\]'"),
        ("\\frac{1}", "{ expected, not 'the end'"),
        ("a)", "unexpected '\\)'"),
        ("*2", "unexpected '\\*'"),
        ("2x = 3y + 17z - 5", "cannot read '=3y\\+17z-5'"),
        ("2x = 34567y + 17z - 5", "cannot read '=34567y\\+17z-'"),
        ("x_1", "cannot read '_1'"),
        ("@2", "cannot read '@2'"),
        ("2?", "cannot read '\\?'"),
        ("\\foo", "foo is not known"),
        ("1e5", "a number out of range"),
        ("1E-5", "a number out of range"),
        ("5001!", "a factorial out of range"),
        ("(2i)!", "a factorial out of range"),
        ("9!!", "a factorial out of range"),
        ("2^{50001}", "a power out of range"),
        ("(1/2)^{50001}", "a power out of range"),
        ("2^{-50001}", "a power out of range"),
        ("7^{33334}", "a power out of range"),
        ("1025^{9091}", "a power out of range"),
        ("x" * 601, "too long"),
        ("-" * 100 + "x", "nested deeper than 100"),
        ("(" * 100 + "x" + ")" * 100, "nested deeper than 100"),
    ],
)
def test_what_is_no_formula_or_too_large_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(NotAlgebra, match=f"^{why}|{why}$"):
        algebra(text)


def test_what_is_just_within_its_bounds_is_read() -> None:
    assert algebra("5000!/4999!") == 5000
    assert algebra("2^{50000}/2^{49999}") == 2
    assert algebra("7^{33333}/7^{33332}") == 7
    assert algebra("x" * 600) == sympy.Symbol("x") ** 600
    assert algebra("-" * 99 + "x") == -sympy.Symbol("x")
    wide = "+".join(["(x)"] * 150)
    assert algebra(wide) == 150 * sympy.Symbol("x"), "beside each other is not within each other"


# ── Opinions ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "reference", "said"),
    [
        ("1+x", "x+1", "right"),
        ("1+x", "x+2", "wrong"),
        ("ab+c", "c+ba", "right"),
        ("abcd", "dcba", "unknown"),
        ("x+1", "xyz", "wrong"),
        ("x+1", "wxyz", "unknown"),
        ("x+1", "to wxyz", "unknown"),
        ("x+1", "?", "unknown"),
        ("(" * 100 + "x", "x", "unknown"),
        ("abc", "cab", "unknown"),
        ("36π cm³", "36π", "unknown"),
        ("36\\pi cm^3", "36\\pi", "unknown"),
        ("2√3 units", "2\\sqrt{3}", "unknown"),
        ("\\frac{\\pi}{3} rad", "\\frac{\\pi}{3}", "unknown"),
        ("5 (cm)", "5", "unknown"),
        ("1 3/4 cups", "7/4", "unknown"),
        ("1.5M", "1500000", "unknown"),
        ("USD 12.50", "12.5", "unknown"),
        ("1 out of 4", "1/4", "unknown"),
        ("1.2 x 10^5", "120000", "unknown"),
        ("1h30", "90", "unknown"),
        ("1.234.567", "1234567", "unknown"),
        ("lnx", "\\ln x", "unknown"),
        ("2pir", "2\\pi r", "unknown"),
        ("2 3x", "6x", "unknown"),
        ("n2^{n-1}", "n\\cdot 2^{n-1}", "right"),
        ("2^n3^m", "3^m2^n", "right"),
        ("xy2", "2xy", "unknown"),
        ("2\\frac{3}{2}x", "3x", "right"),
        ("3n", "12", "wrong"),
        ("x", "5", "wrong"),
        ("1 1/2 π", "\\frac{3\\pi}{2}", "right"),
        ("1\\frac{1}{2}\\pi", "\\frac{\\pi}{2}", "wrong"),
        ("-2\\frac{1}{2}x", "-\\frac{5x}{2}", "right"),
        ("2^3\\frac{1}{2}", "4", "right"),
        ("sqrt(2)/2", "\\frac{1}{\\sqrt{2}}", "right"),
    ],
)
def test_sympy_decides_what_it_can_read_and_takes_no_word_for_a_product(
    answer: str, reference: str, said: str
) -> None:
    sympy.Symbol("x")  # without sympy there is nothing to ask
    assert by_sympy(answer, reference) == said


def joined(*asked: str) -> Any:
    """What was asked, as an answer to it."""
    return "/".join(asked)


class Verifier:
    """A stand-in for math-verify, which remembers how it was asked."""

    def __init__(self, right: bool) -> None:
        self.right = right
        self.asked: list[Any] = []

    def parse(self, text: str, parsing_timeout: float | None = 5) -> list[str]:
        self.asked.append((text, parsing_timeout))
        return [] if "?" in text else [text]

    def verify(self, gold: Any, given: Any, timeout_seconds: float | None = 5) -> bool:
        self.asked.append((gold, given, timeout_seconds))
        return self.right


@pytest.mark.parametrize(("right", "said"), [(True, "right"), (False, "wrong")])
def test_math_verify_is_asked_for_formulas_the_reference_first_and_without_a_clock(
    monkeypatch: pytest.MonkeyPatch, right: bool, said: str
) -> None:
    """Its own time limits work by signals; the process that it runs in is killed instead."""
    library = Verifier(right)
    monkeypatch.setattr(opinions, "import_module", {"math_verify": library}.__getitem__)
    assert by_math_verify("1+x", "x+1") == said
    assert library.asked == [("$x+1$", None), ("$1+x$", None), (["$x+1$"], ["$1+x$"], None)]
    assert by_math_verify("?", "x") == by_math_verify("x", "?") == "unknown"


def test_whatever_goes_wrong_inside_a_library_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(answer: str, reference: str) -> Any:
        raise MemoryError

    monkeypatch.setattr(opinions, "OPINIONS", {"a": broken, "b": joined})
    assert opinion("a", "x", "y") == "unknown"
    said: Any = opinion("b", "x", "y")
    assert said == "x/y"
    assert opinion("c", "x", "y") == "unknown"


def test_the_process_of_the_second_opinions_answers_a_line_with_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits: list[Any] = []
    loaded: list[str] = []
    monkeypatch.setattr(resource, "setrlimit", noting(limits))
    monkeypatch.setattr(opinions, "import_module", loaded.append)
    monkeypatch.setattr(opinions, "opinion", joined)
    monkeypatch.setattr(sys, "argv", ["opinions", "sympy", "math_verify"])
    asked = [
        {"grader": "a", "answer": "b", "reference": "c"},
        {"answer": "e", "grader": "d", "reference": "f"},
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(json.dumps, asked))))
    opinions.serve()
    assert capsys.readouterr().out == "ready\na/b/c\nd/e/f\n"
    assert loaded == ["sympy", "math_verify"]
    [(which, (soft, hard))] = limits
    assert which == resource.RLIMIT_AS
    assert soft == hard == 2 * 1024**3, "memory alone, and for good"
