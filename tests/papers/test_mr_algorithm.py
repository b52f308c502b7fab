"""Meta-Reasoner, Algorithm 1: order of questions, what each prompt holds, credit, stop."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise

import pytest

from handlers.policies.meta_reasoner.measure import curve, meant, own, rewards
from handlers.policies.meta_reasoner.settings import constants
from schemas.events.episode import Embedded
from schemas.events.reasoning import Generated
from schemas.events.strategy import (
    ProgressReported,
    RewardJudged,
    StrategyChosen,
    StrategyProposed,
)
from schemas.questions import Complete, Embed
from streams.research.bench.metrics import METRICS
from tests.papers.mr_says import (
    TASK,
    advised,
    after,
    episode,
    judged,
    model,
    noted,
    paper,
    remembering,
    reported,
    stepped,
    summary,
)
from tests.scripted import shown
from tests.streams.bench.worlds import case

FIXED = paper(strategies="fixed")


@pytest.mark.claim("mr-l01", "mr-l02")
def test_the_first_prompt_has_no_trajectory_and_no_advice() -> None:
    first = episode(model(1)).asks("step")[0]
    none = {"trajectory": "", "advice": "", "steps_left": ""}
    assert dict(first.variables) == {"problem": TASK.stated, **none}
    said = shown(first)
    assert "### Problem" in said
    assert "### Trajectory" not in said
    assert "### Advice" not in said


@pytest.mark.claim("mr-l01")
def test_arms_are_initialised_for_a_scope_and_come_with_its_memory() -> None:
    ran = episode(model(3), FIXED)
    state = after({}, [summary(ran, FIXED)], FIXED)
    again = episode(model(2), FIXED, memory=remembering(state))
    known = {arm["id"]: arm.get("pulls", 0) for arm in state["arms"]}
    assert sum(known.values()) == 2
    fresh = episode(model(2), paper(strategies="fixed", arms="episode"), memory=remembering(state))
    assert again.of(StrategyChosen)[0].scores != fresh.of(StrategyChosen)[0].scores
    assert fresh.of(StrategyChosen)[0].scores == ran.of(StrategyChosen)[0].scores


@pytest.mark.claim("mr-l04", "mr-l05", "mr-l06", "mr-l08", "mr-l09", "mr-l11")
def test_order_of_questions_in_fixed_rounds() -> None:
    ran = episode(model(3), FIXED)
    order = [q.role if isinstance(q, Complete) else type(q).__name__ for _, q in ran.asked]
    later = ["reporter", "Embed", "step", "judge"]
    assert order == ["step", "judge", *later, *later]
    assert len(ran.requests) == 3 * 3 - 1 == 8
    assert len(ran.of(Embedded)) == 3 - 1
    kinds = ["progress.reported", "strategy.chosen", "generated", "reward.judged"]
    assert ran.facts == ["generated", "reward.judged", *kinds, *kinds]


@pytest.mark.claim("mr-l04", "mr-l05", "mr-l06", "mr-l08", "mr-l09", "mr-l11")
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_calls_in_closed_form(n: int) -> None:
    assert len(episode(model(n), FIXED).requests) == 3 * n - 1
    ran = episode(model(n, note=lambda at: noted(f"idea{at} " * at)))
    assert len(ran.requests) == 4 * n - 2
    asked = [question for _, question in ran.asked if isinstance(question, Embed)]
    assert len(asked) == (n - 1) + len(ran.of(StrategyProposed))
    without = episode(model(n), paper(strategies="fixed", report=False))
    assert len(without.requests) == 2 * n
    assert len(without.of(Embedded)) == n - 1


@pytest.mark.claim("mr-l05", "mr-l06", "mr-l09")
def test_the_report_covers_the_trajectory_is_embedded_and_its_choice_is_shown() -> None:
    ran = episode(model(3), FIXED)
    reporter = ran.asks("reporter")[1]
    assert dict(reporter.variables)["trajectory"] == (
        "[Step 1]\nstep 1 is 2 * 1\n\n[Step 2]\nstep 2 is 2 * 2"
    )
    embeds = [question for _, question in ran.asked if isinstance(question, Embed)]
    assert [embed.texts for embed in embeds] == [(reported(f"attempt {at}"),) for at in (1, 2)]
    chosen = ran.of(StrategyChosen)[0]
    assert [fact.round for fact in ran.of(ProgressReported)] == [0, 1]
    assert chosen.arm == "a1"
    assert dict(ran.asks("step")[1].variables)["advice"].startswith("Keep to the present course")


@pytest.mark.claim("mr-l07")
def test_a_proposal_competes_in_the_round_that_it_is_made() -> None:
    ran = episode(model(2))
    [proposed] = ran.of(StrategyProposed)
    [chosen] = ran.of(StrategyChosen)
    assert (proposed.result, proposed.arm) == ("added", "a4")
    assert [arm for arm, _ in chosen.scores] == ["a1", "a2", "a3", "a4"]
    assert ran.facts.index("strategy.proposed") < ran.facts.index("strategy.chosen")


@pytest.mark.claim("mr-l07")
def test_a_chosen_proposal_shows_the_whole_note_another_arm_its_strategy() -> None:
    """T = 2 explores with chance 1/2, so both happen over some seeds."""
    seen = set[bool]()
    for seed in range(20):
        task = type(TASK)(TASK.id, TASK.problem, TASK.domain, seed)
        ran = episode(model(2), task=task)
        advice = dict(ran.asks("step")[1].variables)["advice"]
        new = ran.of(StrategyChosen)[0].arm == "a4"
        assert advice == advised() if new else advice.startswith("Keep to the present course")
        assert "Reflection: r\nFact_check: f" in advice, "what it found is shown whoever is chosen"
        seen.add(new)
    assert seen == {True, False}


@pytest.mark.claim("mr-l13", "mr-l14")
def test_the_trajectory_only_grows_whatever_is_advised() -> None:
    """After ``restart`` the prompt holds all steps: going back is advice in words."""
    settings = paper(choice="direct", strategies="fixed")
    ran = episode(model(4), settings)
    assert [chosen.arm for chosen in ran.of(StrategyChosen)] == ["a3"] * 3
    seen = [dict(question.variables)["trajectory"] for question in ran.asks("step")]
    assert "Begin once more from nothing" in dict(ran.asks("step")[1].variables)["advice"]
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))
    assert seen[3] == "\n\n".join(f"[Step {at}]\nstep {at} is 2 * {at}" for at in (1, 2, 3))


@pytest.mark.claim("mr-l13", "mr-l14")
def test_the_trajectory_keeps_the_step_and_the_log_the_reasoning() -> None:
    ran = episode(model(2), FIXED)
    assert "the advice says so" not in dict(ran.asks("step")[1].variables)["trajectory"]
    assert "the advice says so" in ran.trace.text(ran.of(Generated)[0].source)


@pytest.mark.claim("mr-l13")
def test_context_may_be_the_last_step_and_reports_a_window() -> None:
    ran = episode(model(4), paper(strategies="fixed", context="last_step", report_window=2))
    assert dict(ran.asks("step")[3].variables)["trajectory"] == "step 3 is 2 * 3"
    window = dict(ran.asks("reporter")[2].variables)["trajectory"]
    assert "step 1 is" not in window
    assert "step 2 is" in window


@pytest.mark.claim("mr-l15", "mr-l16", "mr-l17")
def test_a_reward_is_credited_to_the_arm_and_context_before_the_step() -> None:
    ran = episode(model(4, judge=lambda at: judged(at / 10, 0.5)), FIXED)
    found = ran.of(RewardJudged)
    chosen = [fact.arm for fact in ran.of(StrategyChosen)]
    assert [fact.arm for fact in found] == [None, *chosen]
    said = summary(ran, FIXED)
    vectors = [fact.vectors[0] for fact in ran.of(Embedded)]
    assert len(said["rewards"]) == 4
    assert [pull[0] for pull in said["pulls"]] == chosen
    assert [pull[1] for pull in said["pulls"]] == vectors
    assert [pull[2] for pull in said["pulls"]] == [fact.reward for fact in found[1:]]


@pytest.mark.claim("mr-l15", "mr-l16", "mr-l17")
def test_the_first_reward_moves_no_arm() -> None:
    low = summary(episode(model(2, judge=lambda at: judged(0.0 if at == 1 else 0.5))))
    high = summary(episode(model(2, judge=lambda at: judged(1.0 if at == 1 else 0.5))))
    assert low["rewards"] != high["rewards"]
    assert after({}, [low]) == after({}, [high])
    assert summary(episode(model(1)))["pulls"] == []


@pytest.mark.claim("mr-l19", "mr-l20", "mr-l23", "mr-l24")
@pytest.mark.parametrize(("n", "most", "rounds"), [(1, 5, 1), (3, 5, 3), (None, 5, 5), (5, 5, 5)])
def test_reward_first_then_stop_and_at_most_t_rounds(n: int | None, most: int, rounds: int) -> None:
    ran = episode(model(n), paper(strategies="fixed", max_rounds=most))
    assert len(ran.asks("step")) == len(ran.asks("judge")) == rounds
    assert ran.roles[-1] == "judge"
    assert ran.result.ended_by == ("max_rounds" if n is None else "solved")
    if n is not None:
        assert ran.result.answer == "2*3*4*1"
    assert ran.result.confidence == pytest.approx(0.7)
    assert ran.result.confidence_source == "value"


@pytest.mark.claim("mr-l19", "mr-l20", "mr-l23", "mr-l24")
def test_not_solved_goes_on_and_the_last_box_is_the_answer_at_the_end() -> None:
    """What is said of the state is believed, box or not; "solved" without an answer is asked about once."""
    boxed = "Reasoning: r\nNext_step: perhaps \\boxed{7}\nState: OPEN"
    bare = "Reasoning: r\nNext_step: done, 8\nState: SOLVED"
    said = [boxed, bare, bare]
    asked = iter(said)
    ran = episode(
        lambda q: next(asked) if q.role == "step" else model(None)(q),
        paper(strategies="fixed", max_rounds=2),
    )
    assert [fact.parse for fact in ran.of(Generated)] == ["ok", "fallback"]
    assert [fact.answer for fact in ran.of(Generated)] == [None, None]
    assert (ran.result.answer, ran.result.ended_by) == ("7", "max_rounds")
    assert ran.facts.count("reply.reparsed") == 1


@pytest.mark.claim("mr-l23", "mr-l24")
def test_a_limit_ends_it_with_the_best_so_far() -> None:
    stopped = [episode(model(3), FIXED, calls=calls) for calls in range(1, 8)]
    for calls, ran in enumerate(stopped, 1):
        assert (ran.result.limit, ran.result.ended_by) == ("calls", "limit")
        assert len(ran.requests) == calls
    assert stopped[-1].result.answer == "2*3*4*1"
    assert episode(model(3), FIXED, calls=8).result.limit is None


@pytest.mark.claim("mr-eq-01")
def test_the_sum_of_the_log_is_the_curve() -> None:
    ran = episode(model(4, judge=lambda at: judged(at / 5, 1.0)), FIXED)
    made = [round(0.8 * (0.5 * at / 5 + 0.5) - 0.02 * at, 12) for at in (1, 2, 3, 4)]
    assert rewards(ran.trace) == made
    assert curve(made)[-1] == pytest.approx(sum(made))
    assert curve(made) == pytest.approx([sum(made[:at]) for at in (1, 2, 3, 4)])
    assert [reward for _, reward in summary(ran, FIXED)["rewards"]] == made


def test_unique_strategies_are_those_pulled() -> None:
    ran = episode(model(5), paper(strategies="fixed", warmup_pulls=1))
    pulled = [event for _, event in ran.trace.events]
    assert METRICS["strategies"].of([case("q", events=pulled)]) == 3
    assert METRICS["strategies"].of([]) is None


def _noted(text: str, _: int) -> str:
    return noted(text)


def test_an_arm_is_what_learning_made_of_it_whatever_an_episode_called_it() -> None:
    """Each episode calls its first proposal by the same number: 4 were printed where 17 were used."""
    said = ["Keep a factor back.", "Look for a difference of one.", "Keep a factor back."]
    settings = paper(choice="linucb", strategies="dynamic")
    ran = [episode(model(2, note=partial(_noted, text)), settings) for text in said]
    summaries = [(f"p/{at}", summary(each, settings)) for at, each in enumerate(ran)]
    local = {event.arm for each in ran for event in each.of(StrategyProposed)}
    assert len(local) == 1
    (mine,) = local
    assert mine is not None
    found = meant([(summaries, constants(settings))])
    first, second, again = (found[f"p/{at}"][mine] for at in range(3))
    assert first == again != second
    assert own("p/0", ran[0].trace, found["p/0"]) == {mine: first}
    assert own("p/9", ran[0].trace, {}) == {mine: f"{mine} of p/9"}
    chosen = StrategyChosen(round=1, arm=mine, how="explore")
    cases = [
        case(str(at), events=[chosen], arms={mine: each})
        for at, each in enumerate((first, second, again))
    ]
    assert METRICS["strategies"].of(cases) == 2


def test_what_is_left_to_learn_is_json() -> None:
    ran = episode(model(4))
    assert json.loads(json.dumps(summary(ran))) == summary(ran)
    state = after({}, [summary(ran)])
    assert json.loads(json.dumps(state)) == state


def test_frozen_arms_are_used_and_not_changed() -> None:
    state = after({}, [summary(episode(model(4)))])
    frozen = paper(updates="frozen")
    ran = episode(model(4), frozen, memory=remembering(state))
    assert "pulls" not in summary(ran, frozen)
    assert after(state, [summary(ran, frozen)]) == state
    same_report = [fact.scores[:3] for fact in ran.of(StrategyChosen)]
    assert len(same_report) == 3


def test_tagged_steps_are_read() -> None:
    tags = "<reasoning>r</reasoning>\n<next_step>2 * 3 = 6</next_step>\nThe problem is {}.{}"
    said = iter([tags.format("not solved", ""), tags.format("solved", "\n\\boxed{24}")])
    ran = episode(lambda q: next(said) if q.role == "step" else model(None)(q), FIXED)
    assert [fact.parse for fact in ran.of(Generated)] == ["ok", "ok"]
    assert ran.result.answer == "24"
    assert "[Step 1]\n2 * 3 = 6" in shown(ran.asks("step")[1])
    assert stepped() != tags
