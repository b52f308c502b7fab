"""LinUCB against a plain reference and against MABWiser: 1 000 rounds, 5 arms, to 1e-9."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from handlers.learning.linucb import (
    Dual,
    DualUcb,
    LinUcb,
    Ridge,
    kept,
    packed,
    restored,
    unpacked,
)

ARMS, DIMS, ROUNDS, RIDGE, EXPLORATION = 5, 8, 1_000, 1.0, 0.2

Choose = Callable[[Any], tuple[int, list[float]]]
Update = Callable[[Any, int, float], None]
Thetas = Callable[[], list[Any]]
Reference = tuple[Choose, Update, Thetas]


def contexts(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROUNDS, DIMS))
    x /= np.sqrt((x * x).sum(axis=1))[:, None]
    thetas = rng.normal(size=(ARMS, DIMS)) / DIMS
    return x, thetas, rng.normal(scale=0.1, size=ROUNDS)


def plain() -> Reference:
    """Every score from the definition: invert A in each round."""
    A = [RIDGE * np.eye(DIMS) for _ in range(ARMS)]
    b = [np.zeros(DIMS) for _ in range(ARMS)]

    def choose(x: Any) -> tuple[int, list[float]]:
        inverses = [np.linalg.inv(a) for a in A]
        scores = [
            float(x @ (inv @ v) + EXPLORATION * np.sqrt(x @ inv @ x))
            for inv, v in zip(inverses, b, strict=True)
        ]
        return int(np.argmax(np.round(scores, 9))), scores

    def update(x: Any, arm: int, reward: float) -> None:
        A[arm] += np.outer(x, x)
        b[arm] += reward * x

    return choose, update, lambda: [np.linalg.solve(a, v) for a, v in zip(A, b, strict=True)]


def mabwiser() -> Reference:
    """A well-kept implementation, one ``partial_fit`` a round."""
    module: Any = import_module("mabwiser.mab")  # untyped, and heavy: loaded by its test alone
    policy = module.LearningPolicy.LinUCB(alpha=EXPLORATION, l2_lambda=RIDGE)
    bandit = module.MAB(list(range(ARMS)), policy)
    bandit.fit([0], [0.0], np.zeros((1, DIMS)))

    def choose(x: Any) -> tuple[int, list[float]]:
        scores: Any = bandit.predict_expectations([x])
        values = [float(scores[arm]) for arm in range(ARMS)]
        return int(np.argmax(np.round(values, 9))), values

    def update(x: Any, arm: int, reward: float) -> None:
        bandit.partial_fit([arm], [reward], [x])

    return choose, update, lambda: [bandit._imp.arm_to_model[arm].beta for arm in range(ARMS)]


@pytest.mark.parametrize("reference", [plain, mabwiser])
def test_same_choices_scores_and_parameters(reference: Callable[[], Reference]) -> None:
    choose, update, thetas_of = reference()
    ours = LinUcb(DIMS, RIDGE, EXPLORATION)
    for _ in range(ARMS):
        ours.grow()
    x, thetas, noise = contexts(11)
    for at in range(ROUNDS):
        chosen, scores = choose(x[at])
        mine = ours.scores(x[at])
        assert mine == pytest.approx(scores, abs=1e-9)
        assert mine.index(max(mine)) == chosen
        reward = float((x[at] * thetas[chosen]).sum() + noise[at])
        update(x[at], chosen, reward)
        ours.add(chosen, x[at], reward)
    for arm, theta in zip(ours.arms, thetas_of(), strict=True):
        assert np.allclose(arm.theta, theta, rtol=0, atol=1e-9)


def test_regret_is_sublinear() -> None:
    """Regret of the last half is well below that of the first."""
    ours = LinUcb(DIMS, RIDGE, 1.0)
    for _ in range(ARMS):
        ours.grow()
    x, thetas, noise = contexts(12)
    thetas = thetas * DIMS
    regret: list[float] = []
    for at in range(ROUNDS):
        means = [float((x[at] * theta).sum()) for theta in thetas]
        scores = ours.scores(x[at])
        chosen = scores.index(max(scores))
        ours.add(chosen, x[at], means[chosen] + float(noise[at]))
        regret.append(max(means) - means[chosen])
    half = ROUNDS // 2
    assert sum(regret[half:]) < 0.25 * sum(regret[:half])


def unit_at(place: int, dims: int = 3) -> Any:
    return np.eye(dims)[place]


def test_a_regression_is_kept_to_the_bit() -> None:
    arm = Ridge(3, 2.0)
    assert arm.inverse.tolist() == (np.eye(3) / 2).tolist()
    arm.add(np.array([1.0, 2.0, 0.5]), 0.25)
    again = restored(*kept(arm))
    assert again.inverse.tolist() == arm.inverse.tolist()
    assert again.b.tolist() == arm.b.tolist() == [0.25, 0.5, 0.125]
    assert len(unpacked(kept(arm)[0])) == 6
    assert unpacked(packed(np.array([1.5, -2.0]))).tolist() == [1.5, -2.0]
    with pytest.raises(ValueError, match=r"base64|padding|Non-base64"):
        unpacked("?")


@pytest.mark.parametrize("dims", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("form", [LinUcb, DualUcb])
def test_arms_come_go_and_are_credited_each_for_itself(
    dims: int, form: type[LinUcb] | type[DualUcb]
) -> None:
    ours = form(dims, 2.0, 0.5)
    assert [ours.grow() for _ in range(3)] == [0, 1, 2]
    x = unit_at(0, dims)
    fresh = 0.5 * 0.5**0.5
    assert ours.scores(x) == pytest.approx([fresh] * 3, abs=1e-9)
    ours.add(1, x, 1.0)
    ours.add(2, x, -1.0)
    pulled = 0.5 * (1 / 3) ** 0.5
    assert ours.scores(x) == pytest.approx([fresh, 1 / 3 + pulled, pulled - 1 / 3], abs=1e-9)
    assert ours.scores(x) == [round(score, 9) for score in ours.scores(x)]
    if dims > 1:
        assert ours.scores(unit_at(1, dims)) == pytest.approx([fresh] * 3, abs=1e-9)
    ours.drop(1)
    assert ours.scores(x) == pytest.approx([fresh, pulled - 1 / 3], abs=1e-9)
    assert ours.grow() == 2
    ours.add(2, x, 1.0)
    assert ours.scores(x) == pytest.approx([fresh, pulled - 1 / 3, 1 / 3 + pulled], abs=1e-9)
    assert len(ours.arms) == 3


def test_an_arm_that_is_known_elsewhere_is_not_changed_there() -> None:
    x, known = unit_at(0), Dual(3, 1.0)
    known.add(x, 1.0)
    before = known.score(x, 0.5)
    one = DualUcb(3, 1.0, 0.5)
    one.grow(known)
    assert one.scores(x) == [before]
    assert one.arms[0] is known
    one.add(0, x, 1.0)
    assert known.score(x, 0.5) == before
    assert known.count == 1
    assert one.arms[0].count == 2
    assert one.scores(x) == pytest.approx([2 / 3 + 0.5 * (1 / 3) ** 0.5], abs=1e-9)
    mine = one.arms[0]
    one.add(0, x, 1.0)
    assert one.arms[0] is mine, "copied once"


@pytest.mark.parametrize("count", [1, 15, 16, 17, 40])
def test_by_pulls_and_by_matrix_scores_are_the_same(count: int) -> None:
    rng = np.random.default_rng(count)
    one, other = Dual(5, 0.5), LinUcb(5, 0.5, 0.3)
    other.grow()
    for _ in range(count):
        x, reward = rng.normal(size=5), float(rng.normal())
        one.add(x, reward)
        other.add(0, x, reward)
    for _ in range(3):
        x = rng.normal(size=5)
        assert one.score(x, 0.3) == pytest.approx(other.scores(x)[0], abs=1e-7)
        assert one.copy().score(x, 0.3) == one.score(x, 0.3)
