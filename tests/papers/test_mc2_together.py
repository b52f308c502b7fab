"""MC², ``distil="per_batch"``: on which side the one lesson of a batch stands, whose it is, and what it is shown.

Source: design/mc2.md D6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handlers.policies.base import Member
from handlers.policies.mc2 import MC2
from handlers.policies.mc2.settings import Mc2Settings
from schemas.events.learning import LessonDistilled
from schemas.questions import Complete
from tests.papers.mc2_says import (
    ROLES,
    answering,
    batch,
    best,
    episode,
    full_memory,
    item,
    learn,
    learned,
    member,
    reflected,
    rounds,
    setting,
    worst,
)
from tests.scripted import Ran, run, shown

TOGETHER = setting(distil="per_batch")
SAID = "Descriptor: what recurs\nDo:\n- factor first\nAvoid:\n- adding first"


def service(**values: Any) -> Mc2Settings:
    """The default profile with one lesson a batch."""
    return Mc2Settings.resolve("service", {"distil": "per_batch", **values})


def reply(question: Complete) -> str:
    """A distiller that has one thing to say of a whole batch."""
    return SAID if question.role == "distiller" else learned(question)


@pytest.mark.parametrize(
    ("members", "side", "heading", "subject"),
    [
        ([best("a")], "do", "### Do\n", "game24/a"),
        ([worst("b")], "avoid", "### Avoid\n", "game24/b"),
        ([best("a"), best("c")], "do", "### Do\n", ""),
        ([worst("b"), worst("d")], "avoid", "### Avoid\n", ""),
        ([best("a"), worst("b")], "both", "### Do\n", ""),
    ],
    ids=["one good", "one bad", "good ones", "bad ones", "good and bad"],
)
def test_a_lesson_stands_on_the_side_of_its_cases_and_is_of_a_problem_where_it_rests_on_one(
    members: list[Member], side: str, heading: str, subject: str
) -> None:
    """What rests on one problem alone is withheld from it, as any lesson is from its own."""
    ran = learn(batch(members), reply, TOGETHER)
    lessons = ran.of(LessonDistilled)
    assert [(one.role, one.polarity, one.subject) for one in lessons] == [
        (role, side, subject) for role in ROLES
    ]
    assert all(one.evidence == tuple(each.episode for each in members) for one in lessons)
    assert {one.text.split("\n")[0] for one in lessons} == {f"Polarity: {side.upper()}"}
    for question in ran.asks("distiller"):
        assert heading in shown(question)


@pytest.mark.parametrize(
    ("outcome", "word"), [("right", "success"), ("wrong", "failure"), ("unknown", "unknown")]
)
def test_each_case_says_how_it_went_where_that_is_set(outcome: str, word: str) -> None:
    given = batch([best("a", outcome), best("c", "right")])
    [first, *_] = learn(given, reply, setting(distil="per_batch", outcome_tag="on")).asks(
        "distiller"
    )
    case, _, _ = shown(first).partition("called c")
    assert f"Result: {word}\n" in case
    [off, *_] = learn(given, reply, TOGETHER).asks("distiller")
    assert "Result:" not in shown(off)


def test_each_case_says_what_its_rounds_came_to_where_three_roles_took_part() -> None:
    """The Reasoner alone is rated by nobody, so there is no course to tell of; together or one by one."""
    settings = service(clean_reports="ask")
    played = rounds(("NO", 1), settings=settings)
    [first, *_] = learn(batch([member("a", reflected(played, settings))]), reply, settings).asks(
        "distiller"
    )
    assert "Course: Round 1: answer 40; a mistake found: NO; ACCEPT" in shown(first)
    for way in ("per_batch", "per_reflection"):
        alone = service(roles="R", distil=way)
        given = batch([member("a", reflected(episode(answering, alone), alone))])
        [only] = learn(given, reply if way == "per_batch" else learned, alone).asks("distiller")
        assert "Round 1" not in shown(only)
        assert "How each role did" not in shown(only)


def test_cases_share_the_room_of_a_prompt() -> None:
    """Each has its part of ``context_chars``, and the instructions have one, too."""
    long = "Step 1: " + "on and on. " * 400
    given = [
        member(name, reflected(episode(_long(long), settings=setting(excerpt_chars=4_000))))
        for name in "ab"
    ]
    room = 6_000
    [first, *_] = learn(batch(given), reply, setting(distil="per_batch", context_chars=room)).asks(
        "distiller"
    )
    cases = dict(first.variables)["do"].split("\n\nQuestion: ")
    assert len(cases) == 2
    assert all(room // 3 - 200 < len(case) <= room // 3 for case in cases)


def _long(steps: str) -> Any:
    def said(question: Complete) -> str:
        return answering(question).replace("Step 1:", steps, 1)

    return said


# ── A batch that lost a forgotten problem ────────────────────────────────────────────────────


def revised(settings: Mc2Settings, *stale: str) -> Ran[None]:
    """A batch of one that is learned from again: its lessons stay, and rules of these roles go."""
    given = replace(
        batch([best("a")], 1, full_memory(number=0)),
        revision=1,
        kept=tuple(item(f"L1.{role[0].upper()}1", role, f"{role} keeps") for role in ROLES),
        stale=frozenset(stale),
    )
    return run(MC2.relearn(given, settings), reply, memory=given.memory)


def test_lessons_stay_and_the_rules_that_rested_on_what_was_forgotten_are_written_again() -> None:
    ran = revised(setting(), "monitor")
    assert ran.roles == ["consolidator"]
    assert "monitor keeps" in shown(ran.requests[0])
    assert ran.of(LessonDistilled) == [], "they are on record"
    assert revised(setting()).requests == []
    assert revised(setting(guidance="lessons"), "monitor").requests == []
    donated = setting(roles="R", learn_from="donor")
    for learning_nothing in (setting(guidance="none", distil="per_batch"), donated):
        assert revised(learning_nothing, "reasoner").events == []


def test_a_lesson_of_a_whole_batch_is_distilled_anew_without_what_was_forgotten() -> None:
    ran = revised(TOGETHER, "monitor")
    assert ran.roles == ["distiller"] * 3 + ["consolidator"]
    assert [one.id for one in ran.of(LessonDistilled)] == ["L1.1.R1", "L1.1.M1", "L1.1.C1"]
    assert "monitor keeps" not in shown(ran.asks("consolidator")[0])
