"""Settings that show only after many problems: each flipped in an episode over a memory made for it."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.learning.measured import Measured
from handlers.learning.rules import learned_after
from handlers.policies.base import Conclusion, Task
from handlers.policies.graph_memory import GRAPH_MEMORY, GraphSettings
from handlers.policies.mgv.settings import MgvSettings, rule_constants
from schemas.events.graph import ExperienceShown
from schemas.events.monitoring import Allocated, StrategyMatched, ThresholdsSet
from schemas.memory import Memory
from tests.papers import gm_says, mr_says
from tests.papers.cot2_says import thought
from tests.papers.mgv_says import (
    PROBLEM,
    Model,
    acquisition,
    belief,
    case,
    episode,
    felt,
    flavell,
    reflected,
    remembering,
)
from tests.papers.test_graph_says import ANSWER, left, search, searched
from tests.papers.test_mr_guides import SAME, known, learned, scores_of
from tests.papers.test_search_baselines import solve
from tests.scripted import Ran, run

# ── MGV ──────────────────────────────────────────────────────────────────────────────────────

LONG = (
    "If a train of 9 wagons, each with 4 doors, leaves at 8 and 3 doors stay shut, how many open?"
)


@pytest.mark.parametrize(("of", "experience"), [
    (flavell, "difficulty"), (acquisition, "EOL"),
])  # fmt: skip
def test_a_percentile_is_taken_among_so_many_cases_and_no_fewer(of: Any, experience: str) -> None:
    """Before that a problem looks middling; the twelve that are known are all shorter."""
    memory = remembering(*(case(f"c{at}", "unknown", problem="Add 1.") for at in range(12)))
    for each in memory.learned["cases"]:
        each["features"] = [2, 1, 1]
    task = Task("r1", LONG, "stories", seed=7)
    looks = [
        felt(episode(of(min_cases=least, signal="feel"), Model(), memory=memory, task=task, calls=4),
             experience)[0]
        for least in (12, 13)
    ]  # fmt: skip
    assert looks[0] != looks[1]


def test_acquisition_raises_its_norm_once_so_many_labels_allow_it_and_by_no_more_than_is_set() -> (
    None
):
    wrong = remembering(*(case(f"c{at}", "wrong") for at in range(6)))

    def norm(**values: Any) -> float:
        ran = episode(acquisition(**values), Model(), memory=wrong, calls=6)
        return ran.of(ThresholdsSet)[0].confidence or 0.0

    assert norm(min_labels=6) == pytest.approx(0.9 * 1.3)
    assert norm(min_labels=7) == pytest.approx(0.9 * 1.1), "too few: what is usual"
    assert norm(max_retention=0.5) == pytest.approx(0.9 * 1.5)


def test_without_a_limit_a_member_has_the_calls_that_are_set() -> None:
    for calls in (6, 15):
        ran = episode(acquisition(member_calls=calls, max_rounds=1), Model())
        assert [each.total for each in ran.of(Allocated)] == [calls]


def after_failures(settings: MgvSettings) -> Memory:
    """What two problems leave that went wrong under the strategy that comes first; another failed thrice."""
    ran = episode(settings, Model(["95"], [0.9]), calls=2)
    members = [
        Measured(f"p/{at}", "wrong", reflected(ran, settings), PROBLEM, "95", 2) for at in range(2)
    ]
    other: dict[str, Any] = {
        "cases": [],
        "beliefs": belief("plain", "decompose", 0, 3),
        "words": {},
    }
    constants = rule_constants(settings)
    return Memory("s", 1, (), learned_after("beliefs@1", other, members, constants, ()))


def test_acquisition_turns_from_a_strategy_that_failed_so_often_and_so_clearly() -> None:
    def first(**values: Any) -> str:
        settings = acquisition(max_rounds=1, signal="feel", **values)
        ran = episode(settings, Model(), memory=after_failures(settings), calls=12)
        return ran.of(StrategyMatched)[0].strategy

    assert first(retire_trials=9, retire_below=0.3) == "direct", "1/4 is more than 1/5"
    assert first(retire_trials=2, retire_below=0.3) == "decompose"
    assert first(retire_trials=2, retire_below=0.2) == "direct"


# ── Meta-Reasoner ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "stays"),
    [({}, False), ({"retire_after": 4}, True), ({"retire_below": 0.1}, True)],
)
def test_an_arm_retires_after_so_many_pulls_below_such_a_mean(
    values: dict[str, Any], stays: bool
) -> None:
    settings = mr_says.paper(step_cost=1.0, strategies="fixed", **values)
    ran = mr_says.episode(
        mr_says.model(4, judge=lambda at: mr_says.judged(0.6, 0.6), report=lambda at: SAME),
        settings,
        memory=known(learned("a4", 0.9, pulls=2, rating=0.31)),
    )
    assert "a4" in scores_of(ran, 0)
    assert ("a4" in scores_of(ran, 1)) is stays


# ── Graph memory ─────────────────────────────────────────────────────────────────────────────


def used(memory: Memory, problem: str = gm_says.PROBLEM, **values: Any) -> ExperienceShown:
    """What principles a problem is shown, and how relevant they are."""
    settings = GraphSettings.resolve("paper", {"phase": "use", **values})
    task = Task("h1", problem, "qa", seed=7, memory_version=memory.number)
    ran: Ran[Conclusion] = run(GRAPH_MEMORY.solve(task, settings), [ANSWER], memory=memory)
    [shown] = ran.of(ExperienceShown)
    return shown


def test_cases_that_are_too_far_activate_nothing() -> None:
    memory = gm_says.remembering(
        {gm_says.NEAR: {gm_says.GOOD: "right"}, gm_says.FAR: {gm_says.OTHER: "right"}},
        {gm_says.GOOD: {"m1": 1.0}, gm_says.OTHER: {"m2": 1.0}},
    )
    assert set(used(memory).items) == {"m1", "m2"}
    assert used(memory, relevance_floor=0.7).items == ("m1",)


def test_a_new_edge_weighs_what_is_set() -> None:
    """One path, one principle: how relevant it is at first is the product of its edges."""
    before = gm_says.remembering({gm_says.PROBLEM: {gm_says.BAD: "wrong"}}, {})
    made = gm_says.learning(
        gm_says.member("right"), script=[gm_says.principle()], memory=before, neighbours=1
    )
    scores = [
        used(gm_says.remembered(made, before, initial_weight=weight), gm_says.NEAR).scores[0]
        for weight in (1.0, 2.0)
    ]
    assert scores[0] < scores[1]


def test_a_cycle_that_repeats_makes_another_path_only_where_cycles_are_kept() -> None:
    found = {name: f"{name}." for name in "abc"}
    ran = searched(*map(search, "abc"), ANSWER, results=found)
    collapsed, kept = (
        left(ran, "service", path_cycles=how)["path"] for how in ("collapse", "keep")
    )
    assert collapsed == "GS SP KG TS IA SP TS IA SY AN", "as of two searches"
    assert kept == "GS SP KG TS IA SP TS IA SP TS IA SY AN"


# ── Baselines ────────────────────────────────────────────────────────────────────────────────


def test_exploration_turns_to_what_was_seldom_visited() -> None:
    """b and what is below it are worth .6 over four visits, c is worth .5 over one."""
    script = {
        "thinker": [thought(name) for name in "abcdefghi"],
        "judge": [f"Value: {v}" for v in (0.3, 0.6, 0.5, 0.6, 0.6, 0.6, 0.2, 0.2, 0.2)],
        "reasoner": [r"\boxed{7}"],
    }
    third = {
        exploration: dict(
            solve("rest_mcts", script, primary_calls=18, exploration=exploration)
            .asks("thinker")[6]
            .variables
        )["trajectory"]
        for exploration in (0.0, 0.7)
    }
    assert third == {0.0: "[Step 1]\nb\n\n[Step 2]\nd", 0.7: "[Step 1]\nc"}
