"""Whether an answer that no episode gave would have been right; where nobody can say, it stays unknown."""

from __future__ import annotations

import pytest

from schemas.problem import Problem
from streams.research.analysis.cases import judged

ASKED = Problem(id="p", domain="default", problem="What is 6 * 7?")
GAME = Problem(id="g", domain="game24", problem="4 6 8 8")


@pytest.mark.parametrize(("answer", "known"), [("42", True), ("41", False), (None, False)])
def test_a_reference_judges_any_answer(answer: str | None, known: bool) -> None:
    assert judged(ASKED, answer, "42", ("7", "wrong")) is known


def test_a_checker_judges_without_a_reference() -> None:
    assert judged(GAME, "(8 + 8) / (4 / 6)", None, (None, "withheld")) is True
    assert judged(GAME, "4 + 6 + 8 + 8", None, (None, "withheld")) is False


@pytest.mark.parametrize("outcome", ["right", "wrong", "unknown"])
def test_a_verdict_on_one_answer_says_nothing_of_another(outcome: str) -> None:
    known = {"right": True, "wrong": False}.get(outcome)
    assert judged(ASKED, "42", None, ("42", outcome)) is known
    assert judged(ASKED, "6 * 7", None, ("42", outcome)) is None
    assert judged(ASKED, None, None, ("42", outcome)) is False
