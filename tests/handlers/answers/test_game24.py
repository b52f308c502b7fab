"""Game of 24: exact value and multiset; the solver, the enumeration and the checker agree."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handlers.answers.arithmetic import DEPTH, EXPRESSION_CHARS, NotArithmetic, TooDeep, evaluate
from handlers.answers.game24 import check, numbers_of, puzzles, solutions, solve
from handlers.answers.grade import CHECKERS
from tests.pace import within

NUMBERS = st.lists(st.integers(1, 13), min_size=4, max_size=4).map(tuple)


def spelt(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))


@pytest.mark.parametrize(
    "answer",
    [
        "8/(3-8/3)",
        "8 / (3 - 8 / 3) = 24",
        "8 ÷ (3 − 8 ÷ 3) = 24",
        "24 = 8/(3-8/3)",
        "8/(3-8/3) (= 24)",
        "8/(3-8/3) (each number once)",
        "$\\dfrac{8}{3 - 8/3} = 24$",
        "\\frac{8}{3-\\frac{8}{3}}",
        "\\left(8\\right) \\div (3 - 8 \\div 3)",
        "[8]/{3-(8/3)}",
        "The expression is 8/(3-8/3) = 24.",
    ],
)
def test_right_in_any_spelling(answer: str) -> None:
    assert check("3 3 8 8", answer)[0] == "right"


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        ("4 5 6 10", "24"),
        ("4 5 6 10", "4 * 6"),
        ("4 5 6 10", "4 * 6 * (10 - 5) / 5"),
        ("4 5 6 10", "(10 - 4) * 5 - 6 + 0"),
        ("1 2 4 7", "12 + 4 + 7 + 1"),
        ("1 2 4 12", "12 * 2"),
        ("4 5 6 10", "None"),
        ("4 5 6 10", ""),
        ("4 5 6 10", "4 * (5 - 5) / (6 - 6)"),
        ("1 1 4 6", "24 / (1 - 1) * 4 * 6"),
        ("4 5 6 10", "__import__('os')"),
        ("2 2 2 3", "2 ** 3 * (2 + 2 / 2)"),
        ("8 8 3 3", "3 * 8 = (8 - 3) = 24"),
    ],
)
def test_cheats_and_mistakes_are_wrong(problem: str, answer: str) -> None:
    assert check(problem, answer)[0] == "wrong"


def test_a_claim_behind_the_equals_sign_is_no_part_of_the_answer() -> None:
    assert check("6 9 12 13", "(13 - 9) * (12 - 6) = 48")[0] == "right"
    assert check("6 9 12 13", "(13 - 9) * (12 + 6) = 24")[0] == "wrong"


def test_numbers_of_a_problem() -> None:
    assert numbers_of("4 5 6 10") == (4, 5, 6, 10)
    assert numbers_of("Make 24 from 4, 5, 6 and 10.") == (4, 5, 6, 10)
    assert numbers_of("1 2 3") is None
    assert check("no numbers", "4 * 6")[0] == "unknown"


def test_the_1362_puzzles_are_enumerated_in_order_and_fast() -> None:
    def anew() -> tuple[tuple[int, ...], ...]:
        puzzles.cache_clear()
        return puzzles()

    found = within(1.5, anew)
    assert len(found) == 1362
    assert list(found) == sorted(set(found))


def test_every_puzzle_has_solutions_that_the_checker_accepts() -> None:
    for puzzle in puzzles()[::7]:
        assert solve(puzzle) == solutions(puzzle)[0]
        for solution in solutions(puzzle):
            assert check(spelt(puzzle), solution)[0] == "right"


@given(NUMBERS)
def test_solver_agrees_with_brute_force(numbers: tuple[int, ...]) -> None:
    assert (solve(numbers) is not None) == (24 in _brute(tuple(map(Fraction, sorted(numbers)))))
    assert (solve(numbers) is not None) == (tuple(sorted(numbers)) in set(puzzles()))


def _brute(values: tuple[Fraction, ...]) -> set[Fraction]:
    """Every value, by combining any two of the values in any order until one is left."""
    if len(values) == 1:
        return {values[0]}
    found = set[Fraction]()
    for rest in set(_steps(values)):
        found |= _brute(rest)
    return found


def _steps(values: tuple[Fraction, ...]) -> Iterator[tuple[Fraction, ...]]:
    for i, j in permutations(range(len(values)), 2):
        a, b = values[i], values[j]
        rest = [v for k, v in enumerate(values) if k not in (i, j)]
        for value in (a + b, a - b, a * b, *([a / b] if b else [])):
            yield tuple(sorted([*rest, value]))


@given(st.sampled_from(puzzles()), st.integers(0, 3), st.integers(1, 13), st.data())
def test_another_multiset_is_wrong(
    puzzle: tuple[int, ...], at: int, number: int, data: st.DataObject
) -> None:
    assume(puzzle[at] != number)
    other = (*puzzle[:at], number, *puzzle[at + 1 :])
    solution = data.draw(st.sampled_from(solutions(puzzle)))
    assert check(spelt(other), solution)[0] == "wrong"


@given(st.text(), st.text())
def test_never_raises(problem: str, answer: str) -> None:
    assert CHECKERS["game24"](problem, answer).outcome in ("right", "wrong", "unknown")


@given(st.lists(st.sampled_from([*"0123456789+-*/()=. ", "\\frac{", "}", "×"])).map("".join))
def test_never_raises_on_expressions(answer: str) -> None:
    assert check("4 5 6 10", answer)[0] in ("right", "wrong")


@pytest.mark.parametrize("piece", ["(", "-", "9", "1*", "9999999*", "{", "\\frac{1}{", "=", "((1)"])
def test_hostile_expressions_are_wrong_at_once(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert within(1, lambda: check("4 5 6 10", text))[0] == "wrong"


@pytest.mark.parametrize("text", ["", "1 2", "1.5", "(1", "1)", "1//2", "*1", "1/0", "2^3", "x"])
def test_what_is_no_arithmetic(text: str) -> None:
    with pytest.raises(NotArithmetic):
        evaluate(text)


def test_neighbours_are_multiplied_and_precedence_holds() -> None:
    assert evaluate("2(3+1)(2)-6/3").value == 14
    assert evaluate("-(2-3)*4").numbers == (2, 3, 4)


def test_all_quadruples_are_decided() -> None:
    unsolvable = set(combinations_with_replacement(range(1, 14), 4)) - set(puzzles())
    assert len(unsolvable) == 1820 - 1362
    assert (1, 1, 1, 1) in unsolvable


@pytest.mark.parametrize(
    ("text", "value", "numbers"),
    [
        ("1 + 2 * 3", 7, (1, 2, 3)), ("(1 + 2) * 3", 9, (1, 2, 3)), ("8 / 3 / 2", Fraction(4, 3), (8, 3, 2)),
        ("8 - 3 - 2", 3, (8, 3, 2)), ("-2 * -3", 6, (2, 3)), ("+4", 4, (4,)), ("2(3)", 6, (2, 3)),
        ("(2)(3)4", None, ()), ("2 x 3", 6, (2, 3)), ("2X3", 6, (2, 3)), ("2 \\times 3", 6, (2, 3)),
        ("6 \\div 3", 2, (6, 3)), ("2 \\cdot 3 \\ast 4", 24, (2, 3, 4)), ("\\frac{6}{3}", 2, (6, 3)),
        ("[2]{3}", 6, (2, 3)), ("2·3", 6, (2, 3)), ("6⁄3", 2, (6, 3)), ("6—3", 3, (6, 3)),
        ("1,000", None, ()), ("1.5", None, ()), ("2 3", None, ()), ("", None, ()), ("(1", None, ()),
        ("1)", None, ()), ("*2", None, ()), ("1 / (2 - 2)", None, ()), ("1234567890", None, ()),
        ("123456789", 123_456_789, (123_456_789,)), ("x", None, ()), ("2^3", None, ()),
    ],
)  # fmt: skip
def test_expressions_are_reckoned_exactly(
    text: str, value: Fraction | None, numbers: tuple[int, ...]
) -> None:
    if value is None:
        with pytest.raises(NotArithmetic):
            evaluate(text)
    else:
        assert (evaluate(text).value, evaluate(text).numbers) == (value, numbers)


def test_an_expression_is_so_long_and_nests_so_deep() -> None:
    fits = f"{'1+' * 199}11"
    assert len(fits) == EXPRESSION_CHARS
    assert evaluate(fits).value == 210
    with pytest.raises(NotArithmetic, match="longer than 400 characters"):
        evaluate(f"{fits}1")
    deep = DEPTH - 1
    assert evaluate("(" * deep + "1" + ")" * deep).value == 1
    with pytest.raises(TooDeep, match="nested deeper than 50"):
        evaluate("(" * DEPTH + "1" + ")" * DEPTH)
    assert evaluate(" + ".join(["(1)"] * 60)).value == 60, "beside each other is not within"
    nested = "1"
    for _ in range(4):
        nested = f"\\frac{{{nested}}}{{2}}"
    assert evaluate(nested).value == Fraction(1, 16)
    with pytest.raises(NotArithmetic):
        evaluate(f"\\frac{{{nested}}}{{2}}")


@pytest.mark.parametrize(
    ("problem", "numbers"),
    [
        ("4 5 6 10", (4, 5, 6, 10)), ("24 5 6 10", (24, 5, 6, 10)), ("24: 4 5 6 10", (4, 5, 6, 10)),
        ("4 5 24 6 10", (4, 5, 6, 10)), ("24 24 5 6 10", None), ("4 5 6 10 12", None),
        ("4 5 6 1.5", None), ("4 5 6", None), ("4,5,6,10", (4, 5, 6, 10)), ("4 5 6 10.", (4, 5, 6, 10)),
        ("1234567890 5 6 10", None), ("x" * 1_994 + "4 5 6 10", None),
        ("x" * 1_992 + "4 5 6 10", (4, 5, 6, 10)),
    ],
)  # fmt: skip
def test_a_problem_has_four_numbers_and_the_goal_once_at_most(
    problem: str, numbers: tuple[int, ...] | None
) -> None:
    assert numbers_of(problem) == numbers


def test_solutions_come_in_one_order_with_brackets_only_where_they_are_needed() -> None:
    assert solutions((4, 5, 6, 10)) == solutions((10, 6, 5, 4)) == (
        "4 + 5 * (10 - 6)", "4 - 5 * (6 - 10)", "5 * (10 - 4) - 6", "10 + 4 * 5 - 6",
        "10 - (6 - 4 * 5)", "4 + 5 * 6 - 10", "4 * 5 + 10 - 6", "4 * 5 - (6 - 10)", "4 - 10 + 5 * 6",
        "5 * 6 - (10 - 4)", "5 * 6 + 4 - 10", "10 - 6 + 4 * 5",
    )  # fmt: skip
    assert solutions((1, 2, 12, 12)) == (
        "12 + 12 * (2 - 1)", "12 - 12 * (1 - 2)", "12 * (1 + 2) - 12", "(2 - 1) * (12 + 12)",
        "(12 + 12) / (2 - 1)", "(12 + 12) * (2 - 1)",
    )  # fmt: skip
    assert solutions((2, 3, 5, 12)) == ("12 / (3 - 5 / 2)",)
    assert (solve((3, 3, 8, 8)), solve((1, 5, 5, 5))) == ("8 / (3 - 8 / 3)", "5 * (5 - 1 / 5)")
    assert (solve((1, 1, 1, 1)), solutions((1, 1, 1, 1))) == (None, ())
    for few in ((1, 2, 3), (1, 2, 3, 4, 5)):
        with pytest.raises(ValueError, match=f"a puzzle has four numbers, not {len(few)}"):
            solve(few)


def test_the_list_of_puzzles_is_that_of_the_paper() -> None:
    found = puzzles()
    assert (found[0], found[-1]) == ((1, 1, 1, 8), (12, 13, 13, 13))
    assert (3, 3, 8, 8) in found
    assert (1, 1, 1, 1) not in found
