"""Votes: which answers are one, whose spelling stands for them, and what nobody can read."""

from __future__ import annotations

import pytest

from handlers.answers.alike import alike, kinds, vote

LISTED = "Which? (A) ten (B) eleven (C) 12"


@pytest.mark.parametrize(
    ("one", "other", "problem", "same"),
    [
        ("5", "5.0", "", True), ("5", "6", "", False), (None, None, "", False), ("5", None, "", False),
        (None, "5", "", False), ("B", "eleven", LISTED, True), ("B", "eleven", "", False),
        ("(b)", "B", LISTED, True), ("A", "B", LISTED, False), ("50%", "0.5", "", True),
        ("50%", "50", "", True), ("5 km", "5", "", True), ("5 km", "5000 m", "", True),
        ("5 km", "5 miles", "", False), ("(1,2)", "[1,2]", "", False), ("", "", "", True),
    ],
)  # fmt: skip
def test_which_answers_are_one(
    one: str | None, other: str | None, problem: str, same: bool
) -> None:
    assert alike(one, other, problem) == same


@pytest.mark.parametrize(
    ("answers", "winner", "votes"),
    [
        ([], None, 0),
        ([None, None], None, 0),
        (["a", None, "b"], "a", 1),
        (["b", "a", "a"], "a", 2),
        (["b", "a", "a", "b"], "b", 2),
        (["1/2", "x", "0.5"], "1/2", 2),
        (["5", "5 km", "5 km"], "5", 3),
        (["5", "5 km", "5 miles"], "5", 1),
        (["0.5", "50", "50%"], "0.5", 3),
        (["5%", "0.05", "0.05 m"], "5%", 1),
    ],
)
def test_the_answer_with_most_votes_wins_and_the_first_of_equals(
    answers: list[str | None], winner: str | None, votes: int
) -> None:
    assert vote(answers) == (winner, votes)


def test_what_answers_have_in_common() -> None:
    assert kinds(["B", "eleven", "13", "D"], LISTED) == ["option:B", "option:B", "number:13", "d"]
    assert kinds(["5", "5 km", "()"]) == [kinds(["5 km"])[0], kinds(["5 km"])[0], ""]
    assert kinds([]) == []
