"""`analyse` prints what recipes print: the same figures with the same intervals, and of how many they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.events.base import Event
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.outcome import Outcome
from schemas.usage import Usage
from streams.research.analysis.cases import Case
from streams.research.analysis.figures import analysis
from streams.research.analysis.report import html, markdown
from streams.research.bench.cells import ours
from streams.research.bench.metrics import METRICS
from streams.research.bench.recipe import TOKENS_PER_POINT, Place
from streams.research.bench.results import Results
from tests.streams.bench.test_cells import HERE, recipe
from tests.streams.bench.worlds import OPENED, case, episodes

SAME = {
    "ece": "ece_interval",
    "brier": "brier_interval",
    "aurc": "aurc_interval",
}
"""Figures of confidence, each beside its interval."""


def put(
    problem: str,
    outcome: Outcome,
    *,
    policy: str = "cot",
    tokens: int | None = 100,
    confidence: float | None = None,
    events: Sequence[Event] = (),
) -> Case:
    usage = Usage(calls=1, prompt_tokens=tokens, completion_tokens=None if tokens is None else 0)
    source = None if confidence is None else "stated"
    one = case(
        problem, outcome, events, usage=usage, confidence=confidence, confidence_source=source
    )
    opened: Any = SimpleNamespace(**(vars(OPENED) | {"policy": policy, "policy_version": "1"}))
    posed = one.problem.model_copy(update={"policy": policy})
    return replace(one, opened=opened, problem=posed)


def drawn(count: int) -> list[Case]:
    """Answers with confidence, of which some were graded and some cost nobody knows what."""
    draw = Random(7).random
    return [
        put(
            str(at),
            "right" if draw() < 0.4 else "wrong" if draw() < 0.8 else "unknown",
            tokens=None if draw() < 0.2 else int(900 * draw()),
            confidence=draw(),
        )
        for at in range(count)
    ]


def figures(cases: Sequence[Case]) -> dict[str, Any]:
    runs: dict[str, Any] = analysis(cases, cases, lambda _: ())["runs"]
    return runs


def test_an_analysis_prints_the_figures_of_recipes_with_their_intervals() -> None:
    """Its intervals of calibration were of a bootstrap, which knows nothing of what chance alone makes."""
    cases = drawn(60)
    run = figures(cases)["cot"]
    for name, interval in SAME.items():
        found = METRICS[name].found(cases)
        assert run["confidence"]["stated"][name] == found.value
        assert run["confidence"]["stated"][interval] == list(METRICS[name].between([found]) or ())
        assert found.unknown == run["confidence"]["stated"]["left_out"]
    for name, said, scale in (
        ("accuracy", "accuracy", 0.01),
        ("coverage", "coverage", 0.01),
        ("tokens", "mean_tokens", 1),
        ("calls", "mean_calls", 1),
        ("points_per_1k_tokens", "points_per_1k_tokens", 1),
    ):
        assert run[said] == pytest.approx(scale * (METRICS[name].of(cases) or 0)), name


def test_tokens_for_a_point_are_of_the_problems_that_both_runs_know() -> None:
    """Means of each run's own problems were taken off each other: half of a run printed another price."""
    mine = [put("a", "right", tokens=300), put("b", "right", tokens=300), put("c", "wrong")]
    base = [put("a", "wrong", policy="greedy"), put("b", "right", policy="greedy"),
            put("c", "unknown", policy="greedy"), put("d", "right", policy="greedy", tokens=9)]  # fmt: skip
    run = figures([*mine, *base])["cot"]
    assert (run["tokens_per_point"], run["tokens_per_point_of"]) == (200 / 50, 2)
    groups = {("a", "d"): episodes(*mine), ("b", "d"): episodes(*base)}
    place = Place(run="a", data="d", metric=TOKENS_PER_POINT, less=("b",))
    told: Any = ours(place, recipe("a", "b"), Results((), groups=groups), HERE)["ours"]
    assert (told["value"], told["known"]) == (run["tokens_per_point"], 2)
    assert figures(mine)["cot"]["tokens_per_point"] is None
    greedy = figures([*mine, *base])["greedy"]
    assert (greedy["tokens_per_point"], greedy["tokens_per_point_of"]) == (None, 3)


def test_each_figure_says_of_how_many_it_is_where_some_are_unknown() -> None:
    cases = [
        put("a", "right", confidence=0.9),
        put("b", "wrong", confidence=0.2),
        put("c", "unknown", confidence=0.8, tokens=None),
        put("d", "right", policy="greedy"),
    ]
    made = analysis(cases, cases, lambda _: ())
    page = markdown(made)
    row = next(line for line in page.splitlines() if line.startswith("| cot "))
    assert "| 50.0 % of 2 |" in row
    assert "| 100 of 2 | 0.150 of 2 | 0.250 of 2 |" in row
    assert "confidence (stated, claimed), 2 answers (1 not graded): ece 0.150 [" in page
    assert "points per 1K tokens 500.00 of 2; tokens per point over greedy –" in page
    assert "2 answers (1 not graded)" in html(made)
    whole = markdown(analysis(cases[:2], cases, lambda _: ()))
    assert " of 2 |" not in whole, "of all there is nothing to say"


def test_one_answer_has_a_figure_and_no_spread() -> None:
    made = analysis([put("a", "right", confidence=0.9)], (), lambda _: ())
    assert made["runs"]["cot"]["confidence"]["stated"]["brier_interval"] is None
    assert "brier 0.010;" in markdown(made)


def test_rewards_are_of_rounds_with_advice_as_in_recipes() -> None:
    """The first round's reward, which no strategy earned, was in the mean and in the curve."""
    events: list[Event] = [RewardJudged(round=0, reward=1.0, steps=1, source="1")]
    for at, reward in enumerate((0.25, 0.75, None), 1):
        events.append(StrategyChosen(round=at, arm="a1", how="ucb"))
        events.append(RewardJudged(round=at, arm="a1", reward=reward, steps=at, source="1"))
    cases = [put("a", "right", events=events), put("b", "wrong", events=events[:1])]
    rewards = figures(cases)["cot"]["rewards"]
    assert (rewards["judged"], rewards["unknown"], rewards["mean_reward"]) == (2, 1, 0.5)
    assert rewards["cumulative_reward"] == [0.25, 1.0]
    assert rewards["mean_reward"] == METRICS["reward"].of(cases)
    assert "rewards" not in figures(cases[1:])["cot"]
