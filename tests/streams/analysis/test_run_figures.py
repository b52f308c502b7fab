"""All figures of a run of a few episodes, batches as they are drawn, and the side runs of its prunes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.events.base import Event
from schemas.events.episode import Completed
from schemas.events.search import NodePruned
from schemas.events.strategy import RewardJudged, StrategyChosen
from schemas.problem import Limits
from schemas.usage import Usage
from state.folds.grades import Known, Word
from streams.core.grants import NO_GRANT
from streams.replay.change import Change
from streams.research.analysis import shadow as shadowing
from streams.research.analysis.cases import Case
from streams.research.analysis.figures import (
    analysis,
    confidences,
    judge_figures,
    outcomes,
    run_figures,
)
from streams.research.analysis.intervals import mean_interval, share_interval, wilson
from streams.research.analysis.plots import Plot
from streams.research.analysis.progress import SHOWN, Batch, figures, picture
from streams.research.analysis.rewards import reward_plot
from streams.research.analysis.verdicts import Verdict
from tests.streams.bench.worlds import OPENED, ReadOnce, case, grown

# ── A run ────────────────────────────────────────────────────────────────────────────────────


def reply(role: str) -> Completed:
    return Completed(asked=f"Complete {role} x", text="t", finish="stop", model="m")


def put(
    name: str,
    outcome: Any = "unknown",
    events: Sequence[Event] = (),
    *,
    said: float | None = None,
    calibrated: float | None = None,
    tokens: int | None = None,
    calls: int = 1,
    source: str = "stated",
    opened: dict[str, Any] | None = None,
    **closed: Any,
) -> Case:
    usage = Usage(
        calls=calls, prompt_tokens=tokens, completion_tokens=None if tokens is None else 0
    )
    given: dict[str, Any] = {
        "confidence": said,
        "confidence_source": None if said is None else source,
    }
    made = case(name, outcome, events, usage=usage, **given, **closed)
    began: dict[str, Any] = {"policy": "cot", "policy_version": "7", **(opened or {})}
    opening: Any = SimpleNamespace(**(vars(OPENED) | began))
    return replace(made, opened=opening, calibrated=calibrated)


def undecided(name: str, said: Any = None, by: str = "a@1", **more: Any) -> Case:
    """An answer that a grader could not tell of, and what a judge said."""
    made = put(name, **more)
    known = Known(feedback=Word("unknown", "exact@2", person=False))
    return replace(made, known=known, verdict=said and Verdict(said, by, "m", "q/1"))


def test_every_figure_of_a_run() -> None:
    cases = [
        put("a", "right", [reply("reasoner"), reply("oracle")], said=0.9, tokens=100, calls=3),
        put("b", "wrong", [reply("reasoner")], said=0.2, ended_by="budget", status="failed"),
        put("c", "withheld", [reply("planner")], tokens=200, ended_by="budget"),
        put("d", said=0.5, tokens=300),
        undecided("e", calls=5),
    ]
    found = run_figures(cases, cases, lambda _: ())
    stated = found.pop("confidence")
    assert found == {
        "policy": "cot@7",
        "profile": "service",
        "settings": {},
        "call_limit": None,
        "backbones": "m",
        "problems": 5,
        "right": 1,
        "commission": 1,
        "omission": 1,
        "unknown": 2,
        "undecided": 1,
        "not_graded": 1,
        "by_person": 0,
        "graded": 3,
        "coverage": 0.6,
        "failed": 1,
        "accuracy": pytest.approx(1 / 3),
        "accuracy_interval": pytest.approx(list(wilson(1 / 3, 3))),
        "ended_by": {"answered": 3, "budget": 2},
        "mean_calls": 11 / 5,
        "max_calls": 5,
        "mean_tokens": 200,
        "tokens_unknown": 2,
        "points_per_1k_tokens": pytest.approx(1_000 * 50 / 150),
        "points_per_1k_tokens_of": 2,
        "calls_by_column": {
            "generation": 3, "evaluation": 1, "verify": 0, "repair": 0, "selection": 0, "fallback": 0,
        },
        "calls_by_role": {"reasoner": 2, "oracle": 1, "planner": 1},
    }  # fmt: skip
    assert list(stated) == ["stated"]
    assert (stated["stated"]["answers"], stated["stated"]["left_out"]) == (2, 1)


def test_a_run_that_nobody_graded_has_no_accuracy() -> None:
    found = outcomes([put("a")])
    assert (found["accuracy"], found["accuracy_interval"], found["coverage"]) == (None, None, 0.0)
    person = Known(verdict=Word("right", "ada", person=True))
    assert outcomes([replace(put("a"), known=person), put("b", "right")])["by_person"] == 1
    assert outcomes([])["coverage"] is None


def test_confidence_is_measured_by_source_raw_beside_calibrated() -> None:
    cases = [
        put("d", "right", said=0.5, calibrated=0.75),
        put("c", "wrong", said=0.5, calibrated=0.75),
        put("a", "right", said=0.75, calibrated=0.5),
        put("b", "right", said=0.75),
        put("e", "wrong", said=1.0, source="votes"),
        put("f", said=0.5),
        put("g", "withheld", said=0.5),
        put("h", said=0.5, source="votes"),
        put("i", "right"),
    ]
    found = confidences(cases)
    same = "stated, of the calibrated ones"
    assert list(found) == ["stated", "stated, calibrated", same, "votes"]
    assert [found[each]["answers"] for each in found] == [4, 3, 3, 1]
    left_out = [found[each]["left_out"] for each in found]
    assert left_out == [1, 1, 1, 1], "a withheld one lacks no grade"
    # Calibrated beside raw is a comparison only over the same answers: the first had no calibrator yet.
    assert found[same]["brier"] == pytest.approx((0.0625 + 0.25 + 0.25) / 3)
    assert list(confidences(cases[:3])) == ["stated", "stated, calibrated"], "all were calibrated"
    raw = found["stated"]
    assert raw["ece"] == pytest.approx(0.5 * 0.25 + 0.0 * 0.5)
    assert raw["brier"] == pytest.approx((0.0625 * 2 + 0.25 * 2) / 4)
    assert raw["selective_accuracy"] == {
        "0.25": 1.0,
        "0.5": 1.0,
        "0.75": pytest.approx(2 / 3),
        "1": 0.75,
    }
    assert raw["risk_coverage"] == [
        [0.25, 0.0],
        [0.5, 0.0],
        [0.75, pytest.approx(1 / 3)],
        [1.0, 0.25],
    ]
    bins = [each for each in raw["bins"] if each[0]]
    assert bins == [[2, 0.5, 0.5], [2, 0.75, 1.0]]
    assert raw["ece_interval"] is not None
    assert found["stated, calibrated"]["brier"] == pytest.approx((0.0625 + 0.5625 + 0.25) / 3)
    assert (found["votes"]["ece"], found["votes"]["brier_interval"]) == (1.0, None)


def test_a_judge_fills_in_where_no_grader_could_decide_and_replaces_nobody() -> None:
    graded = replace(put("a", "wrong"), verdict=Verdict("right", "z@1", "m", "q/9"))
    cases = [
        graded,
        put("b", "right"),
        undecided("c", "right", "b@1"),
        undecided("d", "wrong"),
        undecided("e", "unclear"),
        undecided("f"),
        put("g"),
        put("h", "withheld"),
    ]
    assert judge_figures(cases) == {
        "right": 1,
        "wrong": 1,
        "unclear": 1,
        "accuracy": 2 / 5,
        "coverage": 5 / 8,
        "by": ["a@1, m", "b@1, m"],
    }
    unclear = judge_figures([undecided("e", "unclear")])
    assert unclear is not None
    assert (unclear["accuracy"], unclear["coverage"]) == (None, 0.0)
    assert outcomes(cases)["judge"] == judge_figures(cases)
    assert "judge" not in outcomes(cases[:2])


def test_an_analysis_is_of_runs_by_name_and_of_scopes_with_more_than_one_batch() -> None:
    batch = Batch(1, (True,), (1,), (1,), 0)
    greedy = {"policy": "greedy", "policy_version": "1"}
    cases = [
        put("a", "right", tokens=300),
        put("a", "wrong", tokens=100, opened=greedy),
        put("b", "right", tokens=300, opened={"limits": Limits(calls=8)}),
        put("b", "wrong", tokens=100, opened=greedy),
    ]
    made = analysis(cases, cases, lambda _: (), {"s": [batch, batch], "t": [batch]})
    assert (made["episodes"], made["simulated"], list(made["learning"])) == (4, False, ["s"])
    assert list(made["runs"]) == ["cot", "greedy", "cot C=8"]
    assert [each["problems"] for each in made["runs"].values()] == [1, 2, 1]
    assert [each["tokens_per_point"] for each in made["runs"].values()] == [2.0, None, 2.0]
    assert [each["tokens_per_point_of"] for each in made["runs"].values()] == [1, 2, 1]
    assert made["runs"]["cot"]["tokens_per_point_interval"] is None
    alone = analysis(cases[:1], cases, lambda _: ())["runs"]["cot"]
    assert (alone["tokens_per_point"], alone["tokens_per_point_of"]) == (None, 0)
    simulated = put("a", opened={"backbones": "rehearsal (SIMULATED)"})
    assert analysis([cases[0], simulated], [], lambda _: ())["simulated"]


def test_models_limits_and_passes_are_runs_of_their_own() -> None:
    def of(name: str, series: str | None = None, **opened: Any) -> Case:
        made = put(name, "right", opened=opened)
        return replace(made, problem=made.problem.model_copy(update={"series": series}))

    def names(*cases: Case) -> dict[str, int]:
        made = analysis(cases, cases, lambda _: ())["runs"]
        return {name: each["problems"] for name, each in made.items()}

    one, two = (f"m{'0' * 12}.{walk}" for walk in (1, 2))
    assert names(of("a", one), of("b", one), of("a", two)) == {"cot, pass 1": 2, "cot, pass 2": 1}
    assert names(of("a"), of("a", backbones="n")) == {"cot, m": 1, "cot, n": 1}
    assert names(of("a", "mine.1"), of("a", "mine.2")) == {"cot": 2}, "a name that a person chose"
    bound = of("a", limits=Limits(tokens=50, cost=0.5))
    assert names(of("a"), bound) == {"cot": 1, "cot tokens=50 cost=0.5": 1}


def test_only_a_search_has_figures_of_a_tree_and_only_rewarded_rounds_a_reward() -> None:
    searched = put("a", "right", grown(("1.0.0", "x", 0.5)), opened={"policy": "cot2_meta"})
    found = run_figures([searched], [searched], lambda _: ())
    assert found["flow"] == {"correct": 1}
    assert "rewards" not in found
    rounds: list[Event] = []
    for at, reward in enumerate((0.1, None, 0.2), 1):
        rounds.append(StrategyChosen(round=at, arm=f"a{at % 2}", how="ucb"))
        rounds.append(RewardJudged(round=at, arm=f"a{at % 2}", reward=reward, steps=1, source="1"))
    found = run_figures([put("b", "right", rounds)], [], lambda _: ())
    assert found["rewards"] == {
        "judged": 2,
        "unknown": 1,
        "mean_reward": pytest.approx(0.15),
        "strategies": 2,
        "cumulative_reward": [0.1, 0.3],
    }
    assert "flow" not in found
    assert reward_plot({"run": found, "none": {}}) == Plot(
        "cumulative reward by round", {"run": [[1.0, 0.1], [2.0, 0.3]]}, "round",
        "cumulative reward", dots=False,
    )  # fmt: skip


# ── Batch by batch ───────────────────────────────────────────────────────────────────────────


def test_a_batch_has_the_means_of_what_is_known_of_its_members() -> None:
    [found] = figures(
        [Batch(7, (True, None, False, True), (1, 2, 3, 6), (100, None, 200, None), 9)]
    )
    accuracy, calls, tokens = (
        share_interval([(1.0, 1), (0.0, 1), (1.0, 1)]),
        mean_interval([(1.0, 1), (2.0, 1), (3.0, 1), (6.0, 1)]),
        mean_interval([(100.0, 1), (200.0, 1)]),
    )
    assert found == {
        "batch": 7,
        "members": 4,
        "graded": 3,
        "right": 2,
        "tokens_unknown": 2,
        "lessons": 9,
        "accuracy": 2 / 3,
        "accuracy_interval": list(accuracy or ()),
        "calls": 3.0,
        "calls_interval": list(calls or ()),
        "tokens": 150.0,
        "tokens_interval": list(tokens or ()),
    }


def test_a_picture_has_four_panels_whose_numbers_are_short() -> None:
    first = Batch(1, (True, False, None), (1, 2, 3), (900, 1100, 1000), 1200)
    found = figures([first, Batch(2, (True,), (250,), (12_345,), 0)])
    shown = picture("scope", found)
    accuracy, calls, tokens, lessons = shown.panels
    low, high = found[0]["accuracy_interval"]
    assert accuracy.points[0] == pytest.approx((1.0, 50.0, 100 * low, 100 * high))
    assert (accuracy.numbers, accuracy.most, accuracy.bars) == (("50", "100"), 100.0, False)
    assert calls.points[0] == pytest.approx((1.0, 2.0, *found[0]["calls_interval"]))
    assert calls.points[1] == (2.0, 250.0), "of one member there is no interval"
    assert (calls.numbers, calls.most) == (("2", "250"), None)
    assert tokens.numbers == ("1.0k", "12k")
    assert (lessons.points, lessons.numbers, lessons.bars) == (
        ((1.5, 1200.0), (2.5, 0.0)),
        ("1,200", "0"),
        True,
    )
    assert [each.y for each in shown.panels] == [
        "right answers in %, with 95 % intervals",
        "calls a problem",
        "tokens a problem",
        "lessons that it left, which serve from the next batch on",
    ]
    assert (shown.title, shown.x) == ("scope", "batch")
    assert shown.told == (
        "scope. Accuracy, calls and tokens a problem with 95 % intervals, and lessons, from "
        "batch 1: 1 of 2 right, 1 not graded, to batch 2: 1 of 1 right"
    )


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(1, 2, "1.5"), (2, 2, "2"), (99, 100, "99.5"), (100, 100, "100"), (100, 101, "100"), (999, 1000, "1000"),
     (1_000, 1_000, "1.0k"), (1_000, 1_001, "1.0k"), (9_999, 10_000, "10.0k"), (10_000, 10_000, "10k"),
     (10_000, 10_001, "10k"), (123_456, 123_457, "123k")],
)  # fmt: skip
def test_a_number_is_as_short_as_its_size_allows(low: int, high: int, said: str) -> None:
    """The mean of two members, of which nothing else is known."""
    panels = picture("s", figures([Batch(1, (None, None), (low, high), (None, None), 0)])).panels
    assert panels[1].numbers == (said,)
    assert panels[0].points == panels[2].points == ()


def test_the_newest_batches_are_drawn_and_their_axis_says_so() -> None:
    found = figures([Batch(at, (True,), (1,), (1,), at) for at in range(1, SHOWN + 2)])
    assert picture("s", found[1:]).x == "batch"
    shown = picture("s", found)
    assert shown.x == f"batch (the newest {SHOWN} of {SHOWN + 1})"
    assert [point[0] for point in shown.panels[0].points] == list(range(2, SHOWN + 2))
    assert "from batch 2: 1 of 1 right, to batch 61: 1 of 1 right" in shown.told


# ── Shadow runs ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "granted", "own"),
    [
        ({"primary_calls": 12}, None, 12),
        ({"primary_calls": 12}, 8, 8),
        ({}, 4, 4),
        ({"primary_calls": None}, 40, 40),
        ({"primary_calls": None}, None, 1_048_576),  # so many that no run comes near
    ],
)
def test_a_shadow_run_has_calls_of_its_own_beside_those_of_its_episode(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], granted: int | None, own: int
) -> None:
    changes: list[Any] = []

    def work(log: Any, find: Any, episode: str, change: Change, *by: Any) -> tuple[str, str]:
        changes.append((episode, change, by))
        return "work", "record"

    async def run(log: Any, work: str, change: Change, record: str, world: Any) -> str:
        assert (work, record) == ("work", "record")
        return f"{change.at} without pruning"

    read = ReadOnce(monkeypatch, shadowing)
    monkeypatch.setattr(shadowing, "forked_work", work)
    monkeypatch.setattr(shadowing, "run_fork", run)
    pruned = [NodePruned(round=1, node=f"1.{at}.0", value=0.1) for at in range(2)]
    made = put("a", "wrong", [reply("thinker"), *pruned], opened={"limits": Limits(calls=granted)})
    # Of a search that another backbone answered, that one is asked.
    values = {**settings, "fallback_samples": 3, "backbone": "mini"}
    problem = made.problem.model_copy(update={"settings": values})
    world: Any = SimpleNamespace(offered={"mini": "m"})
    log: Any = None
    cases = [replace(made, problem=problem), put("b", "wrong", [reply("thinker")])]
    found: Any = asyncio.run(shadowing.audit(log, cases, world))
    assert found == ["2.0.0 without pruning", "3.0.0 without pruning"]
    assert read.times == 1
    assert changes == [
        (
            "p/d/a/0",
            Change(
                at=at,
                settings={"shadow_from": node, "primary_calls": own, "backbone": "mini"},
                limits=Limits(calls=2 * own + 3),
            ),
            (world, "learned", NO_GRANT),
        )
        for at, node in (("2.0.0", "1.0.0"), ("3.0.0", "1.1.0"))
    ]


def test_not_all_prunes_of_many_episodes_run_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[int] = []
    most: list[int] = []

    ReadOnce(monkeypatch, shadowing)

    async def shadow(log: Any, case: Case, at: str, node: str, *_: Any) -> str:
        running.append(1)
        most.append(len(running))
        await asyncio.sleep(0)
        running.pop()
        return f"{case.problem.id} {node}"

    monkeypatch.setattr(shadowing, "shadow", shadow)
    pruned = [NodePruned(round=1, node=f"1.{at}.0", value=0.1) for at in range(10)]
    cases = [put("a", "wrong", pruned), put("b", "wrong", pruned)]
    nothing: Any = None
    found: Any = asyncio.run(shadowing.audit(nothing, cases, nothing))
    assert found == [f"{name} 1.{at}.0" for name in "ab" for at in range(10)]
    assert max(most) == 8
