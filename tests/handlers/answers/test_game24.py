"""Game of 24: exact value and multiset; the solver, the enumeration and the checker agree."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from handlers.answers.arithmetic import NotArithmetic, evaluate
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
