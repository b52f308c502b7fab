"""The second opinions: asked where exact rules cannot decide, in a process that can be killed."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from handlers.answers.grade import EXACT
from streams.answering.grading import grader
from streams.answering.grading.grader import Grading
from tests.pace import soon

FORMULAS = [
    ("1+x^2", "x^2+1", "right"),
    ("2x+1", "2x+2", "wrong"),
    ("\\frac{\\sqrt 3}{3}", "1/\\sqrt{3}", "right"),
    ("(b+2)(a+5)", "(a+5)(b+2)", "right"),
    ("(3, \\pi/2)", "\\left( 3, \\frac{\\pi}{2} \\right)", "right"),
    ("\\sin^2 x + \\cos^2 x", "1", "right"),
    ("3.14159", "\\pi", "wrong"),
    ("-5i+6", "6 - 5i", "right"),
    ("an ellipse", "ellipse", "right"),
    ("an open curve", "ellipse", "unknown"),
    ("__import__('os')", "x", "unknown"),
    ("\ud800", "x^2", "unknown"),
    ("x^{x", "x", "unknown"),
]


def test_a_file_of_the_working_directory_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called like a module that the worker of the second opinions imports first of all."""
    pytest.importorskip("sympy")
    ran = tmp_path / "ran"
    for name in ("json", "resource", "sympy", "handlers"):
        (tmp_path / f"{name}.py").write_text(f"open({str(ran)!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    with Grading() as opened:
        assert opened.grade_now("1+x^2", "x^2+1").outcome == "right"
    assert not ran.exists()


@pytest.fixture(scope="module")
def full() -> Iterator[Grading]:
    pytest.importorskip("sympy")
    pytest.importorskip("math_verify")
    with Grading(limit_s=10) as opened:
        yield opened


@pytest.mark.parametrize(("answer", "reference", "outcome"), FORMULAS)
def test_formulas(full: Grading, answer: str, reference: str, outcome: str) -> None:
    assert full.grade_now(answer, reference).outcome == outcome


def test_two_opinions_that_differ_are_unknown(full: Grading) -> None:
    grade = full.grade_now("1/2004!", "1/2006!")
    assert grade.outcome == "unknown"
    assert grade.detail == "sympy says wrong, math-verify says right"


def test_a_decided_grade_names_both(full: Grading) -> None:
    assert full.grade_now("1+x^2", "x^2+1").grader == "sympy+math-verify@2"


def test_exact_grades_start_no_process() -> None:
    with Grading() as opened:
        assert opened.grade_now("4", "4").outcome == "right"
        assert opened.grade_now(None, "4").outcome == "withheld"
        assert opened.worker_id is None


def test_what_computes_for_ever_is_killed_and_the_next_is_graded(full: Grading) -> None:
    with Grading(limit_s=10) as impatient:
        assert impatient.grade_now("1+x", "x+1").outcome == "right"
        impatient.limit_s = 1
        limit_s, start = soon(4), time.monotonic()
        endless = impatient.grade_now("(x+1)^{99999}", "x")
        assert time.monotonic() - start < limit_s
        assert endless.outcome == "unknown"
        assert "none in 1 s" in endless.detail
        assert impatient.worker_id is None
        impatient.limit_s = 10
        assert impatient.grade_now("1+x", "x+1").outcome == "right"


def test_a_worker_that_was_killed_is_replaced(full: Grading) -> None:
    full.grade_now("1+x", "x+1")
    before = full.worker_id
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert full.grade_now("1+x", "x+1").outcome == "right"
    assert full.worker_id != before


def test_close_ends_the_process(full: Grading) -> None:
    opened = Grading()
    opened.grade_now("1+x", "x+1")
    worker = opened.worker_id
    assert worker is not None
    opened.close()
    opened.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_the_event_loop_goes_on_while_a_formula_is_graded(full: Grading) -> None:
    async def both() -> list[str]:
        grades = await asyncio.gather(*(full.grade(f"{n}+x", f"x+{n}") for n in range(1, 6)))
        return [grade.outcome for grade in grades]

    assert asyncio.run(both()) == ["right"] * 5


def test_long_texts_are_not_asked(full: Grading) -> None:
    assert "too long" in full.grade_now("x+" * 3000 + "1", "x").detail


def test_without_the_extra_the_outcome_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> ModuleSpec | None:
        return None if name in ("sympy", "math_verify") else importlib.util.find_spec(name)

    monkeypatch.setattr(grader, "find_spec", absent)
    with Grading() as opened:
        grade = opened.grade_now("1+x^2", "x^2+1")
    assert (grade.outcome, grade.grader) == ("unknown", EXACT)
    assert "metalogue[math]" in grade.detail
