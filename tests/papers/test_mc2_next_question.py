"""What the next question holds: a change of what one role is handed to another shows in an episode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handlers.policies.mc2 import MC2
from schemas.events.learning import KnowledgeConsolidated
from schemas.questions import Complete, Embed, Sampling
from tests.papers.mc2_says import (
    accepted,
    answering,
    audited,
    batch,
    best,
    episode,
    full_memory,
    learn,
    learned,
    restarted,
    rules,
    setting,
    solved,
    worst,
)
from tests.papers.mc2_stream import Stream
from tests.scripted import shown


@pytest.mark.claim("mc2-eq-11", "mc2-eq-12")
def test_the_consolidator_is_shown_the_rules_before_the_batch() -> None:
    """Eq. (11): K_b of K_{b-1} and the window's lessons, each role its own."""

    def reply(question: Complete) -> str:
        if question.role != "consolidator":
            return answering(question)
        letter = question.template.name.partition(".")[2][0].upper()
        again = "### Rules" in shown(question)
        return rules(letter, *(f"{word} {'again' if again else 'once'}" for word in WORDS))

    stream = Stream(reply)
    stream.batch(["a"])
    assert all("### Rules" not in shown(q) for q in stream.learning[0].asks("consolidator"))
    stream.batch(["b"])
    for question, fact in zip(
        stream.learning[1].asks("consolidator"),
        stream.learning[0].of(KnowledgeConsolidated),
        strict=True,
    ):
        known = dict(question.variables)["rules"].splitlines()
        assert known == [f"{name}: {rule}" for name, rule in fact.rules]
        assert known[0].endswith("Check the parts early once before the whole.")


WORDS = ("early", "often", "twice", "slowly", "last", "aloud")


@pytest.mark.claim("mc2-eq-05", "mc2-eq-06")
def test_the_controller_is_shown_the_whole_trajectory_and_report() -> None:
    """Eq. (6) has full τ and g; excerpts are its coach's."""
    work = "Step 1: " + "so " * 4_000 + "the middle of it " + "and " * 4_000
    report = "I looked. " + "hm " * 4_000 + "the heart of it " + "well " * 4_000
    said = {
        "reasoner": [solved("1", work)],
        "monitor": [f"{report}\n\n{audited('YES', '7')}"],
        "controller": [accepted("1")],
        "composer": ["Guidance:\n- a", "Review plan:\n- a", "Decision policy:\n- a"],
    }
    ran = episode(said, memory=full_memory())
    [controller] = ran.asks("controller")
    seen = dict(controller.variables)
    assert "the middle of it" in seen["trajectory"]
    assert seen["trajectory"] == solved("1", work)
    assert "the heart of it" in seen["report"]
    assert "Error_step: 7" in seen["report"]
    coach = dict(ran.asks("composer")[-1].variables)
    assert "the middle of it" not in coach["trajectory"]
    assert "the heart of it" not in coach["report"]


@pytest.mark.claim("mc2-eq-10")
def test_so_many_lessons_a_batch_and_no_more() -> None:
    members = [best("a"), best("b"), worst("c"), best("d")]
    ran = learn(batch(members), settings=setting(lessons_per_batch=2))
    problems = [dict(q.variables)["problem"] for q in ran.asks("distiller")]
    called = [next(name for name in "abcd" if f"called {name}." in text) for text in problems]
    assert called == ["a", "c"] * 3
    every = learn(batch(members), settings=setting(lessons_per_batch=None))
    assert len(every.asks("distiller")) == 12


@pytest.mark.claim("mc2-eq-10", "mc2-eq-16")
def test_a_lesson_is_found_by_more_than_its_descriptor() -> None:
    """What is embedded: R descriptor, condition, recipe; M descriptor, flags, procedure; C signals, rule."""
    ran = learn(batch([best("a")]))
    [embed] = [question for _, question in ran.asked if isinstance(question, Embed)]
    reasoner, monitor, controller = embed.texts
    assert "the target has few divisors" in reasoner
    assert "Pick a pair." in reasoner
    assert "a number is used twice" in monitor
    assert "Count the numbers." in monitor
    assert "the report names a step" in controller
    assert "BECAUSE the answer hangs on it" in controller
    alone = learn(batch([best("a")]), settings=setting(embedded="descriptor"))
    [embed] = [question for _, question in alone.asked if isinstance(question, Embed)]
    assert embed.texts[0] == "factor pairs before sums"


@pytest.mark.claim("mc2-eq-04")
def test_advice_of_an_older_round_is_gone_after_a_restart_without_any() -> None:
    """Eq. (4): u_{k-1} alone. The second decision cannot be read, so that the third attempt has no advice."""
    said = {
        "reasoner": [solved("40"), solved("41"), solved("42")],
        "monitor": [audited("YES"), audited("YES"), audited("NO")],
        "controller": [restarted("count the factors"), "hm", "hm again", accepted("42")],
    }
    ran = episode(said)
    first, second, third = map(shown, ran.asks("reasoner"))
    assert "### Advice" not in first
    assert "### Advice\ncount the factors" in second
    assert "count the factors" not in third
    assert "### Advice" not in third


@pytest.mark.claim("mc2-eq-13")
def test_the_next_coach_hears_the_last_round_and_none_before() -> None:
    def reply(question: Complete) -> str:
        if question.role == "controller":
            at = dict(question.variables)["candidate"]
            return restarted(f"leave out {at}")
        if question.role == "reasoner":
            return solved(str(40 + shown(question).count("leave out")), "Step 1: anew.")
        return answering(question) if question.role == "composer" else learned_or_flag(question)

    ran = episode(reply, memory=full_memory())
    coaches = [q for q in ran.asks("composer") if q.template.name == "composer.reasoner"]
    feedback = [dict(q.variables)["recent_feedback"] for q in coaches]
    assert feedback[0] == ""
    assert "leave out 40" in feedback[1]
    assert "leave out 41" in feedback[2]
    assert "leave out 40" not in feedback[2]


def learned_or_flag(question: Complete) -> str:
    """The Monitor finds a fault in every round; others learn."""
    return audited("YES") if question.role == "monitor" else learned(question)


def test_every_question_draws_as_the_settings_say() -> None:
    """§ C.8.2: the endpoint's defaults, and the cap; of whoever solves, guides, distils and consolidates."""
    for cap in (None, 777):
        settings = setting(output_cap=cap)
        guided = episode(answering, settings, memory=full_memory())
        taught = learn(batch([best("a"), worst("b")], 2, full_memory()), settings=settings)
        asked = [*guided.requests, *taught.requests]
        assert {each.role for each in asked} == set(MC2.roles)
        drawn = {replace(each.sampling, timeout_s=None) for each in asked}
        assert drawn == {Sampling(max_tokens=cap)}
