"""Game of 24 solved: which quadruples of 1–13 make 24, and how, in exact arithmetic.

Two partial values are combined last; for each value on one side only six on the other make 24, so
that all 1 820 quadruples take a fraction of a second.

Source: Tree of Thoughts (Yao et al. 2023), section 4.1; its ``24.csv`` lists the same 1 362.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, product
from typing import TypeAlias

GOAL = Fraction(24)
Numbers: TypeAlias = tuple[int, ...]
# Puzzles share their partial values, so these are kept; a walk over all puzzles must not keep all.
_MEMORY = 4096


@cache
def puzzles() -> tuple[tuple[int, int, int, int], ...]:
    """The 1 362 solvable quadruples of 1–13, in lexicographic order."""
    quadruples = combinations_with_replacement(range(1, 14), 4)
    return tuple(q for q in quadruples if next(_endings(q), None) is not None)


def solve(numbers: Numbers) -> str | None:
    """One exact solution, such as ``(10 - 4) * 5 - 6``, or ``None`` when there is none."""
    return next(_endings(numbers), None)


@lru_cache(_MEMORY)
def solutions(numbers: Numbers) -> tuple[str, ...]:
    """Different exact solutions in a fixed order; one for each pair of partial values."""
    return tuple(dict.fromkeys(_endings(numbers)))


def _endings(numbers: Numbers) -> Iterator[str]:
    """Expressions whose last operation makes 24 out of two partial values."""
    if len(numbers) != 4:
        raise ValueError(f"a puzzle has four numbers, not {len(numbers)}")
    # In order, so that a puzzle has the same solutions however its numbers are told.
    for some, others in _splits(tuple(sorted(numbers))):
        right = _reach(others)
        for value, text in _reach(some).items():
            for operation, wanted in _wanted(value):
                if wanted in right:
                    yield _write(operation, text, right[wanted])


def _splits(numbers: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Ways to part the numbers in two, each unordered pair of parts at least once."""
    seen: set[tuple[Numbers, Numbers]] = set()
    for size in range(1, len(numbers) // 2 + 1):
        for chosen in combinations(range(len(numbers)), size):
            some = tuple(numbers[i] for i in chosen)
            others = tuple(n for i, n in enumerate(numbers) if i not in chosen)
            if (some, others) not in seen:
                seen.add((some, others))
                yield some, others


@lru_cache(_MEMORY)
def _reach(numbers: Numbers) -> Mapping[Fraction, str]:
    """Every value that the numbers make, each with its first expression."""
    if len(numbers) == 1:
        return {Fraction(numbers[0]): str(numbers[0])}
    values: dict[Fraction, str] = {}
    for some, others in _splits(numbers):
        sides = product(_reach(some).items(), _reach(others).items())
        for (left, left_text), (right, right_text) in sides:
            results = [("+", left + right), ("*", left * right)]
            results += [("-", left - right), ("~-", right - left)]
            if right:
                results.append(("/", left / right))
            if left:
                results.append(("~/", right / left))
            for operation, value in results:
                # The first expression stays, and the order above is fixed: hints that quote a
                # solution must be the same on each replay.
                if value not in values:
                    values[value] = _write(operation, left_text, right_text)
    return values


@lru_cache(_MEMORY)
def _wanted(a: Fraction) -> tuple[tuple[str, Fraction], ...]:
    """For each operation the other operand that makes 24 (``~`` swaps the operands)."""
    pairs = [("+", GOAL - a), ("-", a - GOAL), ("~-", GOAL + a)]
    if a:
        pairs += [("*", GOAL / a), ("/", a / GOAL), ("~/", GOAL * a)]
    return tuple(pairs)


def _write(operation: str, left: str, right: str) -> str:
    if operation.startswith("~"):
        left, right = right, left
    sign = operation[-1]
    return f"{_wrap(left, sign, first=True)} {sign} {_wrap(right, sign, first=False)}"


def _wrap(text: str, sign: str, *, first: bool) -> str:
    """Brackets only where leaving them out would change the value."""
    signs: set[str] = set()
    depth = 0
    for part in text.split():
        if part in ("+", "-", "*", "/") and depth == 0:
            signs.add(part)
        depth += part.count("(") - part.count(")")
    loose = bool(signs & {"+", "-"})
    needed = loose if sign in "*/" else False
    # a - (b + c) and a / (b * c) need their brackets; (a + b) - c and (a * b) / c do not.
    if not first:
        needed = needed or (sign == "-" and loose) or (sign == "/" and bool(signs))
    return f"({text})" if needed else text
