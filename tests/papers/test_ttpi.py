"""Test-time prompt intervention: trigger sets, the choice by perplexity, the refusal without log-probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handlers.limits import Ledger
from handlers.policies.base import Conclusion, Task
from handlers.policies.baselines.ttpi import (
    REFUSED,
    TRIGGERS,
    TTPI,
    Candidate,
    least_perplexing,
    perplexity,
)
from schemas.events.strategy import StrategyChosen
from schemas.questions import Complete
from tests.scripted import Driver, Ran, shown

TASK = Task("q1", "What is six times four?", "arithmetic", seed=1)
Scorer = Callable[[str], float | None]


def stage(text: str, answer: str | None = None) -> str:
    state = "OPEN" if answer is None else f"SOLVED\nFinal_answer: \\boxed{{{answer}}}"
    return f"Next_step: {text}\nState: {state}"


def trigger_of(question: Complete) -> str:
    opening = dict(question.variables).get("opening", "")
    return next((name for name, words in TRIGGERS.items() if words == opening), "closing")


def unscored(trigger: str) -> float | None:
    """An endpoint without log-probabilities."""
    return None


class Scored(Driver):
    """A script whose replies come with log-probabilities, by trigger."""

    score: Scorer = staticmethod(unscored)

    def surety(self, question: Complete) -> float | None:
        return self.score(trigger_of(question))


def solve(
    reply: Callable[[Complete], str], score: Scorer, calls: int | None = None, **values: Any
) -> Ran[Conclusion]:
    driver = Scored(reply)
    driver.score = score
    settings = TTPI.settings.resolve("paper", values)
    result = driver.drive(TTPI.solve(TASK, settings), Ledger(calls=calls))
    return Ran(result, driver.events, driver.asked)


def sure_of(*triggers: str) -> Scorer:
    """The first of these is the least perplexing."""
    return lambda trigger: -0.1 * (triggers.index(trigger) + 1) if trigger in triggers else -2.0


@pytest.mark.claim("bl-ttpi")
def test_each_stage_is_continued_under_every_trigger() -> None:
    ran = solve(lambda q: stage(trigger_of(q), "24"), sure_of("conclude"))
    assert [trigger_of(question) for question in ran.requests] == list(TRIGGERS)
    assert all(question.sampling.logprobs for question in ran.requests)
    assert all(TRIGGERS[trigger_of(q)] in shown(q) for q in ran.requests)
    assert (ran.result.answer, ran.result.ended_by) == ("24", "concluded")
    assert ran.result.confidence == pytest.approx(0.904837, abs=1e-6)


@pytest.mark.claim("bl-ttpi")
def test_the_least_perplexing_branch_is_the_next_step() -> None:
    def say(question: Complete) -> str:
        last = question.draw == 1
        return stage(f"{trigger_of(question)} {question.draw}", "24" if last else None)

    ran = solve(say, sure_of("verify"))
    assert [fact.arm for fact in ran.of(StrategyChosen)] == ["verify", "verify"]
    assert [fact.how for fact in ran.of(StrategyChosen)] == ["perplexity"] * 2
    second = [dict(question.variables)["trajectory"] for question in ran.requests[4:]]
    assert second == ["[Step 1]\nverify 0"] * 4
    assert len(ran.requests) == 8


HAND = [
    ({"progress": -0.2, "verify": -0.1, "conclude": -0.3}, "verify"),
    ({"progress": -0.1, "verify": -0.1, "conclude": -0.1}, "progress"),
    ({"progress": None, "verify": -3.0, "conclude": None}, "verify"),
    ({"progress": -0.1 - 1e-12, "verify": -0.1, "conclude": -0.1}, "progress"),
    ({"progress": None, "verify": None}, None),
]


@pytest.mark.claim("bl-ttpi")
@pytest.mark.parametrize(("scores", "chosen"), HAND)
def test_hand_log_probabilities(scores: dict[str, float | None], chosen: str | None) -> None:
    """Lowest exp(-mean); ties in the order of the triggers; unknown ones do not compete."""
    candidates = [Candidate(name, "", None, value, "-") for name, value in scores.items()]
    best = least_perplexing(candidates)
    assert (best and best.trigger) == chosen
    assert perplexity(Candidate("", "", None, -0.5, "-")) == 1.648721271


@pytest.mark.claim("bl-ttpi")
def test_without_log_probabilities_it_refuses() -> None:
    ran = solve(lambda q: stage("six times four is 24", "24"), unscored)
    assert len(ran.requests) == 4
    assert (ran.result.answer, ran.result.ended_by) == (None, REFUSED)
    assert "log-probabilities" in REFUSED


@pytest.mark.claim("bl-ttpi")
@pytest.mark.parametrize("stages", [1, 2, 5])
def test_the_last_stage_is_only_concluded(stages: int) -> None:
    ran = solve(lambda q: stage("on"), sure_of("progress"), max_stages=stages)
    assert len(ran.requests) == len(TRIGGERS) * (stages - 1) + 1
    assert trigger_of(ran.requests[-1]) == "conclude"
    assert (ran.result.answer, ran.result.ended_by) == (None, "max_stages")


@pytest.mark.claim("bl-ttpi")
def test_under_a_limit_the_last_calls_conclude() -> None:
    ran = solve(lambda q: stage("on"), sure_of("progress"), calls=6)
    asked = [trigger_of(question) for question in ran.requests]
    assert asked == [*TRIGGERS, "conclude", "closing"]
    assert (ran.result.ended_by, ran.result.limit) == ("limit", "calls")
