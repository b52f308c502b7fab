"""What an episode of the cascade leaves, and how its candidates are graded: by a label, by agreement, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from handlers.learning.votes import gain
from handlers.policies.base import Batch, Member, Task
from handlers.policies.cascade import CASCADE
from handlers.policies.cascade.settings import CascadeSettings
from schemas.answer_type import AnswerType
from schemas.events.cascade import AnswerWeighed, CandidatesGraded
from schemas.events.learning import LessonDistilled
from schemas.outcome import Outcome
from schemas.questions import Check
from schemas.vectors import as_kept, pack
from tests.handlers.policies.cascade.says import (
    TASK,
    episode,
    found,
    learning,
    member,
    says,
    settings,
)
from tests.reflections import reflected
from tests.scripted import NO_MEMORY, Ran, hashed, run, shown

CHECKED = settings(arms=("check",))
MENDED = {"reasoner": [says(36), says(35), says(31)], "monitor": [found("YES", "Five are lost.")]}
LESSON = """Descriptor: counting what is left
Execution_recipe:
1. Multiply.
2. Subtract.
3. State."""


# ── What an episode leaves ───────────────────────────────────────────────────────────────────


def test_an_episode_leaves_its_candidates_each_weighing_and_the_attempts_behind_them() -> None:
    ran = episode(MENDED, CHECKED)
    before, after = ran.of(AnswerWeighed)
    left = CASCADE.reflect(ran.trace, ran.result, CHECKED)
    raises = round(gain(1, 1, 2, 0.5), 9)
    assert left == {
        "vector": pack(as_kept(hashed(TASK.problem))),
        "candidates": ["36", "31"],
        "stages": [
            {
                "arm": None,
                "votes": True,
                "key": "1:1:2",
                "margin": 0,
                "raises": raises,
                "said": 0,
                "leads": 0,
                "context": list(before.context),
                "spent": 2.0,
            },
            {
                "arm": "check",
                "votes": False,
                "key": "check",
                "margin": 0,
                "raises": raises,
                "said": 1,
                "leads": 1,
                "context": list(after.context),
                "spent": 2.0,
            },
        ],
        "chance": after.chance,
        "independent": True,
        "attempts": [says(36), says(31)],
    }
    assert json.loads(json.dumps(left)) == left


def test_more_chains_are_a_vote_and_no_opinion_and_say_by_how_much_they_lead() -> None:
    own = settings(arms=("more",), most_samples=5, worth=1_000)
    ran = episode([says(31), says(31) + " Once more.", *[says("31.0")] * 3], own)
    left = CASCADE.reflect(ran.trace, ran.result, own)
    assert (left["candidates"], left["independent"]) == (["31"], False)
    assert left["attempts"] == [says(31)], "the first that came to it"
    told = [(each["arm"], each["votes"], each["key"], each["margin"]) for each in left["stages"]]
    assert told == [(None, True, "2:0:2", 2), ("more", True, "5:0:5", 5)]
    assert [(each["said"], each["leads"]) for each in left["stages"]] == [(0, 0)] * 2


def test_an_opinion_that_was_not_followed_is_left_beside_what_leads() -> None:
    script = {"reasoner": [says(31), says(31), says(36)], "monitor": [found("YES", "Lost.")]}
    own = settings(arms=("check",), audit=1.0)
    ran = episode(script, own)
    left = CASCADE.reflect(ran.trace, ran.result, own)
    assert left["candidates"] == ["31", "36"]
    assert [(each["said"], each["leads"]) for each in left["stages"]] == [(0, 0), (1, 0)]
    [fact] = learning([member(ran, "right", own)], own, label=lambda _: "wrong").of(
        CandidatesGraded
    )
    assert fact.outcomes == ("right", "wrong")


def test_chains_that_nobody_can_read_leave_a_case_without_candidates() -> None:
    own = settings(arms=())
    ran = episode(["Hm.", "Hm."], own)
    left = CASCADE.reflect(ran.trace, ran.result, own)
    assert (left["candidates"], left["attempts"], left["chance"]) == ([], [], 0.0)
    [stage] = left["stages"]
    assert (stage["said"], stage["leads"], stage["key"]) == (None, None, "0:0:2")
    assert learning([member(ran, "withheld", own)], own, label=lambda _: "wrong").events == []


def test_what_a_limit_ended_before_anything_was_weighed_leaves_its_vector_alone() -> None:
    ran = episode([says(31)], CHECKED, calls=0)
    left = CASCADE.reflect(ran.trace, ran.result, CHECKED)
    assert left == {
        "vector": pack(as_kept(hashed(TASK.problem))),
        "candidates": [],
        "stages": [],
        "chance": None,
        "independent": False,
        "attempts": [],
    }
    assert learning([member(ran, "withheld", CHECKED)], CHECKED).events == []


# ── Who grades the candidates ────────────────────────────────────────────────────────────────


def left_by(
    *leads: int | None,
    chance: float = 0.9,
    independent: bool = True,
    attempts: tuple[str, str] = ("First 36.", "Then 31."),
    **said: Any,
) -> Any:
    """What an episode of two candidates left, of which these led one after another."""
    summary = {
        "candidates": ["36", "31"],
        "stages": [{"leads": each} for each in leads],
        "chance": chance,
        "independent": independent,
        "attempts": list(attempts),
    }
    more = {"problem_id": "q1", "domain": "words", "problem": TASK.problem, "labelled": True}
    return reflected(policy="cascade@2", summary=summary, **{**more, **said})


def closed(left: Any, outcome: Outcome = "unknown") -> Member:
    return Member("p/words/q1/run", left, outcome)


def graded(
    one: Member, label: Outcome = "unknown", own: CascadeSettings | None = None
) -> Ran[None]:
    return learning([one], own or settings(lessons="off"), label=lambda _: label)


def told(ran: Ran[None]) -> list[tuple[str, tuple[str, ...]]]:
    return [(fact.by, fact.outcomes) for fact in ran.of(CandidatesGraded)]


@pytest.mark.parametrize(
    ("outcome", "labelled", "label", "expected", "asked"),
    [
        ("right", True, "wrong", ("label", ("wrong", "right")), ["36"]),
        ("wrong", True, "right", ("label", ("right", "wrong")), ["36"]),
        ("right", False, "wrong", ("label", ("wrong", "right")), ["36"]),
        ("unknown", True, "wrong", ("label", ("wrong", "wrong")), ["36", "31"]),
        ("withheld", True, "right", ("label", ("right", "right")), ["36", "31"]),
        ("unknown", True, "unknown", ("agreement", ("wrong", "right")), ["36", "31"]),
        ("unknown", False, "right", ("agreement", ("wrong", "right")), []),
    ],
    ids=[
        *("the given one is known", "the given one is wrong", "a label that came later"),
        *("a label that the episode was not graded by", "withheld", "nobody can tell", "no label"),
    ],
)
def test_the_given_answer_is_known_by_its_outcome_and_others_are_asked_where_there_is_a_label(
    outcome: Outcome,
    labelled: bool,
    label: Outcome,
    expected: tuple[str, tuple[str, ...]],
    asked: list[str],
) -> None:
    ran = graded(closed(left_by(0, 1, labelled=labelled), outcome), label)
    assert told(ran) == [expected]
    assert [q.answer for _, q in ran.asked if isinstance(q, Check)] == asked
    [fact] = ran.of(CandidatesGraded)
    assert (fact.episode, fact.subject) == ("p/words/q1/run", "words/q1")


@pytest.mark.parametrize(
    ("chance", "independent", "stands"),
    [(0.8, True, True), (0.799999, True, False), (0.9, False, False)],
    ids=["just sure enough", "not quite", "chains alone"],
)
def test_agreement_stands_for_a_label_from_a_chance_of_four_in_five_by_an_independent_opinion(
    chance: float, independent: bool, stands: bool
) -> None:
    one = closed(left_by(0, 1, chance=chance, independent=independent, labelled=False))
    expected = [("agreement", ("wrong", "right"))] if stands else []
    assert told(graded(one)) == expected
    assert told(graded(one, own=settings(lessons="off", unlabelled="nothing"))) == []


def test_a_grader_is_asked_by_the_data_set_else_by_the_domain_and_told_the_form_of_the_answer() -> (
    None
):
    number = {"type": "number"}
    for dataset, domain in ((None, "words"), ("gsm8k", "gsm8k")):
        ran = graded(closed(left_by(0, 1, dataset=dataset, answer_type=number)), "right")
        asked = [question for _, question in ran.asked if isinstance(question, Check)]
        assert {question.domain for question in asked} == {domain}
        assert {question.problem for question in asked} == {TASK.problem}
        assert {question.subject for question in asked} == {"words/q1"}
        assert {question.typed for question in asked} == {AnswerType(type="number")}


def test_members_that_nobody_can_grade_keep_none_of_the_others_from_being_graded() -> None:
    blank = structs.replace(left_by(), summary={"candidates": [], "stages": []})
    members = [closed(blank), closed(left_by(1), "right"), closed(left_by(0), "right")]
    ran = learning(members, settings(lessons="off"), label=lambda _: "wrong")
    assert told(ran) == [("label", ("wrong", "right")), ("label", ("right", "wrong"))]


# ── Which of them teach a lesson ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("leads", "outcome", "label", "attempts", "teaches"),
    [
        ((0, 1), "right", "wrong", ("First.", "Then."), True),
        ((0, 0, 1), "right", "wrong", ("First.", "Then."), True),
        ((0, 1), "right", "right", ("First.", "Then."), False),
        ((0, 1), "wrong", "wrong", ("First.", "Then."), False),
        ((1, 0, 1), "right", "wrong", ("First.", "Then."), False),
        ((None, 1), "right", "wrong", ("First.", "Then."), False),
        ((0, None), "unknown", "wrong", ("First.", "Then."), False),
        ((0, 1), "right", "wrong", ("", "Then."), False),
        ((0, 1), "right", "wrong", ("First.", ""), False),
    ],
    ids=[
        *("put right", "put right later", "right from the beginning", "wrong to the end"),
        *("right at both ends", "nothing led at first", "nothing leads at last"),
        *("no text of the first", "no text of the last"),
    ],
)
def test_a_first_answer_that_was_put_right_teaches_and_nothing_else_does(
    leads: tuple[int | None, ...],
    outcome: Outcome,
    label: Outcome,
    attempts: tuple[str, str],
    teaches: bool,
) -> None:
    one = closed(left_by(*leads, attempts=attempts), outcome)
    ran = learning([one], script={"distiller": [LESSON]}, label=lambda _: label)
    assert len(ran.of(CandidatesGraded)) == 1
    assert len(ran.of(LessonDistilled)) == teaches
    silent = learning([one], settings(lessons="off"), label=lambda _: label)
    assert silent.of(LessonDistilled) == []


def test_the_distiller_sees_both_attempts_as_of_a_restart_that_helped() -> None:
    first = closed(left_by(0, 1), "right")
    other = Member("p/words/q2/run", left_by(0, 1, problem_id="q2"), "right")
    kept = closed(left_by(1), "right")
    ran = learning(
        [kept, first, other], script={"distiller": [LESSON] * 2}, label=lambda _: "wrong"
    )
    lessons = ran.of(LessonDistilled)
    assert [(each.id, each.role, each.polarity, each.subject) for each in lessons] == [
        ("L1.R1", "reasoner", "both", "words/q1"),
        ("L1.R2", "reasoner", "both", "words/q2"),
    ]
    question, _ = ran.asks("distiller")
    seen = dict(question.variables)
    assert seen["trajectory"] == "Then 31."
    assert seen["rejected_attempt"] == "Reasoning: First 36."
    assert seen["polarity"].startswith("BOTH: a first attempt was sent back")
    assert "Course" not in shown(question)


def test_a_batch_is_numbered_as_it_is_whatever_of_it_teaches() -> None:
    batch = Batch("s", 4, (closed(left_by(0, 1), "right"),), NO_MEMORY, seed=7)
    ran = run(CASCADE.learn(batch, settings()), {"distiller": [LESSON]}, label=lambda _: "wrong")
    assert [each.id for each in ran.of(LessonDistilled)] == ["L4.R1"]


def test_an_episode_of_another_problem_is_told_by_its_own_name() -> None:
    task = Task("q9", TASK.problem, "sums", seed=7)
    ran = learning(
        [member(episode(MENDED, CHECKED, task=task), "right", CHECKED, task)],
        settings(arms=("check",), lessons="off"),
        label=lambda _: "wrong",
    )
    [fact] = ran.of(CandidatesGraded)
    assert (fact.episode, fact.subject) == ("p/sums/q9/run", "sums/q9")
