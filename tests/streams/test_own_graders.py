"""A grader of one's own runs in a process of its own: bounded, silent, replaced, and named where it fails."""

from __future__ import annotations

import os
import time
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.answers.own import Nonsense, read
from streams.answering.grading import own
from streams.answering.grading.grader import Grading
from streams.answering.grading.own import Failed, NoGrader, OwnGrader, given_of, own_grader

TEXT = """
import os, sys, time
from handlers.answers.own import Given, Grader


def decide(given):
    print("a line that nobody asked for")
    match given.answer:
        case "loop":
            while True:
                pass
        case "sleep":
            time.sleep(60)
        case "exit":
            sys.exit(3)
        case "die":
            os._exit(3)
        case "much":
            return True, "long " * 1000
        case "eat":
            return bool("x" * (1 << 40))
        case "who":
            return True, str(os.getpid())
    return given.answer in given.references


it = Grader(name="it", version="1", grade=decide)
"""
ASKED = {"dataset": "d", "problem": "p"}


@pytest.fixture
def grader(tmp_path: Path) -> Any:
    path = tmp_path / "it.py"
    path.write_text(TEXT)
    found = own_grader(f"{path}:it")
    found.limit_s = 0.5
    yield found
    found.close()


def decided(grader: OwnGrader, answer: str, *references: str) -> str:
    return grader.decide(given_of(answer, references, **ASKED)).outcome


def test_it_decides_by_references(grader: OwnGrader) -> None:
    assert decided(grader, "a", "b", "a") == "right"
    assert decided(grader, "a", "b") == "wrong"
    assert grader.grade(None, "a", **ASKED).outcome == "withheld"
    name, _, digest = grader.reference.partition("+")
    assert (name, len(digest)) == ("it@1", 12)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("loop", "gave no answer: none in 0.5 s"),
        ("sleep", "gave no answer: none in 0.5 s"),
        ("exit", "raised SystemExit: 3"),
        ("die", "gave no answer: the worker died"),
        ("eat", "raised MemoryError"),
    ],
)
def test_what_it_does_is_bounded_named_and_over(grader: OwnGrader, answer: str, why: str) -> None:
    began = time.monotonic()
    with pytest.raises(Failed, match=why) as failed:
        decided(grader, answer)
    assert str(failed.value).startswith(grader.reference)
    assert grader.grade(answer, "x", **ASKED).outcome == "unknown"
    assert decided(grader, "a", "a") == "right"
    assert time.monotonic() - began < 20


def test_why_is_short_and_the_process_another(grader: OwnGrader) -> None:
    assert len(grader.decide(given_of("much", None, **ASKED)).detail) == 300
    assert grader.decide(given_of("who", None, **ASKED)).detail != str(os.getpid())


def test_a_file_that_changed_grades_no_more(grader: OwnGrader) -> None:
    Path(grader.spelled.rpartition(":")[0]).write_text(TEXT + "\n# changed")
    assert decided(grader, "a", "a") == "right", "what was loaded stays"
    grader.close()
    with pytest.raises(Failed, match="changed since it was given"):
        decided(grader, "a", "a")


def test_an_installed_one_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs_graders.py").write_text(TEXT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    entry = EntryPoint("theirs", "theirs_graders:it", own.GROUP)

    def installed(group: str) -> list[EntryPoint]:
        return [entry] if group == own.GROUP else []

    monkeypatch.setattr(own, "entry_points", installed)
    with Grading(own=own_grader("theirs")) as grading:
        assert grading.grade_now("a", "a").outcome == "right"
        assert grading.grade_now("a", "b").grader.startswith("it@1+")
    with pytest.raises(NoGrader, match="theirs"):
        own_grader("ours")


@given(st.sampled_from([True, False, None]), st.text())
def test_a_decision_may_say_why(decision: bool | None, why: str) -> None:
    outcome, detail = read((decision, why))
    assert outcome == read(decision)[0]
    assert len(detail) <= 300
    assert "\n" not in detail


@given(st.text(st.characters(exclude_categories=())))
def test_why_is_text_that_a_record_can_hold(why: str) -> None:
    """A grader may quote an answer that JSON let hold half of a character: it had ended workers."""
    read((True, why))[1].encode()


@given(
    st.one_of(st.integers(), st.floats(), st.text(), st.lists(st.booleans()), st.tuples(st.none()))
)
def test_nothing_else_is_a_decision(said: Any) -> None:
    with pytest.raises(Nonsense, match="expected True, False or None"):
        read(said)
