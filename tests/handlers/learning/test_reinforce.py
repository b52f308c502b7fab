"""Relevance, draws and steps in a small graph, figure by figure."""

from __future__ import annotations

from math import exp, sqrt

import pytest

from handlers.learning.reinforce import (
    Active,
    advantages,
    best,
    clipped_loss,
    drawn,
    gradient,
    learn_pair,
    propagated,
    relevance,
    softmax,
    stepped,
)

GRAPH = Active(
    {"q": 0.8, "r": 0.5},
    {("q", "t"): 0.5, ("r", "u"): 2.0, ("gone", "u"): 9.0},
    {("t", "m"): 1.0, ("u", "m"): 0.5, ("u", "n"): -1.0, ("lost", "n"): 9.0},
)


def test_only_what_is_active_flows() -> None:
    assert GRAPH.flow() == {"t": 0.4, "u": 1.0}
    assert relevance(GRAPH) == pytest.approx({"m": 0.9, "n": -1.0})
    assert relevance(GRAPH.without({"n"})) == pytest.approx({"m": 0.9})
    assert GRAPH.without(()).to_principle == GRAPH.to_principle
    assert GRAPH.without({"m"}).similar == GRAPH.similar
    halved = propagated({"t": 0.4}, GRAPH.to_principle, lambda x: x / 2)
    assert halved == {"m": 0.2}


def test_shares_add_up_to_one_however_large_the_scores() -> None:
    assert softmax({}) == {}
    assert softmax({"a": 1_000.0, "b": 1_000.0}) == {"a": 0.5, "b": 0.5}
    shares = softmax({"a": 1.0, "b": 0.0})
    assert shares["a"] == pytest.approx(1 / (1 + exp(-1)))
    assert sum(softmax({"a": -5.0, "b": 3.0, "c": 0.5}).values()) == pytest.approx(1)


def test_the_best_come_first_and_what_agrees_to_nine_digits_by_name() -> None:
    scores = {"c": 0.5, "b": 0.5 + 1e-12, "a": 0.1, "d": 0.9}
    assert best(scores, 3) == ["d", "b", "c"]
    assert best({"b": 0.5, "a": 0.5 + 1e-8}, 2) == ["a", "b"]
    assert best({"b": 0.5 + 1e-8, "a": 0.5}, 1) == ["b"]
    assert best(scores, 0) == []


@pytest.mark.parametrize(
    ("chance", "name"),
    [(0.0, "a"), (0.24, "a"), (0.25, "c"), (0.74, "c"), (0.75, "d"), (0.9999, "d")],
)
def test_a_number_falls_on_a_name_in_their_order(chance: float, name: str) -> None:
    assert drawn({"d": 0.2, "a": 0.25, "c": 0.5}, chance) == name


def test_slopes_and_steps_by_hand() -> None:
    share = softmax(relevance(GRAPH))
    slopes = gradient(GRAPH, "m")
    lack = {"m": 1 - share["m"], "n": -share["n"]}
    assert slopes.to_principle == pytest.approx(
        {("t", "m"): 0.4 * lack["m"], ("u", "m"): lack["m"], ("u", "n"): lack["n"]}
    )
    assert slopes.to_path == pytest.approx(
        {("q", "t"): 0.8 * lack["m"], ("r", "u"): 0.5 * (0.5 * lack["m"] - lack["n"])}
    )
    moved = learn_pair(GRAPH, "m", 0.5, 0.1)
    assert moved.similar == GRAPH.similar
    for edge, weight in GRAPH.to_path.items():
        assert moved.to_path[edge] == pytest.approx(weight + 0.05 * slopes.to_path.get(edge, 0))
    for edge, weight in GRAPH.to_principle.items():
        step = 0.05 * slopes.to_principle.get(edge, 0)
        assert moved.to_principle[edge] == pytest.approx(weight + step)
    still = stepped(GRAPH.to_path, slopes.to_path, 0.1, 0)
    assert still == GRAPH.to_path
    assert still is not GRAPH.to_path


def test_advantages_are_in_deviations_and_nothing_where_all_are_equal() -> None:
    assert advantages([1.0, 1.0, 1.0]) == [0.0, 0.0, 0.0]
    assert advantages([1.0, 0.0, 0.5, 0.5]) == pytest.approx([sqrt(2), -sqrt(2), 0.0, 0.0])


@pytest.mark.parametrize("reward", [each / 30 for each in range(31)])
def test_equal_parts_of_an_answer_are_nobody_s_advantage(reward: float) -> None:
    for size in range(2, 17):
        assert advantages([reward] * size) == [0.0] * size
    near = 2 * reward * 0.7 / (0.7 + 0.7)
    assert advantages([reward, near, reward]) == [0.0] * 3, "the same, but for its last bit"


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [(1.5, 2.0, -2.4), (0.5, 2.0, -1.0), (1.5, -2.0, 3.0), (0.5, -2.0, 1.6), (1.0, 0.5, -0.5)],
)
def test_a_clipped_loss_by_hand(ratio: float, advantage: float, loss: float) -> None:
    assert clipped_loss(ratio, advantage) == pytest.approx(loss)
    assert clipped_loss(2.0, 1.0, 0.5) == -1.5
