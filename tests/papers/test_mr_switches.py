"""Meta-Reasoner's switches, its data, its profiles, and the figures on real texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.metrics import any_of_n
from handlers.policies.meta_reasoner.measure import training_sample
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from schemas.events.episode import Embedded
from schemas.events.strategy import StrategyChosen
from streams.research.bench.game24_recorded import run as recorded
from streams.support.datasets.game24 import ranked
from tests.data import shared
from tests.papers.mr_says import episode, model, noted, paper, summary
from tests.scripted import shown


@pytest.mark.claim("mr-ablations")
def test_without_report_nobody_reports_and_the_trajectory_is_embedded() -> None:
    ran = episode(model(3), paper(report=False))
    assert "reporter" not in ran.roles
    assert "progress.reported" not in ran.facts
    assert dict(ran.asks("meta_reasoner")[1].variables)["report"] == (
        "[Step 1]\nstep 1 is 2 * 1\n\n[Step 2]\nstep 2 is 2 * 2"
    )
    assert ran.of(Embedded)


@pytest.mark.claim("mr-ablations")
@pytest.mark.parametrize("direct", ["pick", "free"])
def test_direct_choice_has_no_score_and_no_update(direct: str) -> None:
    ran = episode(model(3), paper(choice="direct", direct=direct))
    assert len(ran.requests) == 4 * 3 - 2, "calls as dynamic"
    assert ran.of(Embedded) == []
    assert [(fact.how, fact.scores) for fact in ran.of(StrategyChosen)] == [("direct", ())] * 2
    assert "pulls" not in summary(ran, paper(choice="direct", direct=direct))
    assert len(summary(ran, paper(choice="direct"))["rewards"]) == 3, "the judge still runs"
    advice = dict(ran.asks("step")[1].variables)["advice"]
    assert advice.startswith("Begin once more" if direct == "pick" else "Use the factor 4 last.")


@pytest.mark.claim("mr-ablations")
def test_a_direct_pick_is_among_the_listed_arms() -> None:
    ran = episode(model(2), paper(choice="direct", start_arms=5))
    question = ran.asks("meta_reasoner")[0]
    assert question.template.reply.fields[1].choices == ("a1", "a2", "a3", "a4", "a5")
    assert all(name in shown(question) for name in ("Pause: make clear", "split the task"))


@pytest.mark.claim("mr-ablations")
def test_chain_of_thought_is_one_call() -> None:
    ran = episode(lambda q: "Final_answer: \\boxed{24}", paper(choice="cot"))
    assert len(ran.requests) == 1
    assert (ran.result.answer, ran.facts) == ("24", ["generated"])


@pytest.mark.claim("mr-ablations")
def test_a_random_arm_is_drawn_and_not_learned_from() -> None:
    pinned = paper(choice="random", strategies="fixed")
    ran = episode(model(30), pinned)
    chosen = [fact.arm for fact in ran.of(StrategyChosen)]
    assert set(chosen) == {"a1", "a2", "a3"}
    assert ran.of(Embedded) == []
    assert "pulls" not in summary(ran, pinned)
    assert [fact.arm for fact in episode(model(30), pinned).of(StrategyChosen)] == chosen


@pytest.mark.claim("mr-ablations")
def test_fixed_has_no_proposals_and_dynamic_one_a_round() -> None:
    assert "strategy.proposed" not in episode(model(4), paper(strategies="fixed")).facts
    ran = episode(model(4, note=lambda at: noted(f"try{at} " * 9)))
    assert ran.facts.count("strategy.proposed") == 3


def test_profiles_differ_where_the_page_says() -> None:
    service = MetaReasonerSettings.resolve("service", {})
    mine = MetaReasonerSettings.resolve("paper", {})
    assert (service.max_rounds, mine.max_rounds) == (10, 30)
    assert (service.feature_dims, mine.feature_dims) == (64, None)
    assert (service.warmup_pulls, mine.warmup_pulls) == (1, 0)
    assert (service.retire_on, mine.retire_on) == ("progress", "reward")
    assert (service.exploration, service.ridge, service.step_cost) == (0.2, 1.0, 0.1)
    assert (service.first_judgement, mine.first_judgement) == ("used", "always")
    assert (service.tell_last, mine.tell_last) == (True, False)
    assert constants(service)["start"][0]["name"] == "continue"


def test_scopes_are_shared_by_training_and_evaluation() -> None:
    """A frozen evaluation reads what a training pass left; another reward has its own arms."""
    values = MetaReasonerSettings.learning_values
    assert values("paper", {"updates": "frozen"}) == values("paper", {"training": True})
    assert values("paper", {"reward": "B"}) != values("paper", {})


@pytest.mark.claim("mr-app-b")
@given(
    st.lists(st.integers(0, 200), max_size=120), st.lists(st.integers(0, 200)), st.integers(0, 60)
)
def test_training_and_test_are_disjoint(pool: list[int], test: list[int], count: int) -> None:
    problems, held = [str(p) for p in pool], {str(p) for p in test}
    drawn = training_sample(problems, held, count, seed=3)
    assert not set(drawn) & held
    assert len(drawn) == len(set(drawn)) == min(count, len(set(problems) - held))
    assert drawn == training_sample(problems[::-1], held, count, seed=3)


@pytest.mark.claim("mr-app-b")
def test_fifty_games_outside_the_test_ranks() -> None:
    problems = [str(puzzle["problem"]) for puzzle in ranked(shared() / "game24" / "24.csv")]
    test = problems[900:1000]
    drawn = training_sample(problems, test, 50, seed=1)
    assert len(set(drawn)) == 50
    assert not set(drawn) & set(test)
    assert drawn != training_sample(problems, test, 50, seed=2)


@pytest.mark.slow
@pytest.mark.claim("mr-recorded")
def test_table_2_on_real_texts() -> None:
    """T2's CoT rows: 4 for one sample, 49 for the best of a hundred."""
    figures = recorded(shared() / "game24")
    assert round(100 * figures["single"], 2) == 4.03
    assert figures["any_of_100"] == 49
    assert any_of_n([True] + [False] * 99, 100) == 1.0
