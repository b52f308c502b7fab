"""LinUCB against a plain reference and against MABWiser: 1 000 rounds, 5 arms, to 1e-9."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from handlers.learning.linucb import LinUcb

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
