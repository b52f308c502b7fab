"""Game of 24 as the simulator plays it: real puzzles, real arithmetic, right and wrong.

An attempt that fails uses the four numbers once each, comes near the goal, and claims a last step
that does not hold.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

from handlers.answers import game24
from streams.answering.backbones.rehearsal.grounds import Ground, Work

_SHAPES: tuple[tuple[str, Callable[[float, float, float, float], float]], ...] = (
    ("({} - {}) * ({} + {})", lambda a, b, c, d: (a - b) * (c + d)),
    ("({} + {} - {}) * {}", lambda a, b, c, d: (a + b - c) * d),
    ("{} * {} + {} - {}", lambda a, b, c, d: a * b + c - d),
    ("({} - {}) * {} + {}", lambda a, b, c, d: (a - b) * c + d),
    ("({} + {}) * {} / {}", lambda a, b, c, d: (a + b) * c / d),
)
_FOUR = re.compile(r"\W*(?:\d+\W+){3}\d+\W*")
_LONGEST = 400
_KEPT = 12


def _reads(text: str) -> str | None:
    if len(text) > _LONGEST or not (_FOUR.fullmatch(text) or "24" in text):
        return None
    numbers = game24.numbers_of(text)
    return None if numbers is None else " ".join(map(str, sorted(numbers)))


def _numbers(problem: str) -> tuple[int, ...]:
    return tuple(map(int, problem.split()))


def _situation(problem: str) -> int:
    numbers = _numbers(problem)
    odd = sum(n % 2 for n in numbers)
    return (0 if odd < 2 else 1 if odd == 2 else 2) * 2 + (len(set(numbers)) == 4)


def _solvable(problem: str) -> bool:
    return bool(game24.solutions(_numbers(problem)))


def _work(problem: str, rightly: bool, pick: float) -> Work:
    found = game24.solutions(_numbers(problem)) if rightly else _misses(_numbers(problem))
    work = _worked(found[int(pick * len(found))])
    return work if rightly else _claimed(work)


@lru_cache(maxsize=4096)
def _misses(numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Expressions that use the numbers and miss the goal, nearest first."""
    nearest = sorted(set(_near(numbers)))[:_KEPT]
    return tuple(text for _, text in nearest) or (" + ".join(map(str, numbers)),)


def _near(numbers: tuple[int, ...]) -> Iterator[tuple[float, str]]:
    for order in set(permutations(numbers)):
        for text, value in _SHAPES:
            miss = abs(value(*order) - game24.GOAL) if order[3] else 0.0
            if miss > 1e-9:
                yield float(miss), text.format(*order)


@lru_cache(maxsize=16_384)
def _worked(expression: str) -> Work:
    """An expression with its steps, one operation a line."""
    lines: list[str] = []
    _walk(ast.parse(expression, mode="eval").body, lines)
    return Work(tuple(lines), expression)


def _claimed(work: Work) -> Work:
    """The same with the goal as its last result: the false step of an attempt that fails."""
    said, _, _ = work.steps[-1].rpartition(" = ")
    return replace(work, steps=(*work.steps[:-1], f"{said} = {game24.GOAL}"))


def _walk(node: ast.expr, lines: list[str]) -> Fraction:
    match node:
        case ast.Constant(value=int(number)):
            return Fraction(number)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _walk(left, lines), _walk(right, lines)
            sign, value = _result(op, a, b)
            lines.append(f"{a} {sign} {b} = {value}")
            return value
        case _:
            raise ValueError(f"no arithmetic: {ast.dump(node)}")


def _result(op: ast.operator, a: Fraction, b: Fraction) -> tuple[str, Fraction]:
    match op:
        case ast.Add():
            return "+", a + b
        case ast.Sub():
            return "-", a - b
        case ast.Mult():
            return "*", a * b
        case _:
            return "/", a / b


@lru_cache(maxsize=16_384)
def _right(problem: str, answer: str) -> bool:
    return game24.check(problem, answer)[0] == "right"


PUZZLES = Ground(
    name="puzzles",
    approaches=(
        "list the factor pairs",
        "start from the target",
        "combine two balanced halves",
        "shrink the awkward number",
        "make a quotient early",
        "overshoot and subtract",
    ),
    situations=(
        "mostly even numbers and a repeat",
        "mostly even numbers, all different",
        "odd and even numbers in balance and a repeat",
        "odd and even numbers in balance, all different",
        "mostly odd numbers and a repeat",
        "mostly odd numbers, all different",
    ),
    checks=(
        "recompute every operation",
        "count that each number is used once",
        "compare the last value with the target",
    ),
    reads=_reads,
    situation=_situation,
    solvable=_solvable,
    work=_work,
    right=_right,
    example="4 5 6 10",
)
