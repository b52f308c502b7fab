"""What a batch of cascades teaches, and what the next problem is worked on with."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.cascade import lead_key
from handlers.learning.votes import chance
from handlers.policies.base import Member, Task
from handlers.policies.cascade import CASCADE
from schemas.events.cascade import CandidatesGraded
from schemas.events.graph import ExperienceShown
from schemas.events.learning import LessonDistilled
from schemas.outcome import Outcome
from schemas.questions import Check
from tests.handlers.policies.cascade.says import (
    TASK,
    episode,
    found,
    learning,
    member,
    remembered,
    says,
    settings,
)
from tests.scripted import shown

CHECKED = settings(arms=("check",))
MENDED = {"reasoner": [says(36), says(35), says(31)], "monitor": [found("YES", "Five are lost.")]}
LESSON = """Descriptor: counting what is left of several boxes
Execution_recipe:
1. Multiply boxes by what each holds.
2. Subtract what was dropped.
3. State what is left."""


def label(question: Check) -> Outcome:
    return "right" if question.answer == "31" else "wrong"


def graded(*said: Any, outcome: Outcome, labelled: bool = True) -> list[CandidatesGraded]:
    ran = episode(*said)
    own = said[1] if len(said) > 1 else settings()
    one = member(ran, outcome, own, labelled=labelled)
    silent = settings(lessons="off", arms=own.arms, unlabelled=own.unlabelled)
    return learning([one], silent, label=label).of(CandidatesGraded)


def test_a_label_tells_of_every_candidate() -> None:
    [fact] = graded(MENDED, CHECKED, outcome="right")
    assert (fact.by, fact.outcomes) == ("label", ("wrong", "right"))
    assert fact.subject == TASK.subject


def test_of_candidates_that_were_never_in_the_lead_nothing_is_asked() -> None:
    ran = episode([says(31), says(31)])
    one = member(ran, "right")
    assert learning([one], label=label).asked == []


def test_without_a_label_what_an_independent_opinion_confirmed_stands_for_it() -> None:
    script = {"reasoner": [says(31), says(36), says(31)], "monitor": [found("NO")]}
    own = settings(arms=("more", "check"), worth=100, most_samples=3)
    ran = episode(script, own)
    assert ran.result.confidence is not None
    assert ran.result.confidence >= 0.8
    [fact] = graded(script, own, outcome="unknown", labelled=False)
    assert (fact.by, fact.outcomes) == ("agreement", ("right",))


def test_chains_that_agree_with_each_other_stand_for_no_label() -> None:
    assert graded([says(31), says(31)], outcome="unknown", labelled=False) == []


def test_agreement_stands_for_nothing_where_that_is_set() -> None:
    script = {"reasoner": [says(31), says(36), says(31)], "monitor": [found("NO")]}
    own = settings(arms=("more", "check"), worth=100, most_samples=3, unlabelled="nothing")
    assert graded(script, own, outcome="unknown", labelled=False) == []


def test_frozen_nothing_is_learned() -> None:
    frozen = settings(updates="frozen")
    one = member(episode([says(31), says(31)], frozen), "right", frozen)
    assert one.reflected.summary == {}
    assert learning([one], frozen, label=label).events == []


def test_votes_and_opinions_are_counted_as_they_turned_out() -> None:
    own = settings(arms=("check",), lessons="off")
    members = [member(episode(MENDED, own), "right", own), member(episode([says(36)] * 2), "wrong")]
    members[1] = Member("p/words/q2/run", members[1].reflected, "wrong")
    memory = remembered(learning(members, own, label=label), members, own)
    assert memory.learned["leads"] == {lead_key(1, 1, 2): [0, 1], lead_key(2, 0, 2): [0, 1]}
    assert memory.learned["opinions"] == {"check": [1, 1]}
    [arm] = memory.learned["arms"]
    assert (arm["id"], arm["pulls"]) == ("check", 1)
    assert arm["rated"] == pytest.approx(1 - 2 / own.worth), "it put one right for two calls"
    assert [case["easy"] for case in memory.learned["cases"]] == [False, False]


def test_what_was_learned_of_a_vote_is_the_chance_of_the_next_one() -> None:
    own = settings(arms=())
    members: list[Member] = []
    for at in range(20):
        task = Task(f"t{at}", f"Problem {at}.", "words", seed=at)
        right = at % 5 == 0
        ran = episode([says(31 if right else 36)] * 2, own, task=task)
        members.append(member(ran, "right" if right else "wrong", own, task))
    memory = remembered(learning(members, own), members, own)
    assert memory.learned["leads"] == {"2:0:2": [4, 20]}
    before, after = episode([says(31)] * 2, own), episode([says(31)] * 2, own, memory=memory)
    assert before.result.confidence == round(chance(2, 0, 2, 0.5), 6)
    assert after.result.confidence is not None
    assert 0.15 < after.result.confidence < 0.4


def test_the_same_episode_is_taken_once() -> None:
    one = member(episode(MENDED, CHECKED), "right", CHECKED)
    own = settings(arms=("check",), lessons="off")
    once = remembered(learning([one], own, label=label), [one], own)
    twice = remembered(learning([one], own, label=label, memory=once), [one], own, once)
    assert twice.learned == once.learned


def test_a_first_answer_that_was_put_right_teaches_the_next_similar_problem() -> None:
    one = member(episode(MENDED, CHECKED), "right", CHECKED)
    taught = learning([one], CHECKED, script={"distiller": [LESSON]}, label=label)
    told = shown(taught.asks("distiller")[0])
    assert "So it is 31." in told, "the attempt that was right"
    assert "So it is 36." in told, "the one that was put right"
    [lesson] = taught.of(LessonDistilled)
    assert lesson.polarity == "both"
    memory = remembered(taught, [one], CHECKED)

    own = settings(arms=("guided",))
    task = Task("q2", "What is left of several boxes, counting what each holds?", "words", seed=1)
    ran = episode([says(1), says(2), says(31)], own, memory=memory, task=task)
    assert [each.items for each in ran.of(ExperienceShown)] == [(lesson.id,)]
    guidance = shown(ran.requests[2])
    assert "Multiply boxes by what each holds." in guidance
    assert "Multiply boxes by what each holds." not in shown(ran.requests[1])
    assert ran.result.answer in {"1", "31"}


def test_without_a_lesson_that_is_related_no_guided_chain_is_offered() -> None:
    ran = episode([says(1), says(2)], settings(arms=("guided",)))
    assert ran.result.ended_by == "spent"


def test_a_distiller_is_shown_no_more_of_an_attempt_than_is_set() -> None:
    own = settings(arms=("check",), excerpt_chars=40)
    long = {**MENDED, "reasoner": [says(36) + " Because." * 90, says(35), says(31)]}
    one = member(episode(long, own), "right", own)
    taught = learning([one], own, script={"distiller": [LESSON]}, label=label)
    told = shown(taught.asks("distiller")[0])
    assert "[...]" in told
    assert told.count("Because.") < 4


def test_an_answer_that_stayed_wrong_teaches_no_lesson() -> None:
    script = {**MENDED, "reasoner": [says(36), says(35), says(34)]}
    one = member(episode(script, CHECKED), "wrong", CHECKED)
    assert learning([one], CHECKED, label=label).asks("distiller") == []


def test_lessons_can_be_switched_off() -> None:
    own = settings(arms=("check",), lessons="off")
    one = member(episode(MENDED, own), "right", own)
    assert learning([one], own, label=label).requests == []


def test_only_the_newest_cases_are_kept() -> None:
    own = settings(cases_kept=3, lessons="off", arms=())
    members: list[Member] = []
    for at in range(5):
        task = Task(f"t{at}", f"Problem {at}.", "words", seed=at)
        members.append(member(episode([says(31)] * 2, own, task=task), "right", own, task))
    memory = remembered(learning(members, own), members, own)
    assert [case["id"] for case in memory.learned["cases"]] == [
        f"p/words/t{at}/run" for at in (2, 3, 4)
    ]


def test_a_cascade_takes_its_own_rule() -> None:
    assert CASCADE.rule == "cascade@1"
