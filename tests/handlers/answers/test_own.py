"""A grader of one's own: what is one, what it may say; and how problems of a domain are put."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.answers.own import DETAIL_CHARS, Given, Grader, Nonsense, checked, read
from handlers.answers.stated import FORMS, STATEMENTS, TASKS, bare, posed, stated
from schemas.outcome import Outcome


def decides(given: Given) -> bool:
    return given.answer == "4"


def made(**said: Any) -> Grader:
    """A grader by whatever a user's file may hold."""
    fields: dict[str, Any] = {"name": "a", "version": "1", "grade": decides, **said}
    return Grader(**fields)


MINE = Grader(name="mine", version="1.2", grade=decides)


def test_a_grader_has_a_plain_name_and_version_and_is_none_of_ours() -> None:
    assert checked(MINE, "here") is MINE
    assert not MINE.unlabelled
    assert checked(Grader(name="x" * 64, version="0", grade=decides), "here").name == "x" * 64


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (decides, "here: expected a Grader, found function"),
        (None, "here: expected a Grader, found NoneType"),
        (Grader(name="", version="1", grade=decides), "here: name: expected a plain name, found ''"),
        (Grader(name="x" * 65, version="1", grade=decides), "here: name: expected a plain name"),
        (Grader(name="a b", version="1", grade=decides), "here: name: expected a plain name"),
        (Grader(name="a", version="1@2", grade=decides), "here: version: expected a plain name"),
        (made(version=1), "here: version: expected a plain name, found 1"),
        (Grader(name="exact", version="1", grade=decides), "here: name: 'exact' is a grader of ours"),
        (Grader(name="verdict", version="1", grade=decides), "'verdict' is a grader of ours"),
        (made(grade="x"), "here: grade: expected a function, found 'x'"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_by_the_field(found: Any, wrong: str) -> None:
    with pytest.raises(Nonsense) as refused:
        checked(found, "here")
    assert wrong in str(refused.value)


@pytest.mark.parametrize(
    ("said", "outcome", "why"),
    [
        (True, "right", ""),
        (False, "wrong", ""),
        (None, "unknown", ""),
        ((True, " for\n a  reason "), "right", "for a reason"),
        ((None, ""), "unknown", ""),
        ((False, "x" * (DETAIL_CHARS + 1)), "wrong", "x" * 300),
    ],
)
def test_a_word_stands_for_an_outcome(said: Any, outcome: Outcome, why: str) -> None:
    assert read(said) == (outcome, why)


@pytest.mark.parametrize(
    "said", [1, 0, "yes", (True,), (True, "a", "b"), (1, "a"), (True, None), (True, 3), [True, "a"]]
)
def test_any_other_word_is_nonsense(said: Any) -> None:
    with pytest.raises(Nonsense, match="expected True, False or None, alone or with a text"):
        read(said)


# ── Statements ───────────────────────────────────────────────────────────────────────────────


def test_who_answers_is_told_the_task_and_the_form_and_who_judges_the_task_alone() -> None:
    task, form = TASKS["game24"], FORMS["game24"]
    assert stated("game24", "4 5 6 10") == f"{task} {form}\n\n4 5 6 10"
    assert stated("gsm8k", "How many?") == f"{FORMS['gsm8k']}\n\nHow many?"
    assert stated("other", "How many?") == "How many?"
    assert stated("game24", "4 5", "Mine.") == "Mine.\n\n4 5"
    assert stated("game24", "4 5", form="In words.") == f"{task} In words.\n\n4 5"
    assert stated("gsm8k", "4 5", form="In words.") == "In words.\n\n4 5"
    assert stated("gsm8k", "4 5", "Mine.", "In words.") == "Mine. In words.\n\n4 5"
    assert posed("game24", "4 5") == f"{task}\n\n4 5"
    assert posed("gsm8k", "How many?") == "How many?"
    assert posed("game24", "4 5", "Mine.", "A or B") == "Mine. A or B\n\n4 5"
    assert posed("other", "4 5", more="A or B") == "A or B\n\n4 5"


@pytest.mark.parametrize("domain", sorted(STATEMENTS))
def test_a_problem_is_found_again_under_its_statement(domain: str) -> None:
    assert bare(stated(domain, "4 5")) == bare(posed(domain, "4 5")) == bare("4 5") == "4 5"
    assert STATEMENTS[domain].endswith(FORMS[domain])
    assert STATEMENTS[domain].startswith(TASKS.get(domain, FORMS[domain]))
