"""Episodes of the cascade: what it asks next after what was said, and when it has enough."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.votes import chance
from handlers.policies.base import Task
from handlers.policies.cascade import CASCADE
from schemas.events.monitoring import ExperienceFelt
from schemas.events.reasoning import Generated, MonitorReported
from schemas.events.strategy import StrategyChosen
from schemas.memory import Memory
from tests.handlers.policies.cascade.says import (
    TASK,
    episode,
    found,
    says,
    settings,
    weighed,
)
from tests.scripted import shown


def arms(ran: Any) -> list[str | None]:
    return [each.arm for each in ran.of(StrategyChosen)]


def test_two_chains_that_agree_are_enough() -> None:
    ran = episode([says(31), says("31.0")])
    assert (ran.result.answer, ran.result.ended_by) == ("31", "enough")
    assert (ran.result.confidence, ran.result.confidence_source) == (
        round(chance(2, 0, 2, 0.5), 6),
        "estimate",
    )
    assert ran.roles == ["reasoner", "reasoner"]
    assert [question.draw for question in ran.requests] == [0, 1]
    [last] = weighed(ran)
    assert (last.votes, last.runner_up, last.of, last.spent) == (2, 0, 2, 2.0)


@pytest.mark.parametrize(("worth", "votes"), [(20, 3), (500, 5), (20_000, 9)])
def test_chains_that_disagree_are_drawn_until_no_draw_pays(worth: int, votes: int) -> None:
    """At the usual worth that is until two agree; what is worth more is drawn on until the lead is safe."""
    script = [says(31), says(36), *[says(31)] * 9]
    ran = episode(script, settings(arms=("more",), worth=worth, most_samples=9, exploration=0.0))
    assert ran.result.answer == "31"
    counted = [(each.votes, each.runner_up, each.of) for each in weighed(ran)]
    assert counted[:2] == [(1, 1, 2), (2, 1, 3)]
    assert counted[-1] == (votes - 1, 1, votes)
    assert set(arms(ran)) == {"more"}


def test_as_many_chains_are_drawn_as_can_change_who_leads() -> None:
    own = settings(arms=("more",), worth=1_000, most_samples=5)
    ran = episode([says(31), says(31), says(36), says(36), says(36)], own)
    assert [each.of for each in weighed(ran)] == [2, 5]
    assert (ran.result.answer, ran.result.ended_by) == ("36", "spent")


def test_what_a_right_answer_is_worth_decides_how_much_is_tried() -> None:
    script = [says(at % 4) for at in range(40)]
    calls = [
        len(episode(script, settings(arms=("more",), most_samples=12, worth=worth)).requests)
        for worth in (2, 20, 200)
    ]
    assert calls[0] == 2
    assert calls[0] < calls[1] <= calls[2] == 12


def test_a_check_that_finds_nothing_stands_for_the_answer() -> None:
    script = {"reasoner": [says(31), says(36)], "monitor": [found("NO")]}
    ran = episode(script, settings(arms=("check",)))
    assert (ran.result.answer, ran.result.ended_by) == ("31", "spent")
    [monitor] = ran.asks("monitor")
    told = shown(monitor)
    assert "So it is 31." in told, "the trajectory that leads is shown"
    assert "So it is 36." not in told
    before, after = weighed(ran)
    assert after.chance > before.chance == round(chance(1, 1, 2, 0.5), 6)
    assert after.came == "31"


def test_what_a_check_finds_goes_into_the_next_attempt() -> None:
    script = {
        "reasoner": [says(36), says(35), says(31)],
        "monitor": [found("YES", "Step 1 forgets the five that were dropped.")],
    }
    ran = episode(script, settings(arms=("check",)))
    assert ran.result.answer == "31"
    again = shown(ran.asks("reasoner")[2])
    assert "Do not repeat this fault" in again
    assert "Step 1 forgets the five that were dropped." in again
    assert [each.flag for each in ran.of(MonitorReported)] == ["YES"]
    assert [each.answer for each in ran.of(Generated)] == ["36", "35", "31"]


def test_a_check_that_names_no_fault_says_so_in_the_next_attempt() -> None:
    script = {"reasoner": [says(36), says(35), says(31)], "monitor": ["Error_found: YES"]}
    ran = episode(script, settings(arms=("check",)))
    assert "it did not say which" in shown(ran.asks("reasoner")[2])


def test_an_option_by_its_text_is_the_one_by_its_letter() -> None:
    """They count as one witness, and later as one candidate, however each spells it."""
    task = Task("q3", "Which is largest? (A) Mars (B) Jupiter (C) Venus", "quiz", seed=7)
    script = {"reasoner": [says("B"), says("A")], "strong": [says("Jupiter")]}
    own = settings(arms=(), strong=True)
    ran = episode(script, own, task=task)
    assert [each.came for each in weighed(ran)] == [None, "B"]
    assert weighed(ran)[1].chance > weighed(ran)[0].chance
    assert CASCADE.reflect(ran.trace, ran.result, own)["candidates"] == ["B"]


def test_a_check_that_cannot_be_read_speaks_neither_for_nor_against() -> None:
    script = {"reasoner": [says(31), says(36)], "monitor": ["Hm.", "Hm."]}
    before, after = weighed(episode(script, settings(arms=("check",))))
    assert after.chance == before.chance
    assert after.came is None


def test_the_stronger_model_is_asked_only_where_there_is_one_and_counts_at_its_price() -> None:
    chains = [says(36), says(35)]
    weak = episode({"reasoner": [*chains, says(34)] * 9}, settings(arms=("more",)))
    assert weak.asks("strong") == []
    script = {"reasoner": chains, "strong": [says(31)]}
    ran = episode(script, settings(arms=(), strong=True, strong_price=3))
    assert (ran.result.answer, len(ran.asks("strong"))) == ("31", 1)
    assert weighed(ran)[-1].spent == 3.0
    cheap = episode(script, settings(arms=(), strong=True, strong_price=3, price="tokens"))
    assert weighed(cheap)[-1].spent == 1.0


def test_a_price_that_is_too_high_leaves_the_stronger_model_alone() -> None:
    ran = episode([says(36), says(35)], settings(arms=(), strong=True, strong_price=40))
    assert (ran.result.answer, ran.result.ended_by) == ("36", "enough")


def test_an_answer_that_is_expected_to_cost_more_than_it_is_worth_is_withheld() -> None:
    script = [says(31), says(36)]
    own = settings(arms=(), wrong_costs=0.3)
    ran = episode(script, own)
    assert (ran.result.answer, ran.result.ended_by, ran.result.confidence) == (
        None,
        "withheld",
        None,
    )
    assert episode(script, settings(arms=(), wrong_costs=0.25)).result.answer == "31"


def test_on_audited_problems_something_is_tried_although_nothing_speaks_for_it() -> None:
    script = {"reasoner": [says(31), says(31)], "monitor": [found("NO")]}
    ran = episode(script, settings(arms=("check",), audit=1.0))
    assert [(each.arm, each.how) for each in ran.of(StrategyChosen)] == [("check", "explore")]
    assert ran.result.answer == "31"


def test_a_limit_of_calls_leaves_the_best_answer_so_far() -> None:
    for calls in range(1, 8):
        ran = episode([says(at) for at in range(9)], calls=calls)
        assert ran.result.answer is not None, calls
        assert len(ran.requests) <= calls


def test_a_limit_that_one_arm_is_too_dear_for_leaves_the_others() -> None:
    ran = episode([says(31), says(36), says(31)], settings(arms=("search", "more")), calls=3)
    assert set(arms(ran)) == {"more"}


def test_a_search_spends_no_more_than_it_is_granted() -> None:
    def reply(question: Any) -> str:
        return says(31) if question.role == "reasoner" else "Thought: none\nState: OPEN"

    ran = episode(reply, settings(arms=("search",), first=1, search_calls=4, worth=100))
    assert arms(ran) == ["search"]
    assert len(ran.requests) <= 1 + 4


def remembering(case: str, *, easy: bool) -> Memory:
    """A memory version of twenty cases, all like the problem, whose first answers turned out alike."""
    from schemas.vectors import as_kept, pack
    from tests.scripted import hashed

    cases = [
        {
            "id": f"p/words/{at}/run",
            "problem": case,
            "vector": pack(as_kept(hashed(case))),
            "features": [10, 3, 2],
            "easy": easy,
        }
        for at in range(20)
    ]
    return Memory("s", 1, (), {"cases": cases, "leads": {}, "opinions": {}, "arms": []})


@pytest.mark.parametrize("easy", [True, False])
def test_similar_problems_that_turned_out_hard_make_an_agreement_count_for_less(easy: bool) -> None:
    ran = episode([says(31)] * 2, settings(arms=()), memory=remembering(TASK.problem, easy=easy))
    [felt] = ran.of(ExperienceFelt)
    assert felt.source == "assess"
    assert felt.value is not None
    assert (felt.value < 0.2) is easy
    [agreed] = weighed(ran)
    assert agreed.chance == round(chance(2, 0, 2, 1 - felt.value), 6)
    assert (agreed.chance > chance(2, 0, 2, 0.5)) is easy


def test_problems_that_are_unlike_say_nothing_of_difficulty() -> None:
    memory = remembering("Wholly other words stand here", easy=False)
    task = Task("q2", "zzz qqq", "words", seed=7)
    own = settings(min_cases=20, arms=())
    [felt] = episode([says(31)] * 4, own, memory=memory, task=task).of(ExperienceFelt)
    assert (felt.source, felt.value) == ("feel", 0.05), (
        "of two words, it looks easier than all of them"
    )
    few = settings(min_cases=21, arms=())
    [felt] = episode([says(31)] * 4, few, memory=memory, task=task).of(ExperienceFelt)
    assert (felt.source, felt.value) == ("feel", 0.5)
