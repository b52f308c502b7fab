"""Meta-Reasoner's judge and roles: rewards, what is read and what is not, formats, caps, sampling."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.limits import Ledger
from handlers.policies.meta_reasoner import META_REASONER
from handlers.roles.form import Unreadable
from handlers.roles.meta_reasoner import META_REASONER as META_ROLE
from handlers.roles.progress_judge import JUDGES, Form, Weights, differing, reward_of
from handlers.roles.reporter import REPORTER
from handlers.roles.role import Role
from handlers.roles.step import STEP
from schemas.events.reasoning import Generated
from schemas.events.strategy import RewardJudged
from schemas.questions import Sampling
from tests.papers.mr_says import (
    TASK,
    episode,
    judged,
    model,
    noted,
    paper,
    reported,
    stepped,
    summary,
)
from tests.scripted import Driver, shown

SHARE = st.floats(0, 1)
FIXED = paper(strategies="fixed")


@pytest.mark.claim("mr-reward-a")
def test_form_a_by_hand() -> None:
    made = reward_of("A", {"C_c": 0.8, "C_a": 0.6}, 5, Weights())
    assert (made.progress, made.resources, made.reward) == (0.7, -0.5, 0.46)


@pytest.mark.claim("mr-reward-a")
@given(SHARE, SHARE, st.integers(1, 100), st.integers(1, 100))
def test_form_a_is_bounded(correct: float, adherent: float, steps: int, most: int) -> None:
    steps, most = min(steps, most), max(steps, most)
    made = reward_of("A", {"C_c": correct, "C_a": adherent}, steps, Weights())
    assert -0.02 * most - 1e-9 <= made.reward <= 0.78 + 1e-9
    clipped = reward_of("A", {"C_c": correct, "C_a": adherent}, steps, Weights(clip=True))
    assert clipped.reward == min(1.0, max(0.0, made.reward))


@pytest.mark.claim("mr-reward-a")
def test_form_a_in_an_episode_counts_its_steps() -> None:
    ran = episode(model(3), FIXED)
    assert [fact.steps for fact in ran.of(RewardJudged)] == [1, 2, 3]
    assert [fact.reward for fact in ran.of(RewardJudged)] == [0.54, 0.52, 0.5]
    assert [fact.progress for fact in ran.of(RewardJudged)] == [0.7] * 3
    weights = paper(strategies="fixed", correctness_weight=1.0, adherence_weight=0.0, step_cost=0.5)
    assert episode(model(1), weights).of(RewardJudged)[0].reward == pytest.approx(0.54)


@pytest.mark.claim("mr-reward-b")
def test_form_b_by_hand() -> None:
    ratings = {"Completion": 1.0, "Quality": 0.5, "Efficiency": 0.4, "Alignment": 0.8}
    assert reward_of("B", ratings, 9, Weights()).reward == pytest.approx(0.73)
    said = json.dumps(ratings)
    ran = episode(model(2, judge=lambda at: said), paper(strategies="fixed", reward="B"))
    assert [fact.reward for fact in ran.of(RewardJudged)] == [0.73, 0.73]
    assert "Keep to the present course" in shown(ran.asks("judge")[1])


JUDGEMENTS: list[tuple[str, bool]] = [
    (judged(0.8, 0.6), True),
    (f"Here it is:\n```json\n{judged(0.8, 0.6)}\n```\nDone.", True),
    ('{"C_c": 0.8, "C_a": 0.6}', True),
    ("C_c: 0.8\nC_a: 0.6", True),
    ('{"C_c": 0.8, "brief_rationale": "no adherence"}', False),
    ('{"C_c": 1.2, "C_a": 0.6}', False),
    ('{"C_c": -0.1, "C_a": 0.6}', False),
    ('{"C_c": NaN, "C_a": 0.6}', False),
    ('{"C_c": "high", "C_a": 0.6}', False),
    ('{"C_c": true, "C_a": 0.6}', False),
    ("[0.8, 0.6]", False),
    ('{"C_c": 0.8, "C_a"', False),
    ("It is going well.", False),
    ("", False),
]


@pytest.mark.claim("mr-judge")
@pytest.mark.parametrize(("said", "readable"), JUDGEMENTS)
def test_what_the_judge_may_say(said: str, readable: bool) -> None:
    values = JUDGES["A"].read(said)
    assert isinstance(values, Unreadable) is not readable
    if not isinstance(values, Unreadable):
        assert (values["C_c"], values["C_a"]) == (0.8, 0.6)


@pytest.mark.claim("mr-judge")
def test_its_own_sums_are_recorded_where_they_differ_and_never_used() -> None:
    said = judged(0.8, 0.6, S_p=0.7, R_u=-0.1, R=0.9)
    ran = episode(model(1, judge=lambda at: said), FIXED)
    [fact] = ran.of(RewardJudged)
    assert fact.differs == ("R",)
    assert fact.reward == 0.54
    assert ("R", 0.9) in fact.parts
    assert differing({}, reward_of("A", {"C_c": 0.1, "C_a": 0.1}, 1, Weights())) == ()


@pytest.mark.claim("mr-judge")
def test_bad_output_is_asked_for_once_more_then_unknown() -> None:
    said = iter(["no JSON", judged(), "no JSON", "still none", judged()])
    ran = episode(model(3, judge=lambda at: next(said)), FIXED)
    facts = ran.of(RewardJudged)
    assert [fact.parse for fact in facts] == ["reparsed", "fallback", "ok"]
    assert facts[1].reward is None
    assert facts[1].parts == ()
    assert len(ran.asks("judge")) == 5


@pytest.mark.claim("mr-judge")
def test_an_unknown_reward_updates_nothing_unless_it_is_the_lowest() -> None:
    for setting, count, reward in (("skip", 0, None), ("lowest", 1, -0.04)):
        pinned = paper(strategies="fixed", judge_failure=setting)
        ran = episode(model(2, judge=lambda at: judged() if at == 1 else "?"), pinned)
        assert ran.of(RewardJudged)[1].reward == reward
        assert len(summary(ran, pinned)["pulls"]) == count


@pytest.mark.claim("mr-judge")
@pytest.mark.parametrize(("judge", "same"), [("one", True), ("another", False)])
def test_a_judge_of_the_same_model_says_so_and_no_other(judge: str, same: bool) -> None:
    driver = Driver(model(1), model=lambda asked: judge if asked.role == "judge" else "one")
    driver.drive(META_REASONER.solve(TASK, FIXED), Ledger())
    [judged_by] = [event for _, event in driver.events if isinstance(event, RewardJudged)]
    assert judged_by.self_judged == same


@pytest.mark.claim("mr-judge")
def test_the_judge_sees_problem_work_steps_and_weights() -> None:
    ran = episode(model(2), FIXED)
    seen = dict(ran.asks("judge")[1].variables)
    assert seen["steps_made"] == "2"
    assert "step 2 is 2 * 2" in seen["trajectory"]
    assert seen["weights"] == "w1 = 0.5, w2 = 0.5, alpha = 0.1, beta = 0.8"
    by_report = episode(model(2), paper(strategies="fixed", judge_sees="report"))
    assert dict(by_report.asks("judge")[1].variables)["trajectory"] == reported("attempt 2")
    assert len(by_report.asks("reporter")) == 2, "the report of a round serves judge and choice"


STEPS: list[tuple[str, str | None]] = [
    (stepped(), None),
    (stepped("so it is 24", "24"), None),
    ("<reasoning>r</reasoning><next_step>a</next_step>It is not solved yet.", None),
    ("<reasoning>r</reasoning><next_step>a</next_step>Solved.\n\\boxed{24}", None),
    ("<next_step>a</next_step><next_step>b</next_step>not solved", None),
    ("Reasoning: r\nNext_step: a\nNext_step: b\nState: OPEN", None),
    ("Reasoning: r\nNext_step: a\nState: SOLVED", "Final_answer"),
    ("Reasoning: r\nNext_step: a\nState: SOLVED\nFinal_answer: 24", None),
    ("Reasoning: r\nNext_step: a\nState: OPEN\n\\boxed{24}", None),
    ("<reasoning>r</reasoning><next_step>a</next_step>\\boxed{24}", None),
    ("Reasoning: r\nState: OPEN", "Next_step"),
    ("24", "Final_answer"),
    ("3 * 8 is what it takes.\nFinal_answer: \\boxed{24}", None),
    ("3 * 8 comes next.\nFinal_answer: none", None),
    ("3 * 8 comes next.", "Final_answer"),
]


@pytest.mark.claim("mr-roles")
@pytest.mark.parametrize(("said", "wrong"), STEPS)
def test_what_a_step_may_say(said: str, wrong: str | None) -> None:
    values = STEP.read(said)
    assert (values.field if isinstance(values, Unreadable) else None) == wrong


@pytest.mark.claim("mr-roles")
def test_an_untagged_step_is_asked_once_more_then_the_whole_text_flagged() -> None:
    said = iter(["I would add 2.", "I would add 3."])
    ran = episode(lambda q: next(said) if q.role == "step" else judged(), paper(max_rounds=1))
    assert [event.parse for event in ran.of(Generated)] == ["unreadable"]
    assert "I would add 3." in shown(ran.asks("judge")[0])


REPLIES: list[tuple[Role, str, bool]] = [
    (REPORTER, reported(), True),
    (REPORTER, "**Current Attempts:**\n1. a\n2. b\n**Observations:**\n- c", True),
    (REPORTER, "Nothing to report.", False),
    (META_ROLE, noted(), True),
    (META_ROLE, "- Reflection: r\n- Fact Check: f\n- Thought: t\n- Action: a", True),
    (META_ROLE, "Reflection: r\nThought: t", False),
    (JUDGES["scalar"], "0.7", True),
    (JUDGES["scalar"], "Value: 0.7", True),
    (JUDGES["scalar"], "7", False),
]


@pytest.mark.claim("mr-roles")
@pytest.mark.parametrize(("role", "said", "readable"), REPLIES)
def test_formats(role: Role, said: str, readable: bool) -> None:
    assert isinstance(role.read(said), Unreadable) is not readable


@pytest.mark.claim("mr-roles")
@pytest.mark.parametrize(("reward", "cap"), [("A", 256), ("B", 256), ("scalar", 4)])
def test_caps(reward: Form, cap: int) -> None:
    answers = {"A": judged(), "scalar": "0.5"}
    answers["B"] = '{"Completion": 1, "Quality": 1, "Efficiency": 1, "Alignment": 1}'
    ran = episode(model(2, judge=lambda at: answers[reward]), paper(reward=reward))
    caps = {question.role: question.sampling.max_tokens for question in ran.requests}
    assert caps == {"step": 1_024, "reporter": 512, "meta_reasoner": 256, "judge": cap}


@pytest.mark.claim("mr-roles")
@pytest.mark.parametrize(("training", "temperature"), [(True, 0.0), (False, 0.7)])
def test_sampling(training: bool, temperature: float) -> None:
    ran = episode(model(2), paper(training=training))
    drawn = {(q.sampling.temperature, q.sampling.top_p) for q in ran.requests}
    assert drawn == {(temperature, 1.0)}
    service: Any = type(FIXED).resolve("service", {"training": training})
    assert service.sampling(1) == Sampling(temperature=0.7, top_p=1.0, max_tokens=1)


@pytest.mark.claim("mr-roles")
def test_who_sees_what() -> None:
    ran = episode(model(2))
    seen = {q.role: {name for name, value in q.variables if value} for q in ran.requests}
    assert seen["step"] == {"problem", "trajectory", "advice"}
    assert seen["reporter"] == {"problem", "trajectory"}
    assert seen["meta_reasoner"] == {"problem", "report"}
    assert seen["judge"] == {"problem", "trajectory", "steps_made", "weights"}
