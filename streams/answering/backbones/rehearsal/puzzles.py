"""Game of 24 as the simulator plays it: real puzzles, real arithmetic, right and wrong.

An attempt that fails uses the four numbers once each, comes near the goal, and claims a last step
that does not hold.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

from handlers.answers import game24
from streams.answering.backbones.rehearsal.grounds import Ground, Work

# The arithmetic is exact (fractions, not floats): the simulator's own checks read these lines again,
# and a rounded quotient would look like a false step to them.

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


@lru_cache(maxsize=4096)
def _misses(numbers: tuple[int, ...]) -> tuple[str, ...]:
    """Expressions that use the numbers and miss the goal, nearest first."""
    near: set[tuple[float, str]] = set()
    for order in set(permutations(numbers)):
        for text, value in _SHAPES:
            # A zero in last place would be a divisor in one of the shapes: it counts as no miss.
            miss = abs(value(*order) - game24.GOAL) if order[3] else 0.0
            if miss > 1e-9:
                near.add((float(miss), text.format(*order)))
    return tuple(text for _, text in sorted(near)[:_KEPT]) or (" + ".join(map(str, numbers)),)


@lru_cache(maxsize=16_384)
def _worked(expression: str) -> Work:
    """An expression with its steps, one operation a line."""
    lines: list[str] = []
    _walk(ast.parse(expression, mode="eval").body, lines)
    return Work(tuple(lines), expression)


def _walk(node: ast.expr, lines: list[str]) -> Fraction:
    """The value of an expression; each operation becomes a line, the inner ones first."""
    match node:
        case ast.Constant(value=int(number)):
            return Fraction(number)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _walk(left, lines), _walk(right, lines)
            match op:
                case ast.Add():
                    sign, value = "+", a + b
                case ast.Sub():
                    sign, value = "-", a - b
                case ast.Mult():
                    sign, value = "*", a * b
                case _:
                    sign, value = "/", a / b
            lines.append(f"{a} {sign} {b} = {value}")
            return value
        case _:
            raise ValueError(f"no arithmetic: {ast.dump(node)}")


class Puzzles(Ground):
    """Four numbers that are to make 24; a problem's canonical form is the sorted numbers."""

    name = "puzzles"
    example = "4 5 6 10"
    approaches = (
        "list the factor pairs",
        "start from the target",
        "combine two balanced halves",
        "shrink the awkward number",
        "make a quotient early",
        "overshoot and subtract",
    )
    situations = (
        "mostly even numbers and a repeat",
        "mostly even numbers, all different",
        "odd and even numbers in balance and a repeat",
        "odd and even numbers in balance, all different",
        "mostly odd numbers and a repeat",
        "mostly odd numbers, all different",
    )
    checks = (
        "recompute every operation",
        "count that each number is used once",
        "compare the last value with the target",
    )

    def reads(self, text: str) -> str | None:
        """The four numbers of a text that consists of them or speaks of 24."""
        if len(text) > _LONGEST or not (_FOUR.fullmatch(text) or "24" in text):
            return None
        numbers = game24.numbers_of(text)
        return None if numbers is None else " ".join(map(str, sorted(numbers)))

    def situation(self, problem: str) -> int:
        """By how many numbers are odd, and whether one of them comes twice."""
        numbers = [int(number) for number in problem.split()]
        odd = sum(n % 2 for n in numbers)
        return (0 if odd < 2 else 1 if odd == 2 else 2) * 2 + (len(set(numbers)) == 4)

    def solvable(self, problem: str) -> bool:
        """Whether the numbers make 24 at all."""
        return bool(game24.solutions(tuple(map(int, problem.split()))))

    def work(self, problem: str, rightly: bool, pick: float) -> Work:
        """A solution, or a near miss whose last step claims the goal."""
        numbers = tuple(map(int, problem.split()))
        found = game24.solutions(numbers) if rightly else _misses(numbers)
        work = _worked(found[int(pick * len(found))])
        if rightly:
            return work
        # A failing attempt has to look solved, or nobody would be needed to find it out: all its
        # lines hold but the last, which says the goal in place of its own result.
        said, _, _ = work.steps[-1].rpartition(" = ")
        return replace(work, steps=(*work.steps[:-1], f"{said} = {game24.GOAL}"))

    def right(self, problem: str, answer: str) -> bool:
        """Whether the answer is an expression of these numbers with the value 24."""
        return game24.check(problem, answer)[0] == "right"


PUZZLES = Puzzles()
