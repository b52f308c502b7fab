"""Graph memory: relevance, its gradient against finite differences, pairs, and the clipped objective."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning.reinforce import (
    Active,
    Edge,
    advantages,
    best,
    clipped_loss,
    drawn,
    gradient,
    learn_pair,
    propagated,
    relevance,
    softmax,
)
from schemas.identity import hash01

HAND = Active(
    {"q1": 0.8, "q2": 0.5},
    {("q1", "t1"): 1.0, ("q1", "t2"): 1.0, ("q2", "t2"): 1.0},
    {("t1", "m1"): 1.0, ("t2", "m1"): 1.0, ("t2", "m2"): 1.0},
)


@st.composite
def graphs(draw: st.DrawFn) -> Active:
    cases, paths, principles = (
        [f"{letter}{at}" for at in range(draw(st.integers(1, 3)))] for letter in "qtm"
    )
    weight, share = st.floats(-1, 2), st.floats(0.05, 1)
    to_path = {(q, t): draw(weight) for q in cases for t in paths if draw(st.booleans())}
    to_principle = {(t, m): draw(weight) for t in paths for m in principles}
    return Active({q: draw(share) for q in cases}, to_path, to_principle)


@pytest.mark.claim("gm-eq-03", "gm-eq-08", "gm-eq-09")
def test_relevance_of_the_hand_case() -> None:
    assert relevance(HAND) == pytest.approx({"m1": 2.1, "m2": 1.3})
    assert softmax(relevance(HAND)) == pytest.approx({"m1": 0.69, "m2": 0.31}, abs=5e-5)


@pytest.mark.claim("gm-eq-03", "gm-eq-08", "gm-eq-09")
@given(graphs(), st.floats(-50, 50))
def test_propagation_is_relevance_and_shifts_change_no_share(active: Active, shift: float) -> None:
    principles = propagated(propagated(active.similar, active.to_path), active.to_principle)
    rho = relevance(active)
    assert principles == pytest.approx(rho)
    shifted = softmax({name: score + shift for name, score in rho.items()})
    assert shifted == pytest.approx(softmax(rho))
    bent = propagated(active.similar, active.to_path, lambda x: max(0.0, x))
    assert all(value >= 0 for value in bent.values())


@pytest.mark.claim("gm-eq-09")
def test_draws_follow_the_shares() -> None:
    shares = softmax(relevance(HAND))
    names = [drawn(shares, hash01(7, "pair", at)) for at in range(4000)]
    assert names.count("m1") / 4000 == pytest.approx(0.69, abs=0.03)
    assert best({"b": 1.0, "a": 1.0 + 1e-12, "c": 2.0}, 2) == ["c", "a"]


@pytest.mark.claim("gm-eq-05", "gm-eq-10")
def test_gradient_of_the_hand_case() -> None:
    slopes = gradient(HAND, "m1")
    principle = {("t1", "m1"): 0.2480, ("t2", "m1"): 0.4030, ("t2", "m2"): -0.4030}
    assert slopes.to_principle == pytest.approx(principle, abs=5e-5)
    path = {("q1", "t1"): 0.2480, ("q1", "t2"): 0.0, ("q2", "t2"): 0.0}
    assert slopes.to_path == pytest.approx(path, abs=5e-5)


def log_p(active: Active, name: str) -> float:
    return log(softmax(relevance(active))[name])


@pytest.mark.claim("gm-eq-10")
@given(graphs())
def test_gradient_against_finite_differences(active: Active) -> None:
    rho = relevance(active)
    if not rho:
        return
    chosen, step = min(rho), 1e-5
    slopes = gradient(active, chosen)

    def moved(edge: Edge, by: float, first: bool) -> float:
        path, principle = dict(active.to_path), dict(active.to_principle)
        (path if first else principle)[edge] += by
        return log_p(Active(active.similar, path, principle), chosen)

    for first, found in ((True, slopes.to_path), (False, slopes.to_principle)):
        for edge, slope in found.items():
            measured = (moved(edge, step, first) - moved(edge, -step, first)) / (2 * step)
            assert slope == pytest.approx(measured, abs=1e-6)


@pytest.mark.claim("gm-eq-10")
def test_a_lone_principle_has_no_gradient() -> None:
    lone = Active({"q": 0.5}, {("q", "t"): 1.0}, {("t", "m"): 1.0})
    slopes = gradient(lone, "m")
    assert {*slopes.to_path.values(), *slopes.to_principle.values()} == {0.0}


@pytest.mark.claim("gm-eq-10")
@given(graphs(), st.sampled_from([-1.0, 0.0, 1.0]))
def test_utility_moves_the_share(active: Active, reward: float) -> None:
    rho = relevance(active)
    if not rho:
        return
    chosen = min(rho)
    slopes = gradient(active, chosen)
    after = learn_pair(active, chosen, reward, 1e-3)
    if reward == 0:
        assert after == active
        return
    steep = sum(s * s for s in (*slopes.to_path.values(), *slopes.to_principle.values()))
    if steep > 1e-4:
        change = log_p(after, chosen) - log_p(active, chosen)
        assert change * reward > 0


@pytest.mark.claim("gm-eq-10")
def test_relevance_itself_may_fall_although_it_helped() -> None:
    """The paper says that ρ rises; only p does."""
    given_ = Active({"q": 1.0}, {("q", "t"): 1.0}, {("t", "m1"): 1.0, ("t", "m2"): 3.0})
    after = learn_pair(given_, "m1", 1.0, 0.1)
    assert relevance(given_)["m1"] == 1.0
    assert relevance(after)["m1"] == pytest.approx(0.896, abs=5e-4)
    assert softmax(relevance(given_))["m1"] == pytest.approx(0.119, abs=5e-4)
    assert softmax(relevance(after))["m1"] == pytest.approx(0.182, abs=5e-4)


@pytest.mark.claim("gm-learn")
def test_weights_learn_which_principle_pays() -> None:
    learning = HAND
    for at in range(150):
        shares = softmax(relevance(learning))
        chosen = drawn(shares, hash01(7, "pair", at))
        learning = learn_pair(learning, chosen, 1.0 if chosen == "m2" else 0.0, 0.05)
    assert softmax(relevance(learning))["m2"] > 0.9


@pytest.mark.claim("gm-eq-12", "gm-eq-11")
@pytest.mark.parametrize(("ratio", "advantage", "loss"), [
    (1.3, 1, -1.2), (1.3, -1, 1.3), (0.5, -1, 0.8), (1.0, 2.0, -2.0),
])  # fmt: skip
def test_the_clipped_objective(ratio: float, advantage: float, loss: float) -> None:
    assert clipped_loss(ratio, advantage) == pytest.approx(loss)


@pytest.mark.claim("gm-eq-11")
def test_group_advantages() -> None:
    found = advantages([1.0, 1.0, *[0.0] * 6])
    assert found[0] == pytest.approx(1.732, abs=5e-4)
    assert found[-1] == pytest.approx(-0.577, abs=5e-4)
    assert advantages([1.0] * 4) == [0.0] * 4
