"""What may come in: the bounds of problems and judgements, whose they are, and what they are about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from schemas.answer_type import AnswerType
from schemas.price import Price
from schemas.problem import (
    UNLIMITED,
    Feedback,
    Limits,
    Perturbed,
    Problem,
    ProblemRecord,
    finite,
    of_tenant,
)

LINE: dict[str, Any] = {"id": "a", "problem": "1 + 1"}
PROBLEM: dict[str, Any] = {**LINE, "domain": "d"}
VERDICT: dict[str, Any] = {"episode": "p/d/a/0", "verdict": True}
MODELS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (ProblemRecord, LINE),
    (Problem, PROBLEM),
    (Feedback, VERDICT),
    (Limits, {"calls": 1}),
    (Perturbed, {"by": "S5", "seed": 0}),
    (Price, {"prompt": 1, "completion": 2}),
    (AnswerType, {"type": "number"}),
]


@pytest.mark.parametrize(("model", "said"), MODELS)
def test_what_came_in_is_a_value_and_holds_no_more_than_it_may(
    model: type[BaseModel], said: dict[str, Any]
) -> None:
    found = model.model_validate(said)
    name = next(iter(said))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(found, name, said[name])
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model.model_validate({**said, "more": 1})


@pytest.mark.parametrize("amount", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("model", "said", "name"),
    [(Limits, {}, "cost"), (Limits, {}, "seconds"), (Feedback, {"episode": "e"}, "score"),
     (Price, {"completion": 1}, "prompt")],
)  # fmt: skip
def test_no_amount_is_without_end(
    model: type[BaseModel], said: dict[str, Any], name: str, amount: float
) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        model.model_validate({**said, name: amount})


def test_a_line_is_taken_by_its_word_and_a_recorded_problem_by_what_it_means() -> None:
    with pytest.raises(ValidationError, match="valid integer"):
        ProblemRecord.model_validate({**LINE, "seed": "7"})
    assert Problem.model_validate({**PROBLEM, "seed": "7"}).seed == 7


@pytest.mark.parametrize("model", [ProblemRecord, Problem])
@pytest.mark.parametrize(
    ("name", "fits", "not_so"),
    [
        ("id", ["x", "x" * 200, "a b/c"], ["", "x" * 201, " x", "x ", "a\nb"]),
        ("problem", ["x" * 262_144, " x"], ["", "  \n", "x" * 262_145]),
        ("statement", ["x" * 4_096, None], ["", " ", "x" * 4_097]),
        ("domain", ["a" * 64, "a.b_c-d", "9"], ["a" * 65, "", ".a", "a/b", "a b"]),
        ("seed", [0, (1 << 53) - 1], [-1, 1 << 53]),
        ("priority", [-9, 9, None], [-10, 10]),
        ("tenant", ["t", None], ["", "t/u"]),
    ],
)
def test_bounds_are_where_they_are_said_to_be(
    model: type[BaseModel], name: str, fits: list[Any], not_so: list[Any]
) -> None:
    for value in fits:
        assert getattr(model.model_validate({**PROBLEM, name: value}), name) == value
    for value in not_so:
        with pytest.raises(ValidationError) as refused:
            model.model_validate({**PROBLEM, name: value})
        assert [each["loc"] for each in refused.value.errors()] == [(name,)]


def test_a_reference_has_so_many_characters_at_most() -> None:
    assert ProblemRecord.model_validate({**LINE, "answer": "x" * 65_536}).answer == "x" * 65_536
    with pytest.raises(ValidationError, match="at most 65,536 characters"):
        ProblemRecord.model_validate({**LINE, "answer": "x" * 65_537})


def test_what_a_problem_does_not_say_is_the_same_on_every_machine() -> None:
    assert Problem(**PROBLEM).model_dump() == {
        **PROBLEM, "statement": None, "answer_type": None, "dataset": None, "policy": None,
        "profile": "service", "settings": {}, "limits": UNLIMITED.model_dump(), "seed": 0, "walk": 1,
        "memory": "main", "series": None, "position": None, "labelled": False, "perturbed": None,
        "tenant": None, "priority": None, "subject": None,
    }  # fmt: skip
    with pytest.raises(ValidationError, match="subject"):
        Problem(**PROBLEM, subject="ann")
    assert Problem(**PROBLEM, subject=f"subject-{'0f' * 8}").subject is not None


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (-(1 << 63), True),
        (-(1 << 63) - 1, False),
        ((1 << 64) - 1, True),
        (1 << 64, False),
        (float("inf"), False),
        ({"a": [1, {"b": float("nan")}]}, False),
        ((1, 1 << 64), False),
        ({"a": [True, None, "x", 1.5]}, True),
    ],
)
def test_a_number_that_canonical_json_cannot_say_is_refused_however_deep(
    value: Any, fits: bool
) -> None:
    if fits:
        assert finite(value) is value
    else:
        with pytest.raises(ValueError, match=r"64 bits|finite"):
            finite(value)


def test_limits_that_are_set_go_before_others() -> None:
    mine, other = Limits(calls=1, cost=2.0), Limits(calls=5, tokens=7)
    assert mine.over(other) == Limits(calls=1, tokens=7, cost=2.0)
    assert other.over(mine) == Limits(calls=5, tokens=7, cost=2.0)
    assert mine.over(UNLIMITED) is mine
    assert UNLIMITED.over(mine) == mine
    for wrong in ({"calls": 0}, {"tokens": 0}, {"cost": 0}, {"seconds": 0}):
        with pytest.raises(ValidationError, match="greater than"):
            Limits.model_validate(wrong)


@pytest.mark.parametrize(
    ("tenant", "id", "memory", "own"),
    [
        (None, "a", "main", ("a", "main")),
        ("t", "a", "main", ("t.a", "t")),
        ("t", "t.a", "main", ("t.a", "t")),
        ("t", "ta", "shared", ("t.ta", "shared")),
        ("t.u", "a", "main", ("t%2Eu.a", "t.u")),
        ("t.u", "t%2Eu.a", "main", ("t%2Eu.a", "t.u")),
    ],
)
def test_a_tenants_problem_and_memory_are_its_own(
    tenant: str | None, id: str, memory: str, own: tuple[str, str]
) -> None:
    assert of_tenant(tenant, id, memory) == own


NAMED = st.from_regex(r"[a-b.]{1,4}", fullmatch=True)


@given(NAMED, NAMED, NAMED, NAMED)
def test_ids_of_two_tenants_are_never_equal(a: str, id: str, b: str, other: str) -> None:
    if a != b:
        assert of_tenant(a, id, "main")[0] != of_tenant(b, other, "main")[0]


# ── Judgements ───────────────────────────────────────────────────────────────────────────────

ABOUT = {"episode": "p/d/a/0"}
ASKED = {**ABOUT, "review": "3.1"}


@pytest.mark.parametrize(
    "said",
    [
        {**ABOUT, "verdict": False},
        {**ABOUT, "score": 0},
        {**ABOUT, "score": 1},
        {**ABOUT, "passed": True},
        {**ABOUT, "reference": [1, 2]},
        {"domain": "d", "problem_id": "a", "reference": "4"},
        {**ASKED, "reference": "4"},
        {**ASKED, "passed": True},
        {**ASKED, "verdict": False, "of": "4"},
    ],
)
def test_one_judgement_of_one_answer_is_taken(said: dict[str, Any]) -> None:
    found = Feedback.model_validate(said)
    assert found.model_dump(exclude_none=True) == {**said, "by": "unknown"}


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({"verdict": True}, "name an episode, or a domain and a problem_id"),
        ({"domain": "d", "verdict": True}, "name an episode, or a domain and a problem_id"),
        ({"problem_id": "a", "verdict": True}, "name an episode, or a domain and a problem_id"),
        ({**ABOUT, "domain": "d", "problem_id": "a", "verdict": True}, "name an episode, or"),
        (ABOUT, "give one of reference, verdict, score, passed"),
        ({**ABOUT, "verdict": False, "score": 0}, "give one of reference, verdict, score, passed"),
        ({**ABOUT, "reference": "", "passed": True}, "give one of reference, verdict"),
        ({**ABOUT, "score": 1.01}, "less than or equal to 1"),
        ({**ABOUT, "score": -0.01}, "greater than or equal to 0"),
        ({**ABOUT, "passed": False}, "passed"),
        ({**ASKED, "score": 1}, "review: name an episode, and give one of"),
        ({"domain": "d", "problem_id": "a", "review": "3", "reference": "4"}, "review: name an"),
        ({**ASKED, "verdict": False}, "of: say which answer the verdict is about"),
        ({**ASKED, "reference": 4}, "reference: a question is answered by text"),
        ({**ABOUT, "review": "3.", "passed": True}, "review"),
        ({**ABOUT, "verdict": True, "at": ""}, "at least 1 character"),
        ({**ABOUT, "verdict": True, "at": "x" * 201}, "at most 200 characters"),
        ({**ABOUT, "verdict": True, "mark": "0f" * 7}, "mark"),
    ],
)
def test_what_judges_nothing_or_too_much_is_refused(said: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        Feedback.model_validate(said)


@pytest.mark.parametrize(
    ("said", "answer", "judges"),
    [
        ({**ABOUT, "verdict": True}, "4", True),
        ({**ABOUT, "verdict": True}, None, True),
        ({**ABOUT, "passed": True}, "4", False),
        ({**ASKED, "verdict": True, "of": "4"}, "4", True),
        ({**ASKED, "verdict": True, "of": "4"}, "5", False),
        ({**ASKED, "reference": "4"}, "4", False),
        ({**ASKED, "reference": "4"}, None, False),
        ({**ASKED, "passed": True, "of": "4"}, "4", False),
    ],
)
def test_what_was_said_to_a_question_is_about_the_answer_that_it_proposed(
    said: dict[str, Any], answer: str | None, judges: bool
) -> None:
    assert Feedback.model_validate(said).judges(answer) == judges


def test_cached_tokens_cost_what_is_said_of_them_and_are_never_more_than_the_prompts() -> None:
    plain = Price(prompt=2, completion=8)
    assert plain.of(500_000, 250_000) == plain.of(500_000, 250_000, 100_000) == 3.0
    cheap = Price(prompt=2, completion=8, cached=1)
    assert cheap.of(500_000, 250_000, 100_000) == 2.9
    assert cheap.of(500_000, 0, 900_000) == 0.5
    assert cheap.of(1, 0) == 2 / 1_000_000, "where nobody says so nothing was cached"
    assert Price(prompt=2, completion=8, cached=0).of(500_000, 0, 500_000) == 0
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Price(prompt=-1, completion=0)
