"""Game of 24: four numbers, each used exactly once, make 24 with + − × / and brackets.

The checker needs the problem only. It compares the exact value **and** the multiset of numbers: a
float grader refuses 8/(3−8/3), one that looks at the value alone accepts cheats.

Source: Tree of Thoughts, section 4.1; the 1 362 solvable puzzles are those of its ``24.csv``.
"""

from __future__ import annotations

import re
from collections import Counter

from handlers.answers.arithmetic import Evaluated, NotArithmetic, TooDeep, evaluate, plain
from handlers.answers.game24_solutions import GOAL, Numbers, puzzles, solutions, solve
from schemas.outcome import Outcome

__all__ = ["GOAL", "Numbers", "check", "numbers_of", "puzzles", "solutions", "solve"]

_WHOLE = re.compile(r"(?<![\d.])\d{1,9}(?![\d]|\.\d)")
_RUN = re.compile(r"[\d(+-][\d()+*/ -]*")


def numbers_of(problem: str) -> Numbers | None:
    """The four numbers of a problem text, or ``None`` when it does not have exactly four.

    The goal may be mentioned once: "make 24 from 4 5 6 10" has the numbers 4 5 6 10.
    """
    found = [int(digits) for digits in _WHOLE.findall(problem[:2000])]
    # Of five numbers one may be the goal itself; of four all are the puzzle's, 24 among them.
    if len(found) == 5 and found.count(int(GOAL)) == 1:
        found.remove(int(GOAL))
    return tuple(found) if len(found) == 4 else None


def check(problem: str, answer: str) -> tuple[Outcome, str]:
    """Is the answer an expression over the problem's numbers that makes 24? With the reason.

    ``unknown`` only when the problem has no four numbers, or the answer is nested beyond reading.
    What the model claims behind ``=`` is no part of the answer: "(13 - 9) * (12 - 6) = 48" makes 24,
    and its recorded label says so.
    """
    numbers = numbers_of(problem)
    if numbers is None:
        return "unknown", "the problem does not have four numbers"
    try:
        found = _read(answer)
    except TooDeep as problem_with_it:
        return "unknown", str(problem_with_it)
    except NotArithmetic as problem_with_it:
        return "wrong", f"not an expression: {problem_with_it}"
    # The numbers come first: an expression of other numbers that makes 24 is a cheat, and its
    # reason has to say so.
    if Counter(found.numbers) != Counter(numbers):
        used, given = (
            " ".join(map(str, sorted(each))) or "no numbers" for each in (found.numbers, numbers)
        )
        return "wrong", f"uses {used} instead of {given}"
    if found.value != GOAL:
        return "wrong", f"makes {found.value}"
    return "right", "makes 24"


def _read(answer: str) -> Evaluated:
    """The expression of an answer: before the first ``=``, behind it if only 24 stands before."""
    # Models write "24 = (10 - 4) * 5 - 6" as often as the other way round.
    sides = plain(answer[:2000]).strip(" \t\n$`*.\\").split("=")
    side = sides[1] if len(sides) > 1 and sides[0].strip() == "24" else sides[0]
    try:
        return evaluate(side)
    except TooDeep:
        raise
    except NotArithmetic:
        # Words may stand around the expression. The longest run of its signs is tried, once, without
        # the bracket that opens a remark behind it.
        runs = [run.rstrip(" (") for run in _RUN.findall(side)]
        if not runs:
            raise
        return evaluate(max(runs, key=len))
