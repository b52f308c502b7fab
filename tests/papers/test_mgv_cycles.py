"""What one round of the MGV policies hands to the next, and what an episode leaves to be known."""

from __future__ import annotations

from typing import Any, cast

import pytest

from handlers.policies.mgv.settings import RetrievalSettings
from handlers.policies.mgv.strategies import PRESCRIBED, Diagnosis
from schemas.events.monitoring import ExperienceKept, StrategyMatched, ThresholdsSet
from schemas.questions import Complete
from tests.papers.mc2_says import solved
from tests.papers.mgv_says import (
    PROBLEM,
    Model,
    acquisition,
    case,
    checked,
    episode,
    felt,
    flavell,
    reflected,
    remembering,
    retrieval,
    sure,
)
from tests.scripted import Ran


def shown(question: Complete) -> str:
    return "\n".join(message[1] for message in question.messages())


def attempts(ran: Ran[Any]) -> list[str]:
    return [shown(question) for question in ran.asks("reasoner")]


# ── Verification goes into the next attempt ──────────────────────────────────────────────────


def test_the_next_attempt_sees_what_did_not_pass_and_why() -> None:
    ran = episode(flavell(), Model(["95", "96"], [0.9], ["FAIL", "PASS"]))
    first, second = attempts(ran)
    assert "as it looks from here" not in first
    assert "Finding" not in first
    assert "### Finding\nas it looks from here." in second
    assert "### Earlier answer\n95" in second


def test_an_attempt_that_passed_or_was_not_judged_says_nothing_to_the_next() -> None:
    unsure = episode(flavell(), Model(["95", "96"], [0.1, 0.9], ["PASS"]))
    unread = episode(
        flavell(unread="unknown"), Model(["95", "96"], [0.9], ["perhaps", "perhaps", "PASS"])
    )
    for ran in (unsure, unread):
        assert len(attempts(ran)) > 1
        assert not any("as it looks from here" in each for each in attempts(ran))


# ── Difficulty steers the strategy ───────────────────────────────────────────────────────────


def matched(ran: Ran[Any]) -> StrategyMatched:
    return ran.of(StrategyMatched)[0]


def solved_as(name: str, diagnosis: str, answer: str = "96", **values: Any) -> dict[str, Any]:
    """A case with one attempt by the strategy that is for this diagnosis, taken for a plain one."""
    way = PRESCRIBED[cast("Diagnosis", diagnosis)]
    made = {"round": 0, "diagnosis": "plain", "strategy": way, "check": "coherence"}
    said = {"verdict": "PASS", "answer": answer, "confidence": 0.8, "effort": 1}
    return {**case(name, **values), "tuples": [{**made, **said}]}


def test_a_diagnosis_is_taken_over_from_cases_that_were_solved_under_it() -> None:
    guessed = [solved_as(f"w{at}", "plain", outcome="wrong", answer="1") for at in range(2)]
    memory = remembering(*guessed, solved_as("r", "unclear sequence"))
    assert matched(episode(flavell(), Model(), memory=memory)).diagnosis == "unclear sequence"
    ours = episode(flavell(learn_from="verdict"), Model(), memory=memory)
    assert matched(ours).diagnosis == "plain", "by verdicts all three were solved"


def test_cases_that_were_plain_say_nothing_of_a_problem_that_feels_hard() -> None:
    wrong = [solved_as(f"w{at}", "complex", outcome="wrong", answer="1") for at in range(2)]
    memory = remembering(*wrong, solved_as("r", "plain"))
    ran = episode(flavell(complex_above=0.5), Model(), memory=memory)
    assert (felt(ran, "difficulty")[0].value or 0.0) > 0.5
    assert matched(ran).diagnosis == "complex"
    easy = episode(flavell(complex_above=0.9), Model(), memory=memory)
    assert matched(easy).diagnosis == "plain"


def appraised(question: Complete) -> str:
    if question.template.name == "appraise":
        return "Difficulty: 0.8\nSource: unknown terms"
    return {"reasoner": solved("96"), "confidence": sure(0.2)}.get(question.role, checked("FAIL"))


def test_whoever_is_asked_for_the_difficulty_sees_the_problem_and_the_last_result() -> None:
    ran = episode(flavell(assess="verbal"), appraised)
    seen = [shown(q) for q in ran.asks("monitor") if q.template.name == "appraise"]
    assert len(seen) == 4
    assert all(PROBLEM in each for each in seen)
    assert "Last result" not in seen[0]
    assert all("### Last result\n96\nas it looks from here." in each for each in seen[1:])


@pytest.mark.parametrize(("signal", "level"), [("xor", 0.8), ("assess", 0.8), ("blend", 0.65)])
def test_what_is_said_of_the_difficulty_counts_as_the_signal_says(
    signal: str, level: float
) -> None:
    ran = episode(flavell(assess="verbal", signal=signal), appraised)
    assert felt(ran, "difficulty")[0].value == pytest.approx(level)
    assert matched(ran).diagnosis == "unknown terms"


def test_by_feeling_alone_nobody_is_asked_for_the_difficulty() -> None:
    ran = episode(flavell(assess="verbal", signal="feel"), appraised)
    assert all(question.template.name != "appraise" for question in ran.requests)
    assert felt(ran, "difficulty")[0].value == pytest.approx(0.5)


# ── Searching ────────────────────────────────────────────────────────────────────────────────


def test_cases_with_as_much_for_as_against_leave_the_threshold_alone() -> None:
    blank = remembering(*(case(f"c{at}", "wrong", knowing=(0.0, 0.0)) for at in range(6)))
    ran = episode(retrieval(recall_k=6), Model(), memory=blank)
    assert ran.of(ThresholdsSet)[0].knowing == retrieval().fok_threshold


def test_a_service_gives_the_best_answer_that_it_found_where_it_stops_searching() -> None:
    against = remembering(*(case(f"c{at}", "wrong") for at in range(3)))
    values = {"fok_threshold": 0.0}
    service = RetrievalSettings.resolve("service", values)
    model = Model(["95"], [0.2])
    ran = episode(service, model, memory=against)
    assert (ran.result.ended_by, ran.result.answer) == ("omission", "95")
    withheld = episode(retrieval(first_look="on", **values), Model(["95"], [0.2]), memory=against)
    assert (withheld.result.ended_by, withheld.result.answer) == ("omission", None)


# ── What is kept ─────────────────────────────────────────────────────────────────────────────


def test_a_confidence_is_learned_from_with_the_answer_that_was_given() -> None:
    """The outcome says nothing of the last attempt, which was not given."""
    settings = flavell(on_stop="best", max_rounds=2)
    ran = episode(settings, Model(["95", "96"], [0.6, 0.3], ["FAIL"]))
    assert ran.result.answer == "95"
    assert reflected(ran, settings)["signals"] == {"verbal": 0.6}
    withheld = flavell(max_rounds=2)
    ran = episode(withheld, Model(["95", "96"], [0.6, 0.3], ["FAIL"]))
    assert ran.result.answer is None
    assert reflected(ran, withheld)["signals"] == {}


def test_tuples_are_kept_after_each_check_where_that_is_set() -> None:
    said = (["95", "96"], [0.9], ["FAIL", "PASS"])
    regulated = episode(flavell(consolidation="verify"), Model(*said))
    assert [each.rounds for each in regulated.of(ExperienceKept)] == [(0,), (0, 1)]
    once = episode(flavell(), Model(*said))
    assert [each.rounds for each in once.of(ExperienceKept)] == [(0, 1)]
    first, last = (ran.facts.index("experience.kept") for ran in (regulated, once))
    assert once.facts[:first] == regulated.facts[:first]
    assert (first < last, last) == (True, len(once.facts) - 1)
    searched = episode(retrieval(consolidation="verify"), Model(["1", "2", "3"], [0.5]))
    assert [each.rounds for each in searched.of(ExperienceKept)][:2] == [(0,), (0, 1)]
    assert reflected(searched, retrieval())["tuples"]
    studied = episode(acquisition(consolidation="verify"), Model(["1", "2", "3"], [0.5]), calls=6)
    assert [each.rounds for each in studied.of(ExperienceKept)] == [(1,), (1, 2), (1, 2, 3)]
