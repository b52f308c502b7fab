"""Which answers of several are one: by what they say, as a grader compares them, not by their spelling.

``1/2`` and ``0.5``, ``90 minutes`` and ``1.5 hours``, ``(B) Jupiter`` and ``B`` and ``Jupiter`` are each one answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from handlers.answers.choice import letter_of, options
from handlers.answers.equal import key_of
from handlers.answers.value import read


def alike(one: str | None, other: str | None, problem: str = "") -> bool:
    """Whether two answers are one."""
    if one is None or other is None:
        return False
    first, second = kinds((one, other), problem)
    return first == second


def vote(answers: Sequence[str | None], problem: str = "") -> tuple[str | None, int]:
    """The answer with most support, ties to the one first seen, and its votes.

    The first spelling stands for those that are alike. Unparseable ones (none) do not vote.
    """
    given = [answer for answer in answers if answer is not None]
    support: dict[str, int] = {}
    spelt: dict[str, str] = {}
    for answer, kind in zip(given, kinds(given, problem), strict=True):
        support[kind] = support.get(kind, 0) + 1
        spelt.setdefault(kind, answer)
    # The first of equals wins, and no draw decides: a replay counts the same votes again.
    if not support:
        return None, 0
    winner = max(support, key=support.__getitem__)
    return spelt[winner], support[winner]


def kinds(answers: Sequence[str], problem: str = "") -> list[str]:
    """A text for each answer that those which say the same have in common.

    A bare number goes with the measure or percentage that it may be the number of, if there is one only.
    """
    listed = options(problem)
    values = [read(answer) for answer in answers]
    marked: dict[Fraction, set[str]] = {}
    for value in values:
        if value.number is None or value.bare is not None:
            continue
        marked.setdefault(value.number, set()).add(key_of(value))
        # "What percent?" may be answered by 50, 50 % or 0.5: a percentage stands for both numbers.
        if value.unit is None:
            marked.setdefault(value.number / 100, set()).add(key_of(value))
    found: list[str] = []
    for answer, value in zip(answers, values, strict=True):
        letter = letter_of(answer, problem) if listed else None
        measures = set[str]() if value.bare is None else marked.get(value.bare, set())
        if letter in listed:
            found.append(f"option:{letter}")
        # Beside both 5 km and 5 miles a bare 5 would join them into one answer, which no grader
        # calls equal; so it stays by itself.
        elif len(measures) == 1:
            found.extend(measures)
        else:
            found.append(key_of(value) or value.brackets)
    return found
