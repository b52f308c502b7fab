"""Problems that say what their answer is: every policy delivers it in one spelling, or none at all."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from handlers.policies.base import Conclusion, Task
from handlers.policies.registry import POLICIES
from handlers.policies.typed import WRONG_FORM, in_form
from schemas.answer_type import AnswerType
from schemas.questions import Complete
from tests.right import right
from tests.scripted import Ran, Script, run, shown

ASKED = "Which of them is a prime?"
CHOICE = AnswerType(type="choice", options=("4", "seventeen", "9"))
POINT = AnswerType(
    type="json",
    schema={"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
)
HOURS = AnswerType(type="number", unit="h")


def solved(
    name: str, said: AnswerType, model: Script, calls: int = 30, **values: Any
) -> Ran[Conclusion]:
    settings: Any = POLICIES[name].settings.resolve("service", values)
    task = Task("t", ASKED, "default", 7, answer_type=said)
    return run(POLICIES[name].solve(task, settings), model, calls=calls)


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "ttpi"])
@pytest.mark.parametrize(
    ("said", "answer", "written"),
    [(CHOICE, "(B)", "seventeen"), (HOURS, "90 minutes", "1.5 h")],
    ids=["choice", "hours"],
)
def test_every_policy_delivers_the_canonical_form(
    name: str, said: AnswerType, answer: str, written: str
) -> None:
    assert solved(name, said, right(answer)).result.answer == written


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_delivers_another_form(name: str) -> None:
    ran = solved(name, CHOICE, right("none of those that you name"))
    assert ran.result.answer is None


def test_the_wrong_form_is_asked_for_once_more_with_what_was_wrong() -> None:
    said = iter(["It is prime.\nFinal_answer: \\boxed{blue}", "Final_answer: \\boxed{B}"])
    ran = solved("cot", CHOICE, lambda question: next(said))
    assert ran.result.answer == "seventeen"
    first, second = ran.requests
    assert first.history == ()
    assert "Final_answer: names none of the options A, B, C" in second.history[-1][1]


def test_a_wrong_form_that_stays_is_never_guessed() -> None:
    for policy, calls in (("cot", 2), ("self_consistency", 10)):
        ran = solved(policy, CHOICE, lambda question: "Final_answer: \\boxed{blue}")
        assert (ran.result.answer, ran.result.ended_by) == (None, WRONG_FORM)
        assert len(ran.requests) == calls


def test_votes_count_what_means_the_same_as_one_answer() -> None:
    said = iter(["90 minutes", "1 h 30 min", "2 h", "1.5", "3 h"])
    ran = solved(
        "self_consistency", HOURS, lambda question: f"Final_answer: \\boxed{{{next(said)}}}"
    )
    assert ran.result.answer == "1.5 h"
    assert ran.result.confidence == 0.6


def test_options_are_shown_to_who_answers_and_to_who_judges() -> None:
    ran = solved("mc2", CHOICE, right("B"))
    assert {"reasoner", "monitor"} <= set(ran.roles)
    for question in ran.requests:
        assert "A) 4\nB) seventeen\nC) 9" in shown(question), question.role
        told = "the letter of the right option" in shown(question)
        assert told == (question.role == "reasoner")


def test_a_json_answer_is_asked_for_in_no_box_and_may_be_the_whole_reply() -> None:
    def in_words(question: Complete) -> str:
        assert question.template.system.endswith("\nFinal_answer: ...")
        assert '"required":["x"]' in shown(question)
        return 'It is 3.\n\nFinal_answer:\n```json\n{"x": 3}\n```'

    assert solved("cot", POINT, in_words).result.answer == '{"x":3}'
    for reply in (
        '{"x": 3}',
        'Here it is: {"x": 3}',
        '{"reasoning": "r", "Final_answer": {"x": 3}}',
    ):
        assert solved("cot", POINT, [reply]).result.answer == '{"x":3}'
    listed = AnswerType(type="json", schema={"type": "array", "items": {"type": "object"}})
    said = 'Final_answer: [{"x": 1},\n {"x": 2}]'
    assert solved("cot", listed, lambda question: said).result.answer == '[{"x":1},{"x":2}]'


def test_a_reply_by_schema_holds_the_problems_own_schema() -> None:
    [question] = solved("cot", POINT, lambda question: '{"x": 3}').requests
    answer = question.template.schema["properties"]["Final_answer"]
    assert {key: answer[key] for key in ("type", "required")} == {
        "type": "object",
        "required": ["x"],
    }
    assert orjson.dumps(question.template.schema)


def test_a_json_answer_that_breaks_its_schema_is_mended_once() -> None:
    said = iter(['Final_answer: {"x": "three"}', 'Final_answer: {"x": 3}'])
    ran = solved("cot", POINT, lambda question: next(said))
    assert ran.result.answer == '{"x":3}'
    assert "holds not to the schema at ['x']: type" in ran.requests[1].history[-1][1]


def test_what_a_policy_ends_with_is_held_to_the_form_however_it_was_read() -> None:
    kept = in_form(Conclusion(answer="b", ended_by="voted", confidence=0.5), CHOICE)
    assert (kept.answer, kept.ended_by, kept.confidence) == ("seventeen", "voted", 0.5)
    lost = in_form(Conclusion(answer="blue", ended_by="voted"), CHOICE)
    assert (lost.answer, lost.ended_by) == (None, WRONG_FORM)
    none = Conclusion(answer=None, ended_by="limit", limit="calls")
    assert in_form(none, CHOICE) == none
