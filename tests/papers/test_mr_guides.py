"""Meta-Reasoner as it serves: what becomes an arm, what every prompt is shown of a note, and how an episode ends.

Each is asked of an episode: of the prompts that its roles got, and of what it left to learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from handlers.learning.bandits import Arm, start, written
from handlers.policies.base import Task
from handlers.policies.meta_reasoner import META_REASONER
from handlers.policies.meta_reasoner.settings import MetaReasonerSettings, constants
from schemas.events.strategy import RewardJudged, StrategyChosen, StrategyProposed
from schemas.memory import Memory
from schemas.questions import Complete, Embed
from schemas.vectors import as_kept, pack
from streams.answering.embedders.hashed import hashed as by_letters
from tests.papers.mr_says import (
    STRATEGY,
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
    summary,
)
from tests.scripted import Ran, hashed, run, shown

SERVICE = MetaReasonerSettings.resolve("service", {"feature_dims": 8})
OTHER = Task("q2", "How long does a train take for 90 km?", "words", seed=3)
SAME = reported("the same each time")


def service(**values: Any) -> MetaReasonerSettings:
    return MetaReasonerSettings.resolve("service", {"feature_dims": 8, **values})


def advice_of(ran: Ran[Any]) -> list[str]:
    return [dict(question.variables)["advice"] for question in ran.asks("step")]


def rated(*values: float) -> Callable[[int], str]:
    """A judge that says these, one a round."""
    return lambda at: judged(values[at - 1], values[at - 1])


# ── What becomes an arm ──────────────────────────────────────────────────────────────────────


def known(*more: Arm, settings: MetaReasonerSettings | None = None) -> Memory:
    """A memory of the start arms, pulled once each, and of these."""
    arms = [replace(arm, pulls=1) for arm in start(constants(settings or paper())["start"])]
    return remembering({"arms": [written(arm) for arm in (*arms, *more)]})


def learned(name: str, reward: float, *, pulls: int = 1, rating: float | None = None) -> Arm:
    """A proposed arm that earned so much wherever a report read like ``SAME``."""
    vector = pack(as_kept(hashed(SAME)))
    text = f"Strategy of {name}."
    return Arm(
        id=name,
        birth=int(name[1:]),
        when="it is stuck",
        text=text,
        origin="proposed",
        vector=pack(as_kept(hashed(text))),
        pulls=pulls,
        rated=pulls * (reward if rating is None else rating),
        rows=((vector, reward),) * pulls,
    )


def test_what_fits_other_problems_becomes_an_arm_and_the_note_on_this_one_does_not() -> None:
    ran = episode(model(2))
    [arm] = [arm for arm in after({}, [summary(ran)])["arms"] if arm["origin"] == "proposed"]
    assert (arm["when"], arm["text"]) == ("much is left", STRATEGY)


def test_another_problem_is_advised_by_it_without_a_word_of_the_first() -> None:
    state = after({}, [summary(episode(model(2)))])
    good = {"pulls": 2, "rated": 2.0, "rows": [[pack(as_kept(hashed(SAME))), 1.0]] * 2}
    arms = [arm | good if arm["origin"] == "proposed" else arm for arm in state["arms"]]
    ran = episode(
        model(2, report=lambda at: SAME, note=lambda at: noted("Draw it.", "Draw the train.")),
        memory=remembering({"arms": arms}),
        task=OTHER,
    )
    assert dict(ran.of(StrategyChosen)[0].scores)["a4"] == max(scores_of(ran, 0).values())
    told = [each for each in advice_of(ran) if each.startswith(STRATEGY)]
    assert told or ran.of(StrategyChosen)[0].how == "explore"
    assert not any("factor 4" in each for each in advice_of(ran))


BEFORE = "Check every result for its units before you write the next equation down."
AFTER = "Check every result for its units after you write the next equation down."


def test_a_strategy_and_its_opposite_are_two_arms_and_one_in_the_paper() -> None:
    """To embedders they are much alike: .93 by letters, as by meaning (the limit of the paper is .9)."""
    notes = (BEFORE, AFTER, AFTER)

    def arms(settings: MetaReasonerSettings) -> list[tuple[str, str]]:
        said = model(4, note=lambda at: noted(notes[at - 1]))
        steps = META_REASONER.solve(replace(TASK, problem="Find the length."), settings)
        ran = run(steps, said, vectors=by_letters)
        assert [fact.result for fact in ran.of(StrategyProposed)][-1] == "merged", "word for word"
        state = after({}, [summary(ran, settings)], settings)
        return [(a["id"], a["text"]) for a in state["arms"] if a["origin"] == "proposed"]

    assert arms(SERVICE) == [("a4", BEFORE), ("a5", AFTER)]
    assert arms(paper()) == [("a4", BEFORE)]


def test_a_strategy_that_names_numbers_of_its_problem_is_refused_and_its_note_still_shown() -> None:
    ran = episode(model(2, note=lambda at: noted("Add 3 and 4 first, then make 24.")))
    [proposed] = ran.of(StrategyProposed)
    assert (proposed.result, proposed.reason) == ("refused", "it names numbers of this problem")
    assert summary(ran)["proposals"] == []
    assert advice_of(ran)[1].endswith("Reflection: r\nFact_check: f")


def test_a_note_without_a_strategy_makes_no_arm_and_is_shown() -> None:
    ran = episode(model(2, note=lambda at: advised()))
    assert [fact.reason for fact in ran.of(StrategyProposed)] == [
        "no general strategy that can be read"
    ]
    assert advice_of(ran)[1].startswith("Keep to the present course")
    assert advice_of(ran)[1].endswith("Reflection: r\nFact_check: f")


def test_a_reflection_that_calls_its_first_line_strategy_is_read_whole() -> None:
    """A model of 1.5 billion parameters heads the lines of its reflection so."""
    said = advised().replace(
        "Reflection: r", "### Reflection\n- Strategy: it adds\n- Progress: much"
    )
    ran = episode(model(2, note=lambda at: f"{said}\nGeneral strategy: {STRATEGY}"))
    assert [fact.result for fact in ran.of(StrategyProposed)] == ["added"]
    assert "Strategy: it adds" in advice_of(ran)[1]


def other(at: int) -> str:
    """Notes whose strategies have no word in common."""
    return noted(" ".join(f"word{at}x{piece}" for piece in range(12)))


def test_at_the_limit_the_worst_arm_makes_room_in_the_episode_and_in_the_scope() -> None:
    settings = paper(arm_limit=5)
    ran = episode(model(6, note=other, judge=lambda at: judged()), settings)
    facts = ran.of(StrategyProposed)
    assert [fact.result for fact in facts] == ["added"] * 5
    assert [fact.evicts is None for fact in facts] == [True, True, False, False, False]
    sets = [[arm for arm, _ in fact.scores] for fact in ran.of(StrategyChosen)]
    assert [len(each) for each in sets] == [4, 5, 5, 5, 5]
    assert [each[:3] for each in sets] == [["a1", "a2", "a3"]] * 5, "start arms stay"
    assert [each[-1] for each in sets] == ["a4", "a5", "a6", "a7", "a8"], "no id comes twice"
    state = after({}, [summary(ran, settings)], settings)
    assert len(state["arms"]) == 5
    assert state["arms"][-1]["id"] == "a8"


def test_a_retired_arm_goes_first_and_what_a_person_spoke_of_stays() -> None:
    settings = paper(arm_limit=6)
    poor = replace(learned("a4", 0.1, pulls=3), retired=True)
    kept = replace(learned("a5", 0.0, pulls=3), word="restored")
    good = learned("a6", 0.9, pulls=3)
    for arms, gone in (
        ((kept, poor, good), "a4"),
        ((kept, good), None),
        ((kept, good, good), "a6"),
    ):
        named = [replace(arm, birth=4 + at) for at, arm in enumerate(arms)]
        ran = episode(model(2, note=other), settings, memory=known(*named, settings=settings))
        assert ran.of(StrategyProposed)[0].evicts == gone


# ── What every prompt is shown ───────────────────────────────────────────────────────────────


def test_the_judges_words_go_to_whoever_advises_and_the_paper_gives_them_to_nobody() -> None:
    said = partial(_judged_as, "a product was forgotten")
    ran = episode(model(3, judge=said), SERVICE)
    assert [dict(ask.variables)["judgement"] for ask in ran.asks("meta_reasoner")] == [
        f"a product was forgotten in {at}" for at in (1, 2)
    ]
    assert "### Judgement" in shown(ran.asks("meta_reasoner")[0])
    direct = episode(model(2, judge=said), service(choice="direct"))
    assert "a product was forgotten in 1" in shown(direct.asks("meta_reasoner")[0])
    plain = episode(model(3, judge=said))
    assert not any("was forgotten" in shown(ask) for ask in plain.asks("meta_reasoner"))
    assert "Judgement" not in shown(plain.asks("meta_reasoner")[0])


def _judged_as(said: str, at: int) -> str:
    return judged(brief_rationale=f"{said} in {at}")


@pytest.mark.parametrize("n", [1, 2, 4])
def test_where_nobody_uses_the_first_judgement_it_is_not_paid(n: int) -> None:
    """Three calls a round less one in the paper; here one less still, unless the answer is rated by it."""
    fixed = episode(model(n), service(strategies="fixed"))
    assert len(fixed.requests) == (2 if n == 1 else 3 * n - 2)
    assert len(episode(model(n), paper(strategies="fixed")).requests) == 3 * n - 1
    assert fixed.result.confidence == pytest.approx(0.7)
    rounds = [fact.round for fact in fixed.of(RewardJudged)]
    assert rounds == ([0] if n == 1 else list(range(1, n)))
    assert len(summary(fixed, service(strategies="fixed"))["pulls"]) == n - 1
    assert len(episode(model(n), SERVICE).asks("judge")) == n, "the adviser reads every one"


def test_frozen_arms_without_an_adviser_are_judged_by_their_answer_alone() -> None:
    ran = episode(model(4), service(strategies="fixed", updates="frozen"))
    assert [fact.round for fact in ran.of(RewardJudged)] == [3]


def test_the_step_hears_that_it_is_the_last_one() -> None:
    ran = episode(model(None), service(max_rounds=3))
    said = [dict(question.variables)["steps_left"] for question in ran.asks("step")]
    assert said == ["", "", "This is the last step."]
    assert "finish the problem in it" in shown(ran.asks("step")[2])
    assert "finish the problem in it" not in shown(ran.asks("step")[1])
    told = episode(model(None), paper(max_rounds=3))
    assert not any("Steps left" in shown(question) for question in told.asks("step"))


@pytest.mark.parametrize("strategies", ["fixed", "dynamic"])
@pytest.mark.parametrize("calls", range(2, 16))
def test_the_step_hears_that_calls_run_out_and_none_that_could_go_on_does(
    strategies: str, calls: int
) -> None:
    """Whoever was told is the last; who was not is followed by another one, or answers."""
    ran = episode(model(None), service(strategies=strategies), calls=calls)
    told = ["last step" in shown(question) for question in ran.asks("step")]
    assert told == [False] * (len(told) - 1) + [True]
    assert ran.roles[-1] == "reasoner", "and the call that is kept asks for the answer"
    assert ran.result.answer == "2*3*4*1"


# ── What the bandit does with it inside an episode ───────────────────────────────────────────


def scores_of(ran: Ran[Any], at: int) -> dict[str, float]:
    return dict(ran.of(StrategyChosen)[at].scores)


def steady(*ratings: float, **values: Any) -> Ran[Any]:
    """Four rounds whose reports all read the same."""
    settings = paper(strategies="fixed", **values)
    return episode(model(4, judge=rated(*ratings), report=lambda at: SAME), settings)


def test_a_reward_counts_within_its_own_episode() -> None:
    low, high = steady(0.5, 0.1, 0.1, 0.1), steady(0.5, 0.9, 0.9, 0.9)
    assert scores_of(low, 0) == scores_of(high, 0), "nobody was credited yet"
    arm = low.of(StrategyChosen)[0].arm or ""
    assert scores_of(low, 1)[arm] < scores_of(high, 1)[arm]


def test_frozen_arms_are_credited_nothing_within_an_episode() -> None:
    ran = steady(0.5, 0.9, 0.9, 0.9, updates="frozen")
    assert scores_of(ran, 0) == scores_of(ran, 1) == scores_of(ran, 2)


def test_what_is_kept_as_context_is_the_report_and_no_proposal() -> None:
    ran = episode(model(4, note=other))
    vectors = {text: pack(as_kept(hashed(text))) for _, ask in ran.asked
               if isinstance(ask, Embed) for text in ask.texts}  # fmt: skip
    left = summary(ran)
    assert [pull[1] for pull in left["pulls"]] == [
        vectors[reported(f"attempt {at}")] for at in (1, 2, 3)
    ]
    assert [each["vector"] for each in left["proposals"]] == [
        vectors[each["text"]] for each in left["proposals"]
    ]
    texts = META_REASONER.measured_texts
    assert callable(texts)


def test_dynamic_episodes_begin_with_the_arms_that_were_learned() -> None:
    ran = episode(model(2, report=lambda at: SAME), memory=known(learned("a4", 0.9, pulls=3)))
    [chosen] = ran.of(StrategyChosen)
    assert [arm for arm, _ in chosen.scores][:4] == ["a1", "a2", "a3", "a4"]
    assert max(chosen.scores, key=lambda score: score[1])[0] == "a4"


@pytest.mark.parametrize(("retire_on", "stays"), [("reward", False), ("progress", True)])
def test_an_arm_retires_within_an_episode_by_what_retirement_looks_at(
    retire_on: str, stays: bool
) -> None:
    """Steps cost so much that R is below the bar where S_p is far above it."""
    settings = paper(retire_on=retire_on, step_cost=1.0, strategies="fixed")
    memory = known(learned("a4", 0.9, pulls=2, rating=0.31))
    ran = episode(
        model(4, judge=lambda at: judged(0.6, 0.6), report=lambda at: SAME), settings, memory=memory
    )
    assert ran.of(StrategyChosen)[0].arm == "a4"
    assert ("a4" in scores_of(ran, 1)) is stays


def test_arms_that_a_person_retired_are_not_chosen_and_restored_ones_outlive_their_rewards() -> (
    None
):
    best = replace(learned("a4", 0.9, pulls=3), word="retired", retired=True)
    ran = episode(model(2, report=lambda at: SAME), memory=known(best))
    assert "a4" not in scores_of(ran, 0)
    poor = replace(learned("a4", 0.05, pulls=3), word="restored")
    again = episode(
        model(4, judge=rated(*[0.0] * 4), report=lambda at: SAME),
        paper(strategies="fixed", exploration=0.0),
        memory=known(poor),
    )
    assert all("a4" in scores_of(again, at) for at in range(3))


def test_the_arm_that_the_model_names_is_chosen() -> None:
    def picks(question: Complete) -> str:
        if question.role == "meta_reasoner":
            return "Reflection: r\nStrategy: a2"
        return said(question)

    said = model(3)
    ran = episode(picks, paper(choice="direct"))
    assert [fact.arm for fact in ran.of(StrategyChosen)] == ["a2", "a2"]
    assert all(each.startswith("Go back to the step") for each in advice_of(ran)[1:])


def test_the_window_is_a_setting() -> None:
    sizes: Sequence[int] = [
        META_REASONER.window(META_REASONER.resolve("paper", values), 500)
        for values in ({}, {"window": 1}, {"window": 25})
    ]
    assert sizes == [10, 1, 25]
    with pytest.raises(ValueError, match="window"):
        META_REASONER.resolve("service", {"window": 0})
    assert TASK.problem
