"""Who gives an answer is told its form; who judges work is not: it would take the form for one more condition."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.answers.stated import FORMS, STATEMENTS, TASKS, bare, posed, stated
from handlers.policies.base import Task
from handlers.policies.registry import POLICIES
from handlers.roles.role import FAIR
from schemas.questions import Complete
from tests.handlers.roles.every import roles
from tests.papers.mc2_says import full_memory
from tests.right import right
from tests.scripted import run, shown

TASK = Task("t", "Ada has 3 boxes of 12 eggs and drops 5. How many are whole?", "gsm8k", 7)
JUDGES = (
    "monitor",
    "controller",
    "judge",
    "critic",
    "verifier",
    "evaluator",
    "confidence",
    "oracle",
)


def asked(name: str, patience: int, trust: float) -> list[Complete]:
    """All that a policy asks of a model that takes its time and trusts its work so much."""
    settings: Any = POLICIES[name].settings.resolve("service", {})
    return run(
        POLICIES[name].solve(TASK, settings), right("31", patience, trust), calls=30
    ).requests


@pytest.mark.parametrize("name", POLICIES)
def test_only_who_answers_is_told_how_the_answer_is_written(name: str) -> None:
    seen = [each for way in ((0, 0.95), (3, 0.2)) for each in asked(name, *way)]
    assert seen
    for question in seen:
        answers = any(field.kind == "answer" for field in question.template.reply.fields)
        told = FORMS["gsm8k"] in shown(question)
        assert told == (answers and question.role != "controller"), question.template.name


def test_learning_and_coaches_are_not_told_either() -> None:
    settings: Any = POLICIES["mc2"].settings.resolve("service", {})
    task = Task(TASK.id, TASK.problem, TASK.domain, TASK.seed, memory_version=1)
    ran = run(POLICIES["mc2"].solve(task, settings), right("31"), memory=full_memory())
    coaches = [question for question in ran.requests if question.role == "composer"]
    assert coaches
    assert not [each for each in coaches if FORMS["gsm8k"] in shown(each)]


def test_a_judge_is_shown_the_task_that_a_bare_problem_leaves_unsaid() -> None:
    assert posed("game24", "4 5 6 10") == f"{TASKS['game24']}\n\n4 5 6 10"
    assert stated("game24", "4 5 6 10") == f"{TASKS['game24']} {FORMS['game24']}\n\n4 5 6 10"
    assert posed("gsm8k", "1 + 1?") == "1 + 1?"
    assert posed("dates", "When?", "A date.") == "A date.\n\nWhen?", (
        "a statement of one's own is whole"
    )
    for domain in STATEMENTS:
        assert bare(stated(domain, "p")) == bare(posed(domain, "p")) == "p"


def test_problems_of_no_data_set_have_domains_that_say_the_form_of_their_answers() -> None:
    for domain, form in (
        ("multiple_choice", "the letter of the right option"),
        ("yes_no", "yes or no"),
        ("free_text", "the bare answer"),
        ("python", "Python code"),
    ):
        assert form in stated(domain, "Is it?")
        assert stated(domain, "Is it?").endswith("\n\nIs it?")
    assert stated("default", "Is it?") == "Is it?"


def test_judges_are_told_that_the_form_is_not_theirs_to_judge() -> None:
    """A statement of a user's own may hold it."""
    judging = [
        role
        for role in roles()
        if role.name in JUDGES and role.template.name.partition(".")[0] not in ("macm", "appraise")
    ]
    assert len(judging) > 10
    assert not [role.template.name for role in judging if FAIR not in role.template.system]
